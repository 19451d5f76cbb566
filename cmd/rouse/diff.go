package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"rouse/agent"
	"rouse/home"
	"rouse/internal/text"
	"rouse/scratchpad"
	"rouse/setup/report"
)

func (a *app) newDiff() *cobra.Command {
	var unified, files bool
	var restore string
	c := &cobra.Command{
		Use:   "diff [CYCLE [LAST]]",
		Short: "Show what a cycle changed in the memory, or several in memory and files",
		Long: `Compare the snapshots _before and _after of a cycle, by default the newest one, key by key.
A cycle that is awake is compared with nothing yet: it has no _after.

With LAST, show what became different from before CYCLE to after LAST, such as over a night:
in the memory, and in the files of the workspace as far as versions of them are kept. With
--files, of one cycle too, show the files alone; with --unified the text of those that changed.

With --restore KEY, put that key of the memory back to what it was before the cycle.

Exit codes: 0, 1 if there is no such cycle or key, 2 if a snapshot cannot be read, 75 if a
cycle is awake while a key is to be put back.`,
		Example: "  rouse diff\n  rouse diff --unified 20260401_150154\n  rouse diff --files\n  rouse diff 20260401_220000 20260402_064500\n  rouse diff 20260401_150154 --restore goals",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("restore") {
				return a.restore(args, restore)
			}
			if len(args) == 2 || files {
				return a.diffNight(args, files, unified)
			}
			return a.diff(args, unified)
		},
	}
	c.Flags().StringVar(&restore, "restore", "", "put this key of the memory back to what it was before the cycle")
	c.Flags().BoolVar(&files, "files", false, "show what changed in the files of the workspace")
	c.MarkFlagsMutuallyExclusive("files", "restore")
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
		return a.unifiedDiff(h, id, id)
	}
	list, err := agent.MemoryOver(h, id, id)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(append([]scratchpad.Difference{}, list...))
	}
	moved, err := agent.Moved(h, id)
	if err != nil {
		return err
	}
	a.printDiff(list, moved)
	a.printVerdicts(h, id, id)
	return nil
}

// printVerdicts shows what became of the tasks of cycles.
func (a *app) printVerdicts(h home.Home, from, to string) {
	if words := agent.VerdictsOver(h, from, to); words != "" {
		fmt.Fprintln(a.stdout, "tasks: "+words)
	}
}

func (a *app) restore(args []string, key string) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	id, err := pickCycle(s.Home, args)
	if err != nil {
		return err
	}
	if err := s.Restore(id, key); err != nil {
		return agent.Missing(s.Home, s.Home.Before(id), id, err)
	}
	fmt.Fprintf(a.stdout, "%s is as it was before cycle %s\n", text.Line(key, 200), id)
	return nil
}

func (a *app) unifiedDiff(h home.Home, from, to string) error {
	before, err := os.ReadFile(h.Before(from))
	if err != nil {
		return agent.Missing(h, h.Before(from), from, err)
	}
	after, err := os.ReadFile(h.After(to))
	if err != nil {
		return agent.Missing(h, h.After(to), to, err)
	}
	a.printUnified(h.Rel(h.Before(from)), h.Rel(h.After(to)), string(before), string(after))
	return nil
}

// printUnified prints how two texts differ.
func (a *app) printUnified(wasName, isName, was, is string) {
	out := terminal(a.stdout)
	// What a terminal obeys is escaped in a pipe, too, which often ends in one.
	for line := range strings.Lines(text.Block(udiff.Unified(wasName, isName, was, is))) {
		fmt.Fprintln(a.stdout, out.paint(lineColor(line), strings.TrimSuffix(line, "\n")))
	}
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

// printDiff shows each key that changed, and how. So many tasks left for the archive.
func (a *app) printDiff(list []scratchpad.Difference, moved int) {
	if len(list) == 0 {
		fmt.Fprintln(a.stdout, "nothing changed")
	}
	for _, k := range report.Keys(list, moved) {
		a.printChange(k.Key+" "+k.How, k.Gone, k.Come)
	}
}

func (a *app) printChange(head string, gone, come []string) {
	out := terminal(a.stdout)
	key, how, _ := strings.Cut(head, " ")
	fmt.Fprintf(a.stdout, "%s %s\n", out.paint(bold, key), how)
	for _, line := range gone {
		fmt.Fprintln(a.stdout, out.paint(red, "  - "+line))
	}
	for _, line := range come {
		fmt.Fprintln(a.stdout, out.paint(green, "  + "+line))
	}
}
