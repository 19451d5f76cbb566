package main

import (
	"fmt"
	"rouse/agent"

	"github.com/spf13/cobra"
)

func (a *app) newCycles() *cobra.Command {
	var all, asJSON bool
	c := &cobra.Command{
		Use:   "cycles",
		Short: "List the newest 20 cycles",
		Long: `List how the newest 20 cycles ended, the newest first.

Exit codes: 0, or 1 if the logs cannot be read.`,
		Args: strict(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			limit := 20
			if all {
				limit = 0
			}
			return a.cycles(limit, asJSON)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "list all of them")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *app) cycles(limit int, asJSON bool) error {
	h, err := a.openHome()
	if err != nil {
		return err
	}
	list, err := agent.Summaries(h, limit)
	if err != nil {
		return fmt.Errorf("cycles: %w", err)
	}
	if asJSON {
		return a.printJSON(list)
	}
	out := terminal(a.stdout)
	for _, c := range list {
		fmt.Fprintln(a.stdout, cycleLine(c, out, a.now()))
	}
	return nil
}
