package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rouse/internal/redact"
	"rouse/internal/text"
	"rouse/scratchpad/observation"
)

// reading is what `rouse observation read` is asked for; the modes and their
// defaults are those of the model's scratchpad_read.
type reading struct {
	mode          string
	n, start, end int64
	find          observation.Query
	query         string
}

// readModes are the modes, each with the flags that it takes.
var readModes = map[string]string{
	"full": "", "head": "n", "tail": "n", "range": "n start end", "lines": "start end",
	"grep": "pattern ignore-case context", "json": "query",
}

// maxResults bounds what a JSON query gives, in bytes.
const maxResults = 256 << 20

func (a *app) newObservationRead() *cobra.Command {
	var r reading
	c := &cobra.Command{
		Use:   "read ID",
		Short: "Print an observation, in full or in part",
		Long: `Print an observation as the tool gave it, without secrets: to a pipe or a file byte for
byte, to a terminal with control characters escaped.

Modes: full (default); head and tail, -n characters; range, characters --start to --end;
lines, --start to --end; grep, lines that match --pattern; json, the results of --query.
Characters count from 0 and lines from 1, and --end is not included. Of binary content,
head, tail and range count bytes.

Exit codes: 0, 1 if there is no such observation or nothing matches, 2 usage.`,
		Example: `  rouse observation read 485d7beae4e144eb > whole.log
  rouse observation read 485d7beae4e144eb --mode lines --start 100 --end 121
  rouse observation read 485d7beae4e144eb --mode json --query '.items | length'`,
		Args: strict(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := r.check(c.Flags()); err != nil {
				return usage(err)
			}
			return a.withContent(args[0], func(c *observation.Content) error { return a.readObservation(c, r) })
		},
	}
	r.addFlags(c.Flags())
	return c
}

func (r *reading) addFlags(f *pflag.FlagSet) {
	f.StringVar(&r.mode, "mode", "full", "head, tail, range, lines, full, grep or json")
	f.Int64VarP(&r.n, "n", "n", 2000, "how many characters")
	f.Int64Var(&r.start, "start", 0, "the first character or line")
	f.Int64Var(&r.end, "end", 0, "where to end (default -n characters or 100 lines on)")
	f.StringVar(&r.find.Pattern, "pattern", "", "what to find, in RE2 syntax")
	addGrepFlags(f, &r.find)
	f.StringVar(&r.query, "query", "", "what to ask, in jq's syntax")
}

func addGrepFlags(f *pflag.FlagSet, q *observation.Query) {
	f.BoolVarP(&q.IgnoreCase, "ignore-case", "i", false, "upper and lower case are the same")
	f.IntVarP(&q.Context, "context", "C", 0, "lines to show around each match")
}

// check refuses a mode that is none, and flags that it does not take.
func (r *reading) check(f *pflag.FlagSet) (err error) {
	takes, ok := readModes[r.mode]
	if !ok {
		return fmt.Errorf("--mode %q: use head, tail, range, lines, full, grep or json", r.mode)
	}
	f.Visit(func(flag *pflag.Flag) {
		for mode, flags := range readModes {
			if holds(flags, flag.Name) && !holds(takes, flag.Name) && err == nil {
				err = fmt.Errorf("--%s is not for --mode %s but for %s, for example", flag.Name, r.mode, mode)
			}
		}
	})
	switch {
	case err != nil:
	case r.mode == "grep" && r.find.Pattern == "":
		err = fmt.Errorf("--mode grep needs a --pattern")
	case r.mode == "json" && r.query == "":
		err = fmt.Errorf("--mode json needs a --query")
	case r.n < 0 || r.start < 0 || r.end < 0 || r.find.Context < 0:
		err = fmt.Errorf("-n, -C, --start and --end are not below 0")
	}
	return err
}

func holds(words, word string) bool {
	return strings.Contains(" "+words+" ", " "+word+" ")
}

func (a *app) readObservation(c *observation.Content, r reading) error {
	p := a.printer(c)
	if holds("grep json full", r.mode) {
		return p.whole(r)
	}
	unit, start, end, err := c.Span(r.mode, r.n, r.start, r.end)
	if err != nil {
		return err
	}
	return p.slice(unit, start, end)
}

// printer prints an observation without secrets.
type printer struct {
	c    *observation.Content
	hide *redact.Redactor
	out  io.Writer
}

func (a *app) printer(c *observation.Content) printer {
	return printer{c, a.setup.Hidden(), shown(a.stdout)}
}

