package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"rouse/home"
	"rouse/setup"
)

func (a *app) newReset() *cobra.Command {
	var clean bool
	c := &cobra.Command{
		Use:   "reset",
		Short: "Put the memory aside and begin anew",
		Long: `Rename active.yaml, readable or not, to scratchpad/<time>_reset.yaml, so that the next
cycle begins with the initial state, or where that is the demo of a new home, with an empty memory. An interrupted cycle is settled first.

Exit codes: 0, 1 if it cannot be done, 75 while a cycle is awake.`,
		RunE: in(a.openHome, func(h home.Home, _ []string) error { return a.reset(h, clean) }),
	}
	c.Flags().BoolVar(&clean, "clean", false, "also remove the logs and snapshots of earlier cycles, and versions of the workspace")
	return c
}

func (a *app) reset(h home.Home, clean bool) error {
	to, empty, err := setup.Reset(h, a.now, clean)
	if err != nil {
		return err
	}
	was, next := "there was no memory", "the initial state"
	if to != "" {
		was = "the memory is now " + h.Rel(to)
	}
	if empty {
		next = "an empty memory"
	}
	fmt.Fprintf(a.stdout, "%s; the next cycle begins with %s\n", was, next)
	return nil
}
