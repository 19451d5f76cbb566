package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

// readMode is a mode, with the flags that it takes.
type readMode struct{ name, flags string }

// readModes are all of them.
var readModes = []readMode{
	{"full", ""}, {"head", "n"}, {"tail", "n"}, {"range", "n start end"}, {"lines", "start end"},
	{"grep", "pattern ignore-case context"}, {"json", "query"},
}

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
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := r.check(c.Flags()); err != nil {
				return usage(err)
			}
			return a.inContent(func(c *observation.Content, _ []string) error { return a.readObservation(c, r) })(c, args)
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
	i := slices.IndexFunc(readModes, func(m readMode) bool { return m.name == r.mode })
	if i < 0 {
		return fmt.Errorf("--mode %q: use head, tail, range, lines, full, grep or json", r.mode)
	}
	f.Visit(func(flag *pflag.Flag) {
		for _, m := range readModes {
			if holds(m.flags, flag.Name) && !holds(readModes[i].flags, flag.Name) && err == nil {
				err = fmt.Errorf("--%s is not for --mode %s but for %s, for example", flag.Name, r.mode, m.name)
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
	p := observation.Printer{Content: c, Hide: a.setup.Hidden(), Out: shown(a.stdout)}
	switch r.mode {
	case "grep":
		return found(p.Grep(context.Background(), r.find))
	case "json":
		return p.JSON(context.Background(), r.query)
	case "full":
		return p.Whole()
	}
	unit, start, end, err := c.Span(r.mode, r.n, r.start, r.end)
	if err != nil {
		return err
	}
	return p.Range(unit, start, end)
}

// found is the exit code of a search.
func found(any bool, err error) error {
	if err == nil && !any {
		return &coded{exitFailed, nil}
	}
	return err
}

// shown is where text of others is written to: as it is, or to a terminal with
// what that would obey escaped.
func shown(w io.Writer) io.Writer {
	if terminal(w).isTerminal {
		return &text.Escaping{W: w}
	}
	return w
}

func (a *app) newObservationGrep() *cobra.Command {
	var q observation.Query
	c := &cobra.Command{
		Use:   "grep ID PATTERN",
		Short: "Print the lines of an observation that match a pattern in RE2 syntax",
		Long: `Print the lines that match, with their numbers: short for read ID --mode grep --pattern PATTERN.

Exit codes: 0, 1 if nothing matches or there is no such observation, 2 usage.`,
		Args: cobra.ExactArgs(2),
		RunE: a.inContent(func(c *observation.Content, args []string) error {
			q.Pattern = args[1]
			return a.readObservation(c, reading{mode: "grep", find: q})
		}),
	}
	addGrepFlags(c.Flags(), &q)
	return c
}
