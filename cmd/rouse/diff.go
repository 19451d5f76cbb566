package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"rouse/agent"
	"rouse/home"
	"rouse/internal/text"
	"rouse/scratchpad"
	"rouse/scratchpad/origin"
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
		return missing(s.Home, s.Home.Before(id), id, err)
	}
	fmt.Fprintf(a.stdout, "%s is as it was before cycle %s\n", text.Line(key, 200), id)
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

func (a *app) unifiedDiff(h home.Home, from, to string) error {
	before, err := os.ReadFile(h.Before(from))
	if err != nil {
		return missing(h, h.Before(from), from, err)
	}
	after, err := os.ReadFile(h.After(to))
	if err != nil {
		return missing(h, h.After(to), to, err)
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

// printDiff shows each key that changed, and how: the tasks, then all else, then the
// notes, and at the end what they say of calls. So many tasks left for the archive.
func (a *app) printDiff(list []scratchpad.Difference, moved int) {
	if len(list) == 0 {
		fmt.Fprintln(a.stdout, "nothing changed")
	}
	sort.SliceStable(list, func(i, j int) bool { return place(list[i].Key) < place(list[j].Key) })
	var callsGone, callsCome []string
	for _, d := range list {
		gone, come := removed(d), added(d)
		switch d.Key {
		case "completed_tasks":
			n := min(moved, len(gone))
			if gone = gone[n:]; n > 0 {
				gone = append([]string{fmt.Sprintf("%s moved to the archive, scratchpad/completed.jsonl", text.Count(n, "task"))}, gone...)
			}
		case "notes":
			gone, callsGone = parted(gone)
			come, callsCome = parted(come)
		}
		a.printChange(fmt.Sprintf("%s %s", text.Line(d.Key, 200), d.Kind), gone, come)
	}
	if n := len(callsGone) + len(callsCome); n > 0 {
		a.printChange(fmt.Sprintf("lines of calls in the notes: %d more, %d fewer", len(callsCome), len(callsGone)), callsGone, callsCome)
	}
}

// place is where a key is shown.
func place(key string) int {
	first := []string{"current_task", "pending_actions", "completed_tasks"}
	last := []string{"notes", "last_updated"}
	if i := slices.Index(first, key); i >= 0 {
		return i
	}
	return len(first) + slices.Index(last, key) + 1
}

// parted takes the lines of calls out of those of the notes.
func parted(lines []string) (other, calls []string) {
	for _, line := range lines {
		if _, plain := origin.Unmark(line); strings.HasPrefix(plain, "[TOOL] ") || strings.HasPrefix(plain, "[TOOLS] ") {
			calls = append(calls, line)
		} else {
			other = append(other, line)
		}
	}
	return other, calls
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

// removed are the lines that a difference takes away.
func removed(d scratchpad.Difference) []string {
	if len(d.Removed) > 0 || len(d.Added) > 0 {
		return values(d.Removed)
	}
	if lost, got := d.Lines(); len(lost)+len(got) > 0 {
		return lines(lost)
	}
	if d.Kind == scratchpad.KindAdded || d.Kind == scratchpad.KindExtended {
		return nil
	}
	return textLines(d.Before)
}

// added are the lines that a difference brings.
func added(d scratchpad.Difference) []string {
	lost, got := d.Lines()
	switch {
	case len(d.Removed) > 0 || len(d.Added) > 0:
		return values(d.Added)
	case len(lost)+len(got) > 0:
		return lines(got)
	case d.Kind == scratchpad.KindRemoved:
		return nil
	case d.Kind == scratchpad.KindExtended:
		return textLines(d.Appended)
	}
	return textLines(d.After)
}

// lines are those of a text as they are shown.
func lines(list []string) (all []string) {
	for _, line := range list {
		all = append(all, text.Line(line, 2000))
	}
	return all
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
	return lines(strings.Split(strings.Trim(s, "\n"), "\n"))
}
