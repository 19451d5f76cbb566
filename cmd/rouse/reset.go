package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"rouse/agent"
	"rouse/home"
)

func (a *app) newReset() *cobra.Command {
	var clean bool
	c := &cobra.Command{
		Use:   "reset",
		Short: "Put the memory aside and begin anew",
		Long: `Rename active.yaml, readable or not, to scratchpad/<time>_reset.yaml, so that the next
cycle begins with the initial state. An interrupted cycle is settled first.

Exit codes: 0, 1 if it cannot be done, 75 while a cycle is awake.`,
		RunE: in(a.openHome, func(h home.Home, _ []string) error { return a.reset(h, clean) }),
	}
	c.Flags().BoolVar(&clean, "clean", false, "also remove the logs and snapshots of earlier cycles")
	return c
}

func (a *app) reset(h home.Home, clean bool) error {
	to, err := (&agent.Keeper{Home: h, Now: a.now}).Reset(clean)
	if err != nil {
		return err
	}
	if to == "" {
		fmt.Fprintln(a.stdout, "there was no memory; the next cycle begins with the initial state")
		return nil
	}
	fmt.Fprintf(a.stdout, "the memory is now %s; the next cycle begins with the initial state\n", h.Rel(to))
	return nil
}
