package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"rouse/home"
	"rouse/internal/text"
	"rouse/scratchpad"
)

func (a *app) newDiff() *cobra.Command {
	var unified bool
	c := &cobra.Command{
		Use:   "diff [CYCLE]",
		Short: "Show what a cycle changed in the memory",
		Long: `Compare the snapshots _before and _after of a cycle, by default the newest one, key by key.
A cycle that is awake is compared with nothing yet: it has no _after.

Exit codes: 0, 1 if there is no such cycle, 2 if a snapshot cannot be read.`,
		Example: "  rouse diff\n  rouse diff --unified 20260401_150154",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.diff(args, unified)
		},
	}
	c.Flags().BoolVarP(&unified, "unified", "u", false, "compare the text of the files, as diff -u does")
	return a.withJSON(c)
}

func (a *app) diff(args []string, unified bool) error {
	if unified && a.json {
		return usage(errors.New("--unified and --json exclude each other"))
	}
	h, id, err := a.openCycle(args)
	if err != nil {
		return err
	}
	if unified {
		return a.unifiedDiff(h, id)
	}
	before, err := snapshot(h, h.Before(id), id)
	if err != nil {
		return err
	}
	after, err := snapshot(h, h.After(id), id)
	if err != nil {
		return err
	}
	list := scratchpad.Diff(before, after)
	if a.json {
		return a.printJSON(append([]scratchpad.Difference{}, list...))
	}
	a.printDiff(list)
	return nil
}

func snapshot(h home.Home, path, id string) (*scratchpad.State, error) {
	s, err := h.LoadFile(path)
	return s, missing(h, path, id, err)
}

// missing says of a snapshot that is not there why that may be.
func missing(h home.Home, path, id string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cycle %s has no %s; it may be awake or interrupted, see rouse cycles", id, h.Rel(path))
	}
	return err
}

func (a *app) unifiedDiff(h home.Home, id string) error {
	before, err := os.ReadFile(h.Before(id))
	if err != nil {
		return missing(h, h.Before(id), id, err)
	}
	after, err := os.ReadFile(h.After(id))
	if err != nil {
		return missing(h, h.After(id), id, err)
	}
	out := terminal(a.stdout)
	// What a terminal obeys is escaped in a pipe, too, which often ends in one.
	for line := range strings.Lines(text.Block(udiff.Unified(h.Rel(h.Before(id)), h.Rel(h.After(id)), string(before), string(after)))) {
		fmt.Fprintln(a.stdout, out.paint(lineColor(line), strings.TrimSuffix(line, "\n")))
	}
	return nil
}

func lineColor(line string) string {
	switch line[0] {
	case '+':
		return green
	case '-':
		return red
	}
	return dim
}

// printDiff shows each key that changed, and how.
func (a *app) printDiff(list []scratchpad.Difference) {
	out := terminal(a.stdout)
	if len(list) == 0 {
		fmt.Fprintln(a.stdout, "nothing changed")
	}
	for _, d := range list {
		fmt.Fprintf(a.stdout, "%s %s\n", out.paint(bold, text.Line(d.Key, 200)), d.Kind)
		for _, text := range removed(d) {
			fmt.Fprintln(a.stdout, out.paint(red, "  - "+text))
		}
		for _, text := range added(d) {
			fmt.Fprintln(a.stdout, out.paint(green, "  + "+text))
		}
	}
}

// removed are the lines that a difference takes away.
func removed(d scratchpad.Difference) []string {
	if len(d.Removed) > 0 || len(d.Added) > 0 {
		return values(d.Removed)
	}
	if d.Kind == scratchpad.KindAdded || d.Kind == scratchpad.KindExtended {
		return nil
	}
	return textLines(d.Before)
}

// added are the lines that a difference brings.
func added(d scratchpad.Difference) []string {
	switch {
	case len(d.Removed) > 0 || len(d.Added) > 0:
		return values(d.Added)
	case d.Kind == scratchpad.KindRemoved:
		return nil
	case d.Kind == scratchpad.KindExtended:
		return textLines(d.Appended)
	}
	return textLines(d.After)
}

func values(list []any) []string {
	var lines []string
	for _, v := range list {
		lines = append(lines, strings.Join(textLines(v), `\n`))
	}
	return lines
}

// textLines are the lines of a value: of a text its own, else one of JSON.
func textLines(v any) []string {
	s, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			return []string{err.Error()}
		}
		return []string{text.Line(string(b), 2000)}
	}
	var lines []string
	for _, line := range strings.Split(strings.Trim(s, "\n"), "\n") {
		lines = append(lines, text.Line(line, 2000))
	}
	return lines
}
