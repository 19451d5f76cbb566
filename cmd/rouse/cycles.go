package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"rouse/agent"
	"rouse/home"
)

func (a *app) newCycles() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "cycles",
		Short: "List the newest 20 cycles",
		Long: `List how the newest 20 cycles ended, the newest first.

Exit codes: 0, or 1 if the logs cannot be read.`,
		RunE: in(a.openHome, func(h home.Home, _ []string) error { return a.cycles(h, newest(all)) }),
	}
	c.Flags().BoolVar(&all, "all", false, "list all of them")
	return a.withJSON(c)
}

// newest is how many entries a verb lists: all where it is told to, which 0 means.
func newest(all bool) int {
	if all {
		return 0
	}
	return 20
}

func (a *app) cycles(h home.Home, limit int) error {
	list, err := agent.Verdicts(h, limit)
	if err != nil {
		return fmt.Errorf("cycles: %w", err)
	}
	out := terminal(a.stdout)
	return printList(a, list, errNoCycle.Error(), func(c agent.Summary) string { return cycleLine(c, out, a.now()) })
}
