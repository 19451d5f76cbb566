package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"rouse/agent/schedule"
	"rouse/home"
	"rouse/internal/text"
)

// ledger is the home's ledger of slots.
func (a *app) ledger(h home.Home) *schedule.Ledger {
	l := &schedule.Ledger{Path: filepath.Join(h.Logs(), "ledger.jsonl"), Now: a.now}
	if info, err := os.Stat(h.Config()); err == nil {
		l.Since = info.ModTime()
	}
	return l
}

func (a *app) newSlots() *cobra.Command {
	var all, asJSON bool
	c := &cobra.Command{
		Use:   "slots",
		Short: "List what became of the newest 20 slots of the schedule",
		Long: `List what became of each time at which the schedule said that a cycle should start, the
newest first: ran (in time), late (something was in the way), caught_up (nobody had been there at
its time), skipped (on purpose, and why), missed (nobody was there, and it is not made up for),
unknown (its process died; it is not run again), waiting, running, asked (a wake that a cycle
wants, yet to come).

Exit codes: 0, 1 if the ledger cannot be read, 2 usage or configuration.`,
		Args: strict(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			limit := 20
			if all {
				limit = 0
			}
			return a.slots(limit, asJSON)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "list all of them; those of long ago are counted by day")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// slot is what `rouse slots --json` prints.
type slot struct {
	Slot   time.Time       `json:"slot"`
	Last   time.Time       `json:"last,omitzero"`
	Count  int             `json:"count"`
	Cron   string          `json:"cron"`
	Status schedule.Status `json:"status"`
	Reason string          `json:"reason"`
	Cycle  string          `json:"cycle"`
	Exit   *int            `json:"exit"`
	Error  string          `json:"error"`
	Time   time.Time       `json:"time"`
}

// asked is the status of a wake that a cycle asked for and that is yet to come.
const asked schedule.Status = "asked"

func slotOf(r schedule.Record) slot {
	return slot{r.Slot, r.Last, r.N(), r.Cron, r.Status, r.Reason, r.Cycle, r.Exit, r.Error, r.Time}
}

func (a *app) slots(limit int, asJSON bool) error {
	h, conf, err := a.open()
	if err != nil {
		return err
	}
	list := []slot{}
	for r, err := range a.ledger(h).Slots() {
		if err != nil {
			return err
		}
		list = append(list, slotOf(r))
	}
	slices.Reverse(list)
	if limit > 0 && len(list) > limit {
		list = list[:limit]
	}
	sum, err := a.ledger(h).Summary(conf.Schedule)
	if err != nil {
		return err
	}
	if !sum.Asked.IsZero() {
		list = slices.Insert(list, 0, slot{Slot: sum.Asked, Count: 1, Cron: schedule.NextWake, Status: asked})
	}
	if asJSON {
		return a.printJSON(list)
	}
	out := terminal(a.stdout)
	for _, s := range list {
		fmt.Fprintln(a.stdout, s.line(out))
	}
	return nil
}

// line is one slot in words.
func (s slot) line(out screen) string {
	color := green
	switch s.Status {
	case schedule.Missed, schedule.Unknown:
		color = red
	case schedule.Skipped, schedule.Waiting, schedule.Running, asked:
		color = yellow
	}
	if s.Exit != nil && *s.Exit != 0 {
		color = red
	}
	row := s.Slot.Format("2006-01-02 15:04:05 -0700") + "  " + out.paint(color, fmt.Sprintf("%-9s", s.Status)) + "  " + s.Cron
	if s.Count > 1 {
		row += fmt.Sprintf("  %d slots up to %s", s.Count, s.Last.Format("2006-01-02 15:04:05"))
	}
	if s.Cycle != "" {
		row += "  cycle " + s.Cycle
	}
	if s.Exit != nil && *s.Exit != 0 {
		row += fmt.Sprintf("  exit %d", *s.Exit)
	}
	for _, more := range []string{s.Reason, s.Error} {
		if more != "" {
			row += "  " + text.Line(more, 200)
		}
	}
	return row
}
