package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"rouse/agent/pause"
	"rouse/home"
	"rouse/setup"
)

func (a *app) newPause() *cobra.Command {
	return &cobra.Command{
		Use:   "pause [REASON]",
		Short: "Stop the home: no cycle starts, and the one that is awake ends",
		Long: `Write the file STOP into the home. While it is there no cycle starts, and one that is
awake goes to sleep before its next step. A file STOP that you make otherwise does the same.
What a killed cycle left running is ended, as by rouse reap.

Exit codes: 0, also if the home is paused already, 1 if the file cannot be written or a process
does not end.`,
		Example: `  rouse pause 'the disk is being changed'
  rouse resume`,
		Args: cobra.ArbitraryArgs,
		RunE: in(a.anyHome, a.pause),
	}
}

func (a *app) pause(h home.Home, words []string) error {
	reason := cmp.Or(strings.TrimSpace(strings.Join(words, " ")), "paused at "+a.now().Format("2006-01-02 15:04"))
	already, ended, err := setup.Pause(h, reason)
	switch _, stands := pause.Paused(h.Stop()); {
	case already != "":
		fmt.Fprintf(a.stdout, "paused already: %s\n", already)
	case stands:
		fmt.Fprintln(a.stdout, "paused; go on with: rouse resume")
	}
	for _, l := range ended {
		fmt.Fprintln(a.stdout, endedLine(l))
	}
	return err
}

func (a *app) newResume() *cobra.Command {
	return &cobra.Command{
		Use:   "resume",
		Short: "End a pause, and a rest after failures",
		Long: `Remove the file STOP from the home, so that cycles start again, and let the failures up to
now count no more: a home that rests after them wakes at its next slot. It says what is over.

Exit codes: 0, also if the home was not paused, 1 if the file cannot be removed.`,
		RunE: in(a.anyHome, a.resume),
	}
}

func (a *app) resume(h home.Home, _ []string) error {
	over, err := setup.Resume(h, a.process())
	switch {
	case len(over) > 0:
		fmt.Fprintf(a.stdout, "cycles start again; over: %s\n", a.redacted(strings.Join(over, ", ")))
	case err == nil:
		fmt.Fprintln(a.stdout, "the home was not paused, and does not rest after failures")
	}
	return err
}
