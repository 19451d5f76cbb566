package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"rouse/agent/schedule"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/setup"
)

func (a *app) newSlots() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "slots",
		Short: "List what became of the newest 20 slots of the schedule",
		Long: `List what became of each time at which the schedule said that a cycle should start, the
newest first: ran (in time), late (something was in the way), caught_up (nobody had been there at
its time), skipped (on purpose, and why), missed (nobody was there, and it is not made up for),
unknown (its process died; it is not run again), waiting, running, asked (a wake that a cycle
wants, yet to come). A slot whose cycle got no reply from the model is tried again: the line is about its
newest attempt, and says when the next one comes.

Exit codes: 0, 1 if the ledger cannot be read, 2 usage or configuration.`,
		RunE: in(a.open, func(s *setup.Setup, _ []string) error { return a.slots(s, newest(all)) }),
	}
	c.Flags().BoolVar(&all, "all", false, "list all of them; those of long ago are counted by day")
	return a.withJSON(c)
}

func (a *app) slots(s *setup.Setup, limit int) error {
	list, err := s.NewestSlots(limit)
	if err != nil {
		return err
	}
	out, none := terminal(a.stdout), "no slots yet; give the home a schedule with: rouse install '*/15 * * * *'"
	if next := s.Config.Schedule.Next(a.now()); !next.IsZero() {
		none = "no slots yet; the schedule's next is " + setup.Clock(next)
	}
	return printList(a, list, none, func(s setup.Slot) string { return slotLine(s, out) })
}

// slotLine is one slot in words.
func slotLine(s setup.Slot, out screen) string {
	color := ""
	switch s.Status {
	case schedule.Missed, schedule.Unknown:
		color = red
	case schedule.Skipped, schedule.Waiting, schedule.Running, setup.Asked:
		color = yellow
	}
	if s.Task == journal.TaskProven {
		color = green
	}
	if s.Exit != nil && *s.Exit != 0 {
		color = red
	}
	row := s.Slot.Format("2006-01-02 15:04:05 -0700") + "  " + out.paint(color, fmt.Sprintf("%-9s", s.Status)) + "  " + s.Cron
	if s.Count > 1 {
		row += fmt.Sprintf("  %d slots up to %s", s.Count, s.Last.Format("2006-01-02 15:04:05"))
	}
	if s.Cycle != "" {
		row += "  cycle " + s.Cycle + taskWord(s.Task, out)
	}
	if s.Exit != nil && *s.Exit != 0 {
		row += fmt.Sprintf("  exit %d", *s.Exit)
	}
	if s.Attempt > 1 {
		row += fmt.Sprintf("  attempt %d", s.Attempt)
	}
	if !s.Again.IsZero() {
		row += "  tried again at " + s.Again.In(s.Slot.Location()).Format("15:04:05")
	}
	for _, more := range []string{s.Reason, s.Error} {
		if more != "" {
			row += "  " + text.Line(more, 200)
		}
	}
	return row
}