// whole prints what is found in all of it.
func (p printer) whole(r reading) (err error) {
	out := p.hide.Writer(p.out)
	defer func() { err = cmp.Or(err, out.Close()) }()
	c := p.c
	switch r.mode {
	case "grep":
		return p.grep(r.find, out)
	case "json":
		found, err := c.JSON(context.Background(), r.query, maxResults)
		if err == nil {
			_, err = out.Write(found.Data)
		}
		if err == nil && found.Cut {
			err = fmt.Errorf("the results are cut off at %d MiB; narrow the query", maxResults>>20)
		}
		return err
	}
	_, err = c.WriteTo(out)
	return err
}

// part prints a part without the secrets that reach into it.
func (p printer) part(part observation.Part) error {
	data, err := p.c.Hidden(part, p.hide)
	if err == nil {
		_, err = p.out.Write(data)
	}
	return err
}

// slice writes a part of any size, a line that is longer than a piece too.
func (p printer) slice(unit observation.Unit, start, end int64) error {
	for start < end {
		part, err := p.c.Slice(unit, start, end, 1<<20)
		if err != nil || part.End <= start {
			return err
		}
		if err := p.part(part); err != nil {
			return err
		}
		if part.Cut {
			next, err := p.restOfLine(part)
			if err != nil {
				return err
			}
			part.End = next
		}
		start = part.End
	}
	return nil
}

// restOfLine writes what follows the beginning of a long line, and gives the
// number of the next line.
func (p printer) restOfLine(line observation.Part) (int64, error) {
	at := line.Char + int64(utf8.RuneCount(line.Data))
	for {
		part, err := p.c.Slice(observation.Chars, at, at+1<<20, 1<<20)
		if err != nil {
			return 0, err
		}
		i := bytes.IndexByte(part.Data, '\n')
		if i >= 0 {
			part.Data = part.Data[:i+1]
		}
		if err := p.part(part); err != nil {
			return 0, err
		}
		if i >= 0 || part.End >= part.Total {
			return line.Start + 1, nil
		}
		at = part.End
	}
}

// shown is where text of others is written to: as it is, or to a terminal with
// what that would obey escaped.
func shown(w io.Writer) io.Writer {
	if terminal(w).isTerminal {
		return &escaping{w: w}
	}
	return w
}

// escaping writes whole characters, with control characters other than newline
// and tab escaped.
type escaping struct {
	w    io.Writer
	part []byte // of a character whose rest is still to come
}

func (e *escaping) Write(p []byte) (int, error) {
	all := append(e.part, p...)
	whole := len(all)
	for i := max(0, len(all)-utf8.UTFMax+1); i < len(all); i++ {
		if utf8.RuneStart(all[i]) && !utf8.FullRune(all[i:]) {
			whole = i
		}
	}
	e.part = append([]byte(nil), all[whole:]...)
	var b strings.Builder
	for _, r := range string(all[:whole]) {
		if r == '\n' || r == '\t' {
			b.WriteRune(r)
		} else {
			b.WriteString(text.Line(string(r), 1))
		}
	}
	if _, err := io.WriteString(e.w, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (a *app) newObservationGrep() *cobra.Command {
	var q observation.Query
	c := &cobra.Command{
		Use:   "grep ID PATTERN",
		Short: "Print the lines of an observation that match a pattern in RE2 syntax",
		Long: `Print the lines that match, with their numbers: short for read ID --mode grep --pattern PATTERN.

Exit codes: 0, 1 if nothing matches or there is no such observation, 2 usage.`,
		Args: strict(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			q.Pattern = args[1]
			return a.withContent(args[0], func(c *observation.Content) error {
				return a.printer(c).whole(reading{mode: "grep", find: q})
			})
		},
	}
	addGrepFlags(c.Flags(), &q)
	return c
}

// longestLine is the longest line that grep prints whole, in characters.
const longestLine = 1 << 20

// grep writes all lines that match, as grep -n does; of one that is
// very long, the part about the match.
func (p printer) grep(q observation.Query, out io.Writer) error {
	q.MaxMatches, q.MaxBytes, q.LineChars, q.Partial = 100_000, 8<<20, longestLine, true
	for {
		found, err := p.c.Grep(context.Background(), q)
		if err != nil {
			return err
		}
		if q.From == 0 && found.Matches == 0 {
			return &coded{exitFailed, nil}
		}
		if p.c.Kind != observation.Binary { // of which lines are whole, or about a match
			if err := p.c.HideLines(found.Lines, p.hide); err != nil {
				return err
			}
		}
		var b bytes.Buffer
		for _, l := range found.Lines {
			mark := "-"
			if l.Match {
				mark = ":"
			}
			fmt.Fprintf(&b, "%d%s%s", l.Number, mark, l.Text)
			if l.Cut {
				fmt.Fprintf(&b, " [… a part of the line, from character %d]", l.Char)
			}
			b.WriteByte('\n')
		}
		if _, err := out.Write(b.Bytes()); err != nil {
			return err
		}
		if found.Next == 0 {
			return nil
		}
		q.From = found.Next
	}
}
