package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"rouse/agent"
	"rouse/agent/history"
	"rouse/internal/text"
	"rouse/scratchpad"
)

// rewindOptions are the flags of rewind.
type rewindOptions struct{ memory, files, undo, yes bool }

func (a *app) newRewind() *cobra.Command {
	var o rewindOptions
	c := &cobra.Command{
		Use:   "rewind CYCLE [PATH...]",
		Short: "Put memory and files back to what was before a cycle",
		Long: `Show what it changes to put the memory and the workspace back to what was before a cycle,
and which calls since then went out and are not undone by it; with --yes, do it. With PATHs
only these of the workspace go back, and what is below them.

What is replaced is kept: the rewind is a cycle of its own, without a model, that
rouse cycles, log and diff show, and rouse rewind --undo undoes the newest one. An interrupted
cycle is settled first. Where the rewind is killed, the next wake does the rest.
Approvals, ledgers and journals stay as they are.

Exit codes: 0, 1 if there is no such cycle or version or it cannot be done, 2 if a snapshot
cannot be read, 75 while a cycle is awake.`,
		Example: "  rouse rewind 20260401_150154\n  rouse rewind 20260401_150154 --yes\n  rouse rewind 20260401_150154 report.md data --yes\n  rouse rewind --undo --yes",
		RunE:    func(_ *cobra.Command, args []string) error { return a.rewind(args, o) },
		Args: func(_ *cobra.Command, args []string) error {
			if o.undo == (len(args) > 0) {
				return errors.New("name a cycle, or give --undo alone")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&o.memory, "memory", false, "only the memory")
	c.Flags().BoolVar(&o.files, "files", false, "only the workspace")
	c.Flags().BoolVar(&o.undo, "undo", false, "undo the newest rewind")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do it")
	c.MarkFlagsMutuallyExclusive("memory", "files", "undo")
	return a.withJSON(c)
}

func (a *app) rewind(args []string, o rewindOptions) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	var r agent.Rewind
	if o.undo {
		r, err = agent.LastRewind(s.Home)
	} else if r.Cycle, err = pickCycle(s.Home, args); err == nil {
		r.Paths, err = agent.CleanPaths(args[1:])
		err = usage(err)
		r.Memory, r.Files = !o.files && len(args) == 1, !o.memory
	}
	if o.memory && len(args) > 1 {
		err = usage(errors.New("--memory takes no PATH: these are of the workspace"))
	}
	if err != nil {
		return err
	}
	p, err := s.Rewind(r, o.yes)
	if err != nil {
		return agent.Missing(s.Home, s.Home.Before(r.Cycle), r.Cycle, err)
	}
	if a.json {
		return a.printJSON([]any{jsonRewind(p)})
	}
	a.printRewind(p, o)
	return nil
}

// rewound is what `rouse rewind --json` prints.
type rewound struct {
	To    string                  `json:"to"`
	Done  string                  `json:"done"`
	Keys  []scratchpad.Difference `json:"memory"`
	Files []fileChange            `json:"files"`
	Left  []fileChange            `json:"left"`
	Calls []agent.Call            `json:"outward"`
}

func jsonRewind(p agent.Rewinding) rewound {
	return rewound{p.Cycle, p.Done, append([]scratchpad.Difference{}, p.Keys...), fileChanges(p.Changes), fileChanges(p.Left), append([]agent.Call{}, p.Calls...)}
}

// maxCalls is how many calls that went out are listed, the newest.
const maxCalls = 20

func (a *app) printRewind(p agent.Rewinding, o rewindOptions) {
	if p.Nothing() {
		fmt.Fprintf(a.stdout, "all is as it was before cycle %s\n", p.Cycle)
		return
	}
	if len(p.Keys) > 0 {
		a.printDiff(p.Keys, 0)
	}
	a.printFiles(p.Changes)
	for _, c := range p.Left {
		fmt.Fprintf(a.stdout, "%s stays as it is: it was never kept\n", text.Quoted(c.Path))
	}
	if n := len(p.Calls); n > 0 {
		fmt.Fprintf(a.stdout, "%s since then went out, and nothing undoes that:\n", text.Count(n, "call"))
		if n > maxCalls {
			fmt.Fprintf(a.stdout, "  … and %d before these\n", n-maxCalls)
		}
		for _, c := range p.Calls[max(0, n-maxCalls):] {
			fmt.Fprintf(a.stdout, "  %s step %d: %s(%s)\n", c.Cycle, c.Step, text.Line(c.Tool, 64), text.Line(c.Args, 200))
		}
	}
	if p.Done == "" {
		fmt.Fprintln(a.stdout, "nothing is changed yet; --yes does it")
		return
	}
	fmt.Fprintf(a.stdout, "put back to what was before cycle %s, as cycle %s; rouse rewind --undo --yes undoes it\n", p.Cycle, p.Done)
}

// fileChange is how one file of the workspace differs, as JSON has it.
type fileChange struct {
	File string     `json:"file"`
	Kind string     `json:"kind"`
	Was  *fileState `json:"was"`
	Is   *fileState `json:"is"`
}

type fileState struct {
	Kind string `json:"kind"`
	Mode string `json:"mode"`
	Size int64  `json:"size"`
	Text string `json:"is"`
}

func fileChanges(list []history.Change) []fileChange {
	all := []fileChange{}
	for _, c := range list {
		all = append(all, fileChange{c.Path, c.Kind(), stateOf(c.Was), stateOf(c.Is)})
	}
	return all
}

func stateOf(e *history.Entry) *fileState {
	if e == nil {
		return nil
	}
	kinds := map[history.Kind]string{history.File: "file", history.Folder: "folder", history.Link: "link", history.Out: "left out"}
	return &fileState{kinds[e.Kind], fmt.Sprintf("%04o", e.Mode), e.Size, e.Is}
}

// maxBelow is how many files of a folder that came or went are listed.
const maxBelow = 10

// printFiles lists how files of the workspace differ.
func (a *app) printFiles(list []history.Change) {
	for len(list) > 0 {
		c, n, more := list[0], 1, ""
		for n < len(list) && c.Kind() != "changed" && strings.HasPrefix(list[n].Path, c.Path+"/") {
			n++
		}
		if n-1 > maxBelow {
			more = fmt.Sprintf(" with %d files and folders", n-1)
		} else {
			n = 1
		}
		a.printChange("workspace/"+text.Quoted(c.Path)+" "+c.Kind()+fileWords(c)+more, nil, nil)
		list = list[n:]
	}
}

// fileWords say what a file was and is.
func fileWords(c history.Change) string {
	words := func(e *history.Entry) string {
		switch {
		case e.Kind == history.Folder:
			return "a folder"
		case e.Kind == history.Link:
			return "a link to " + text.Quoted(e.Is)
		case e.Kind == history.Out:
			return "left out: " + e.Is
		case c.Was != nil && c.Is != nil && c.Was.Is == c.Is.Is:
			return fmt.Sprintf("mode %04o", e.Mode)
		}
		return fmt.Sprintf("%d bytes", e.Size)
	}
	switch {
	case c.Was == nil:
		return ", " + words(c.Is)
	case c.Is == nil:
		return ", " + words(c.Was)
	}
	return ", " + words(c.Was) + ", then " + words(c.Is)
}
