package main

import (
	"errors"
	"fmt"

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
		if keys, err = agent.MemoryOver(h, from, to); err != nil {
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

// printFileDiff prints how the text of a file differs, if it is one.
func (a *app) printFileDiff(h home.Home, c history.Change) {
	was, is, why := agent.Texts(h, c)
	was, is = a.redacted(was), a.redacted(is)
	if why != "" {
		fmt.Fprintf(a.stdout, "  %s: %s\n", text.Quoted(c.Path), why)
	} else if was != is {
		a.printUnified("before/"+c.Path, "after/"+c.Path, was, is)
	}
}
