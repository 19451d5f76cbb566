package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"rouse/agent"
	"rouse/agent/budget"
	"rouse/agent/config"
	"rouse/agent/notify"
	"rouse/agent/pause"
	"rouse/agent/schedule"
	"rouse/home"
	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/journal"
)

// runDue runs the slot that is due, if there is one, and writes down what became of it.
func (a *app) runDue(o runOptions) error {
	if err := o.check(); err != nil {
		return usage(err)
	}
	h, conf, err := a.open()
	if err != nil {
		return err
	}
	l := a.ledger(h)
	var wrote []schedule.Record
	l.Wrote = func(lines []schedule.Record) { wrote = append(wrote, lines...) }
	slot, err := l.Due(conf.Schedule, a.gate(h, conf))
	tell := a.tellSlots(h, conf, wrote)
	if slot == nil || err != nil {
		tell.deliver()
		if slices.ContainsFunc(wrote, func(r schedule.Record) bool { return r.Reason == idle }) {
			_ = a.heartbeat(h, conf).Alive() // nobody is to be alarmed as there is nothing to do
		}
		return err
	}
	var report agent.Report
	o.task, o.ended = slot.Task, func(r agent.Report) { report = r }
	err = a.run(o) // which delivers what is to be told
	res := schedule.Result{Cycle: report.Cycle, Exit: report.Exit, Awake: errors.Is(err, home.ErrAwake)}
	if err != nil {
		why := strings.TrimPrefix(err.Error(), "cycle "+report.Cycle+": ") // which the ledger has beside it
		res.Error, res.Exit = text.Line(a.redacted(why), 300), exitCode(err)
	}
	settled := slot.Settle(res)
	if res.Awake { // what became of the slot is written down; cron need not mail it
		return settled
	}
	return cmp.Or(err, settled)
}

// idle is why a slot is skipped where nothing is new.
const idle = "idle"

// gate says what keeps a home from running a slot.
func (a *app) gate(h home.Home, conf config.Config) schedule.Gate {
	return func(s schedule.Slot) (reason, sentence string) {
		if why, paused := pause.Paused(h.Dir); paused {
			return "paused", a.redacted(why)
		}
		if sentence := a.resting(h, int(conf.Failures.PauseAfter)); sentence != "" {
			return "failures", sentence
		}
		if s.IdleSkip && agent.Idle(h, watched(h, conf)) {
			return idle, ""
		}
		if err := a.affords(h, conf, s.Task); err != nil {
			return "budget", err.Error()
		}
		return "", ""
	}
}

// watched are the files and folders whose change is news.
func watched(h home.Home, conf config.Config) (paths []string) {
	for _, path := range conf.Watch {
		paths = append(paths, h.Folder(path))
	}
	return paths
}

// resting says until when a home is left alone after failures, and why.
func (a *app) resting(h home.Home, pauseAfter int) string {
	s, err := agent.Streak(h, pauseAfter)
	until, ok := s.Rests(a.now(), pauseAfter)
	if err != nil || !ok {
		return ""
	}
	return text.Line(fmt.Sprintf("rests until %s, as %d cycles in a row failed: %s", until.Format("2006-01-02 15:04"), s.Count, a.redacted(s.Cause)), 300)
}

// budgetPatience is how long the ledger of spending may be held by another process
// while that of the slots is held by this one.
const budgetPatience = 2 * time.Second

// affords says whether the limits of the day and the month leave room for the
// first request of a cycle and one call of a tool. Whatever else is wrong is for
// the cycle to say.
func (a *app) affords(h home.Home, conf config.Config, task string) error {
	if conf.Limits == (config.Limits{}) {
		return nil
	}
	ag, err := a.agent(h, conf)
	if err != nil {
		return nil
	}
	ag.Task = ag.Redact.String(task)
	m, ok := ag.Model.(*budget.Model)
	req, err := ag.Preview()
	if err != nil || !ok {
		return nil
	}
	want := m.Worst(req)
	want.Calls = 1
	ctx, cancel := context.WithTimeout(context.Background(), budgetPatience)
	defer cancel()
	var e *budget.Exceeded
	if err := m.Budget.Fits(ctx, want); errors.As(err, &e) {
		return e
	}
	return nil
}

// telling is what people are to be told.
type telling struct{ *notify.Notifier }

func (t telling) deliver() {
	if t.Notifier != nil {
		_ = t.Deliver(context.Background()) // how that went is in the notifications' own state
	}
}

// tellSlots puts down, for people to be told, what became of slots that had no cycle.
func (a *app) tellSlots(h home.Home, conf config.Config, wrote []schedule.Record) telling {
	if len(wrote) == 0 || len(conf.Notify) == 0 {
		return telling{}
	}
	hide := a.redactor()
	n := a.notifier(h, conf, &proc.Runner{Env: proc.Environ(a.harmless(conf))}, hide)
	ctx := context.Background()
	tell := func(kind, key, text string) { _ = n.Tell(ctx, kind, key, text) }
	for _, r := range wrote {
		switch {
		case r.Status == schedule.Unknown:
			tell(notify.Missed, "unknown "+r.Slot.UTC().Format(time.RFC3339), "the process that ran the slot of "+clock(r.Slot)+" died; what its cycle did is settled at the next wake")
		case r.Reason == "paused":
			agent.TellStop(ctx, h, n)
		case r.Reason == "budget" && !toldLimit(h):
			tell(notify.Limit, "budget "+a.now().Format(time.DateOnly), "slots are skipped: "+r.Error)
		}
	}
	if text, key := missedText(wrote); text != "" {
		tell(notify.Missed, key, text)
	}
	return telling{n}
}

// missedText sums up the slots at which nobody was there; one is enough for the key.
func missedText(wrote []schedule.Record) (text, key string) {
	var first, last time.Time
	n := 0
	for _, r := range wrote {
		if r.Status != schedule.Missed {
			continue
		}
		if n += r.N(); first.IsZero() || r.Slot.Before(first) {
			first = r.Slot
		}
		for _, t := range []time.Time{r.Slot, r.Last} {
			if t.After(last) {
				last = t
			}
		}
	}
	switch n {
	case 0:
		return "", ""
	case 1:
		text = "the slot of " + clock(first) + " had no cycle: nobody was there to wake the home"
	default:
		text = fmt.Sprintf("%d slots from %s to %s had no cycle: nobody was there to wake the home", n, clock(first), clock(last))
	}
	return text, "missed " + first.UTC().Format(time.RFC3339)
}

func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -0700") }

// toldLimit says whether the newest cycle ended at a limit of the day or the
// month, of which it has told itself.
func toldLimit(h home.Home) bool {
	list, err := agent.Summaries(h, 1)
	return err == nil && len(list) > 0 && list[0].Outcome == journal.Limited &&
		(strings.HasPrefix(list[0].Error, "day_") || strings.HasPrefix(list[0].Error, "month_"))
}
