package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"rouse/home"
	"rouse/journal"
)

func (a *app) newLog() *cobra.Command {
	var follow, asJSON bool
	var request int
	c := &cobra.Command{
		Use:   "log [CYCLE]",
		Short: "Show what happened in a cycle",
		Long: `Show the events of a cycle, by default the newest one.

With --request N, show what the model was sent at iteration N, rebuilt from the journal,
the snapshot _before and the copies in logs/made: messages, calls and tools, pictures by
their hash. With --json that is the body of the HTTP request, byte for byte. What cannot
be rebuilt exactly is not shown; the error says what is missing.

Exit codes: 0, or 1 if there is no such cycle or request, or it cannot be rebuilt.`,
		Example: "  rouse log\n  rouse log 20260401_150154\n  rouse log -f\n  rouse log 20260401_150154 --request 3 --json > body.json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("request") {
				return a.logRequest(args, request, asJSON)
			}
			return a.log(args, follow, asJSON)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "wait for more until the cycle sleeps")
	c.Flags().BoolVar(&asJSON, "json", false, "print the journal's lines, or the body of the request")
	c.Flags().IntVar(&request, "request", 0, "show what the model was sent at this iteration")
	c.MarkFlagsMutuallyExclusive("follow", "request")
	return c
}

func (a *app) log(args []string, follow, asJSON bool) error {
	h, id, err := a.openCycle(args)
	if err != nil {
		return err
	}
	f, err := os.Open(h.Journal(id))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cycle %s has no log any more: %s was removed", id, h.Rel(h.Journal(id)))
	}
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	defer f.Close()
	t := &journal.Growing{File: f, Follow: follow}
	for e, err := range journal.ReadFrom(t) {
		if err != nil {
			return fmt.Errorf("log: %w", err)
		}
		if err := a.printEvent(e, asJSON); err != nil {
			return err
		}
		if w, ok := e.Data.(*journal.Wake); ok {
			t.Owner = w.Owner
		}
		if e.Event == "sleep" {
			return nil
		}
	}
	if follow {
		return fmt.Errorf("cycle %s was interrupted; the next wake settles it", id)
	}
	return nil
}

func (a *app) printEvent(e journal.Event, asJSON bool) error {
	if asJSON {
		line, err := e.MarshalJSON()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "%s\n", line)
		return err
	}
	text := e.Text()
	if text == "" {
		return nil
	}
	_, err := fmt.Fprintln(a.stdout, e.Time.Format("15:04:05.000"), text)
	return err
}

// openCycle finds the home, and the cycle in it that the arguments name.
func (a *app) openCycle(args []string) (h home.Home, id string, err error) {
	if h, err = a.openHome(); err == nil {
		id, err = pickCycle(h, args)
	}
	return h, id, err
}

// errNoCycle is that of a home in which none has run.
var errNoCycle = errors.New("no cycle has run yet; start one with rouse run")

// pickCycle is the cycle that the arguments name, by default the newest.
func pickCycle(h home.Home, args []string) (string, error) {
	if len(args) > 0 {
		if !home.ValidCycle(args[0]) {
			return "", usage(notACycle(args[0]))
		}
		if !h.Knows(args[0]) {
			return "", fmt.Errorf("there is no cycle %s; see rouse cycles --all", args[0])
		}
		return args[0], nil
	}
	id, err := h.Newest()
	if err == nil && !h.Knows(id) { // of a reset at most
		err = errNoCycle
	}
	return id, err
}

func notACycle(id string) error {
	return fmt.Errorf("%q is not a cycle; they look like 20260401_150154, see rouse cycles", id)
}
