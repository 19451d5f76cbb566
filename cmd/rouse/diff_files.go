package main

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"rouse/agent"
	"rouse/agent/history"
	"rouse/home"
	"rouse/internal/text"
	"rouse/scratchpad"
)

// diffNight compares what was before a cycle with what was after another, or the same.
func (a *app) diffNight(args []string, onlyFiles, unified bool) error {
	h, from, err := a.openCycle(args)
	to := from
	if err == nil && len(args) == 2 {
		to, err = pickCycle(h, args[1:])
	}
	switch {
	case err != nil:
		return err
	case from > to:
		return usage(fmt.Errorf("cycle %s is later than %s: name the earlier one first", from, to))
	case unified && a.json:
		return usage(errors.New("--unified and --json exclude each other"))
	}
	var keys []scratchpad.Difference
	if !onlyFiles {
		if keys, err = memoryOver(h, from, to); err != nil {
			return err
		}
	}
	var variables []agent.Names
	if !onlyFiles {
		if variables, err = agent.Variables(h, from, to); err != nil {
			return err
		}
	}
	files, err := agent.Files(h, from, to)
	if err != nil && (onlyFiles || !errors.Is(err, history.ErrNone)) {
		return err
	}
	switch {
	case a.json:
		return a.printNight(keys, files, variables)
	case unified && !onlyFiles:
		if err := a.unifiedDiff(h, from, to); err != nil {
			return err
		}
	case len(keys) > 0 || len(files)+len(variables) == 0:
		moved, err := agent.Moved(h, "")
		if err != nil {
			return err
		}
		a.printDiff(keys, moved)
		a.printVerdicts(h, from, to)
	}
	a.printFiles(files)
	for _, c := range files {
		if unified {
			a.printFileDiff(h, c)
		}
	}
	for _, n := range variables {
		a.printChange("notebook "+text.Line(n.Notebook, 80)+": variables", n.Removed, n.Added)
	}
	if err != nil {
		fmt.Fprintln(a.stderr, err)
	}
	return nil
}

func memoryOver(h home.Home, from, to string) ([]scratchpad.Difference, error) {
	before, err := snapshot(h, h.Before(from), from)
	if err != nil {
		return nil, err
	}
	after, err := snapshot(h, h.After(to), to)
	if err != nil {
		return nil, err
	}
	return scratchpad.Diff(before, after), nil
}

// printNight prints keys of the memory, then files, then variables.
func (a *app) printNight(keys []scratchpad.Difference, files []history.Change, variables []agent.Names) error {
	all := []any{}
	for _, d := range keys {
		all = append(all, d)
	}
	for _, c := range fileChanges(files) {
		all = append(all, c)
	}
	for _, n := range variables {
		all = append(all, n)
	}
	return a.printJSON(all)
}

// maxText is the size up to which the text of a file is compared, in bytes.
const maxText = 256 << 10

// printFileDiff prints how the text of a file differs, if it is one.
func (a *app) printFileDiff(h home.Home, c history.Change) {
	var texts [2]string
	for i, e := range []*history.Entry{c.Was, c.Is} {
		if e == nil || e.Kind != history.File {
			continue
		}
		data, err := agent.Content(h, *e, maxText+1)
		if err != nil || len(data) > maxText || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
			why := "is no text, or larger than 256 KiB"
			if err != nil {
				why = text.Line(err.Error(), 300)
			}
			fmt.Fprintf(a.stdout, "  %s: %s\n", text.Quoted(c.Path), why)
			return
		}
		texts[i] = a.redacted(string(data))
	}
	if texts[0] != texts[1] {
		a.printUnified("before/"+c.Path, "after/"+c.Path, texts[0], texts[1])
	}
}
