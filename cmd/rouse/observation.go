package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rouse/home"
	"rouse/internal/text"
	"rouse/scratchpad/observation"
	"rouse/setup"
)

func (a *app) newObservation() *cobra.Command {
	c := &cobra.Command{
		Use:   "observation",
		Short: "Look at the large tool outputs that are kept",
		Long: `Large outputs of tools are kept in the home's scratchpad for a while after the cycle that
made them, longer if they are kept under a label.

Exit codes: 0, 1 if there is no such observation or the store cannot be used, 2 usage.`,
	}
	c.AddCommand(a.newObservationList(), a.newObservationRead(), a.newObservationGrep(),
		a.newObservationKeep(), a.newObservationRm(), a.newObservationGC())
	return c
}

// inStore runs a verb with the store of the home open, if there is one.
func (a *app) inStore(run func(s *observation.Store, args []string) error) runner {
	return in(a.open, func(home *setup.Setup, args []string) error {
		s, err := home.Store(false)
		if err != nil {
			return err
		}
		defer s.Close()
		return run(s, args)
	})
}

func (a *app) newObservationList() *cobra.Command {
	var cycle string
	var all bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the observations of the newest cycle, and those that are kept",
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("cycle") && !home.ValidCycle(cycle) {
				return usage(notACycle(cycle))
			}
			err := a.inStore(func(s *observation.Store, _ []string) error { return a.listObservations(s, cycle, all) })(c, args)
			if errors.Is(err, setup.ErrNoObservations) {
				return a.printObservations(nil)
			}
			return err
		},
	}
	c.Flags().StringVar(&cycle, "cycle", "", "of this cycle")
	c.Flags().BoolVar(&all, "all", false, "of all cycles")
	return a.withJSON(c)
}

func (a *app) listObservations(s *observation.Store, cycle string, all bool) (err error) {
	if cycle == "" && !all {
		if _, cycle, err = a.openCycle(nil); err != nil {
			return err
		}
	}
	list, err := s.List(observation.Filter{Turn: cycle})
	if err != nil {
		return err
	}
	return a.printObservations(list)
}

// printObservations prints them with what other homes of a fleet share with this one.
func (a *app) printObservations(list []observation.Entry) error {
	list = append(list, a.setup.Shared().List()...)
	hide := a.setup.Hidden()
	for i := range list {
		list[i].Hide(hide)
	}
	out := terminal(a.stdout)
	return printList(a, list, setup.ErrNoObservations.Error(), func(e observation.Entry) string {
		label := ""
		if e.Label != "" {
			label = "  " + out.paint(yellow, "kept: "+text.Line(e.Label, 60))
		}
		if len(e.From) > 0 {
			return fmt.Sprintf("%s  from %s  %s %s %d bytes %d lines  until %s", out.paint(bold, e.ID), text.Line(e.From[len(e.From)-1], 60),
				text.Line(e.Executor, 14), e.Kind, e.Bytes, e.Lines, e.Expires.Format("2006-01-02 15:04:05"))
		}
		return fmt.Sprintf("%s  %s  step %-3d %-14s %-6s %12d bytes %9d lines  %s%s", out.paint(bold, e.ID), e.Turn, e.Step,
			text.Line(e.Executor, 14), e.Kind, e.Bytes, e.Lines, e.Created.Format("2006-01-02 15:04:05"), label)
	})
}

// inContent runs a verb with the observation that its first argument names.
func (a *app) inContent(run func(c *observation.Content, args []string) error) runner {
	read := func(get func(id string) (*observation.Content, error), args []string) error {
		c, err := get(args[0])
		if err != nil {
			return fmt.Errorf("observation %s: %w", text.Line(args[0], 40), err)
		}
		defer c.Close()
		if err = run(c, args); errors.As(err, new(*observation.QueryError)) {
			return usage(err)
		}
		return err
	}
	own := a.inStore(func(s *observation.Store, args []string) error { return read(s.Get, args) })
	return func(c *cobra.Command, args []string) error {
		if !strings.HasPrefix(args[0], observation.SharedPrefix) {
			return own(c, args)
		}
		return in(a.open, func(s *setup.Setup, args []string) error { return read(s.Shared().Get, args) })(c, args)
	}
}

func (a *app) newObservationKeep() *cobra.Command {
	var label string
	var ttl time.Duration
	c := &cobra.Command{
		Use:   "keep ID",
		Short: "Keep an observation for later cycles",
		Args:  cobra.ExactArgs(1),
		RunE:  a.inStore(func(s *observation.Store, args []string) error { return s.Keep(args[0], label, ttl) }),
	}
	c.Flags().StringVar(&label, "label", "kept by the operator", "what it is")
	c.Flags().DurationVar(&ttl, "ttl", 24*time.Hour, "for how long")
	return c
}

func (a *app) newObservationRm() *cobra.Command {
	return &cobra.Command{
		Use:   "rm ID...",
		Short: "Remove observations",
		Args:  cobra.MinimumNArgs(1),
		RunE: a.inStore(func(s *observation.Store, args []string) error {
			for _, id := range args {
				if err := s.Remove(id); err != nil {
					return fmt.Errorf("observation %s: %w", text.Line(id, 40), err)
				}
			}
			return nil
		}),
	}
}

func (a *app) newObservationGC() *cobra.Command {
	return &cobra.Command{
		Use:   "gc",
		Short: "Remove what has expired",
		RunE: a.inStore(func(s *observation.Store, _ []string) error {
			st, err := s.GC(context.Background())
			if err == nil {
				fmt.Fprintf(a.stdout, "removed %d observations and %d files that were left over\n", st.Entries, st.Orphans)
			}
			return err
		}),
	}
}
