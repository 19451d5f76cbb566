package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"rouse/home"
	"rouse/internal/text"
	"rouse/setup"
)

func (a *app) newTell() *cobra.Command {
	var checks []string
	var now bool
	c := &cobra.Command{
		Use:   "tell TEXT...",
		Short: "Give the agent a task, also while it is awake",
		Long: `Put a task behind what the agent has to do. It is in a file of inbox/ until a cycle takes it in: one
that is awake before its next request to the model, else the next one that wakes. Each is
taken in once, in the order in which they were told.

Exit codes: 0, 2 usage or configuration; with --now those of rouse run.`,
		Example: `  rouse tell 'look why the backup of last night is smaller'
  rouse tell 'write report.csv' --check 'test -s report.csv' --now`,
		Args: cobra.MinimumNArgs(1),
		RunE: in(a.open, func(s *setup.Setup, args []string) error { return a.tell(s, strings.Join(args, " "), checks, now) }),
	}
	c.Flags().StringArrayVar(&checks, "check", nil, "test this before the task counts as done, as rouse run --check")
	c.Flags().BoolVar(&now, "now", false, "run a cycle now, unless one is awake")
	return c
}

func (a *app) tell(s *setup.Setup, said string, checks []string, now bool) error {
	item, err := s.TaskOf(said, checks, s.User())
	if err != nil {
		return usage(err)
	}
	if err := s.Tell(item); err != nil {
		return err
	}
	if !now {
		fmt.Fprintf(a.stdout, "told: %s; it is taken in by the cycle that is awake, or the next one\n", text.Line(item.Task, 200))
		return nil
	}
	err = a.cycle(s, runOptions{}).Err
	if errors.Is(err, home.ErrAwake) {
		fmt.Fprintln(a.stdout, "told: the cycle that is awake takes it in")
		return nil
	}
	return err
}
