package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"rouse/agent"
	"rouse/agent/config"
	"rouse/agent/journal"
	"rouse/agent/pause"
	"rouse/agent/schedule"
	"rouse/internal/redact"
)

// ledger is the home's ledger of slots.
func (a *app) ledger(h agent.Home) *schedule.Ledger {
	l := &schedule.Ledger{Path: filepath.Join(h.Logs(), "ledger.jsonl"), Now: a.now}
	if info, err := os.Stat(h.Config()); err == nil {
		l.Since = info.ModTime()
	}
	return l
}

// runDue runs the slot that is due, if there is one, and writes down what became of it.
func (a *app) runDue(o runOptions) error {
	if err := o.check(); err != nil {
		return usage(err)
	}
	h, conf, err := a.open()
	if err != nil {
		return err
	}
	slot, err := a.ledger(h).Due(conf.Schedule, gate(h))
	if slot == nil || err != nil {
		return err
	}
	var report agent.Report
	o.task, o.ended = slot.Task, func(r agent.Report) { report = r }
	err = a.run(o)
	res := schedule.Result{Cycle: report.Cycle, Exit: report.Exit, Awake: errors.Is(err, agent.ErrAwake)}
	if err != nil {
		res.Error, res.Exit = journal.Line(a.redacted(err.Error()), 300), exitCode(err)
	}
	settled := slot.Settle(res)
	if res.Awake { // what became of the slot is written down; cron need not mail it
		return settled
	}
	return cmp.Or(err, settled)
}

// redacted is a text without secrets.
func (a *app) redacted(text string) string {
	return redact.FromEnv(a.environ, a.secrets).String(text)
}

// gate says what keeps a home from running its slots.
func gate(h agent.Home) schedule.Gate {
	return func(schedule.Slot) string {
		if _, paused := pause.Paused(h.Dir); paused {
			return "paused"
		}
		return ""
	}
}

func (a *app) newSlots() *cobra.Command {
	var all, asJSON bool
	c := &cobra.Command{
		Use:   "slots",
		Short: "List what became of the newest 20 slots of the schedule",
		Long: `List what became of each time at which the schedule said that a cycle should start, the
newest first: ran (in time), late (something was in the way), caught_up (nobody had been there at
its time), skipped (on purpose, and why), missed (nobody was there, and it is not made up for),
unknown (its process died; it is not run again), waiting, running.

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

func slotOf(r schedule.Record) slot {
	return slot{r.Slot, r.Last, r.N(), r.Cron, r.Status, r.Reason, r.Cycle, r.Exit, r.Error, r.Time}
}

// waking is what `rouse status` says of the schedule.
type waking struct {
	LastSlot *slot      `json:"last_slot"`
	NextSlot *time.Time `json:"next_slot"`
	Problems []string   `json:"problems"`
}

// waking sums up the schedule. What cannot be read is a problem too.
func (a *app) waking(h agent.Home) waking {
	w := waking{Problems: []string{}}
	conf, err := config.Load(h.Config(), a.getenv)
	if err != nil {
		w.Problems = append(w.Problems, err.Error())
		return w
	}
	sum, err := a.ledger(h).Summary(conf.Schedule)
	if err != nil {
		w.Problems = append(w.Problems, err.Error())
	}
	if sum.Last != nil {
		last := slotOf(*sum.Last)
		w.LastSlot = &last
	}
	if !sum.Next.IsZero() {
		w.NextSlot = &sum.Next
	}
	w.Problems = append(w.Problems, sum.Problems...)
	return w
}

func (a *app) slots(limit int, asJSON bool) error {
	h, _, err := a.open()
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
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	if limit > 0 && len(list) > limit {
		list = list[:limit]
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
	case schedule.Skipped, schedule.Waiting, schedule.Running:
		color = yellow
	}
	if s.Exit != nil && *s.Exit != 0 {
		color = red
	}
	text := s.Slot.Format("2006-01-02 15:04:05 -0700") + "  " + out.paint(color, fmt.Sprintf("%-9s", s.Status)) + "  " + s.Cron
	if s.Count > 1 {
		text += fmt.Sprintf("  %d slots up to %s", s.Count, s.Last.Format("2006-01-02 15:04:05"))
	}
	if s.Cycle != "" {
		text += "  cycle " + s.Cycle
	}
	if s.Exit != nil && *s.Exit != 0 {
		text += fmt.Sprintf("  exit %d", *s.Exit)
	}
	for _, more := range []string{s.Reason, s.Error} {
		if more != "" {
			text += "  " + journal.Line(more, 200)
		}
	}
	return text
}
