package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"rouse/agent/replay"
	"rouse/internal/text"
	"rouse/setup"
)

func (a *app) newReplay() *cobra.Command {
	c := &cobra.Command{
		Use:   "replay [CYCLE]",
		Short: "Run a recorded cycle again, and see whether it comes to the same",
		Long: `Run a recorded cycle again, by default the newest one, with its recorded replies, results, rules
and tools, in a temporary home: nobody is asked and nothing is carried out. Its actions, the memory and _after
are compared byte for byte; the first difference is printed.

Exit codes: 0 the same, 1 another or no such cycle, 2 it cannot be replayed.`,
		Example: "  rouse replay\n  rouse replay 20260401_150154 --json",
		Args:    cobra.MaximumNArgs(1),
		RunE:    in(a.open, func(s *setup.Setup, args []string) error { return a.replay(s, args) }),
	}
	return a.withJSON(c)
}

func (a *app) replay(s *setup.Setup, args []string) error {
	id, err := pickCycle(s.Home, args)
	if err != nil {
		return err
	}
	r, err := s.Replay(context.Background(), id)
	if errors.As(err, new(*replay.Impossible)) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON([]replay.Replayed{r})
	} else {
		a.printReplayed(r)
	}
	if err == nil && !r.Same {
		err = &coded{code: exitFailed}
	}
	return err
}

func (a *app) printReplayed(r replay.Replayed) {
	if !r.Same {
		fmt.Fprintf(a.stdout, "cycle %s comes to something else: %s\n", r.Cycle, text.Block(r.First.String()))
		return
	}
	fmt.Fprintf(a.stdout, "cycle %s comes to the same: %s in %s, the memory and _after\n", r.Cycle, text.Count(r.Actions, "action"), text.Count(r.Iterations, "iteration"))
	if r.Requests > 0 {
		fmt.Fprintf(a.stdout, "%s would be worded otherwise today\n", text.Count(r.Requests, "request"))
	}
}
