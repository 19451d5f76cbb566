package main

import (
	"fmt"
	"rouse/agent"

	"github.com/spf13/cobra"
)

func (a *app) newCycles() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "cycles",
		Short: "List the newest 20 cycles",
		Long: `List how the newest 20 cycles ended, the newest first.

Exit codes: 0, or 1 if the logs cannot be read.`,
		RunE: func(*cobra.Command, []string) error {
			limit := 20
			if all {
				limit = 0
			}
			return a.cycles(limit)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "list all of them")
	return a.withJSON(c)
}

func (a *app) cycles(limit int) error {
	h, err := a.openHome()
	if err != nil {
		return err
	}
	list, err := agent.Summaries(h, limit)
	if err != nil {
		return fmt.Errorf("cycles: %w", err)
	}
	out := terminal(a.stdout)
	return printList(a, list, func(c agent.Summary) string { return cycleLine(c, out, a.now()) })
}
