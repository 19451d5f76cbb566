package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"rouse/agent"
	"rouse/home"
	"rouse/internal/text"
)

func (a *app) newReap() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "reap",
		Short: "End the processes that a killed cycle left",
		Long: `End what a cycle that was killed left running: the processes that its tools, notebooks and
servers had started, known by more than their numbers. rouse status names them. The next cycle does the
same when it settles the killed one; this is for when you do not want to wait for it, or keep the home
paused.

Exit codes: 0, also if nothing was left, 1 if a process does not end, 2 usage, 75 while
another process holds the home.`,
		RunE: in(a.openHome, a.reap),
	})
}

func (a *app) reap(h home.Home, _ []string) error {
	ended, err := agent.Reap(h)
	if err != nil {
		return err
	}
	return printList(a, ended, "nothing is left of a killed cycle", endedLine)
}

func endedLine(l agent.Leftover) string {
	return fmt.Sprintf("ended pid %d (%s), which cycle %s left", l.PID, text.Line(l.Name, 40), l.Cycle)
}
