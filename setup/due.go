package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"rouse/agent"
	"rouse/agent/budget"
	"rouse/agent/notify"
	"rouse/agent/pause"
	"rouse/agent/schedule"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/mirror"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/tools"
	"rouse/tools/mcp"
)

// Ran is how a cycle went that ran for a slot: its report, the exit code that says
// so, and why it is not 0.
type Ran struct {
	Report agent.Report
	Exit   int
	Err    error
}

// RunDue runs the slot that is due, if there is one, and writes down what became of
// it. run is given the slot and tells what people are to be told.
func (s *Setup) RunDue(run func(schedule.Slot) Ran) error {
	l := s.Slots()
	var wrote []schedule.Record
	l.Wrote = func(lines []schedule.Record) { wrote = append(wrote, lines...) }
	slot, err := l.Due(s.Config.Schedule, s.Gate)
	err = disk.Full(err, s.Home.Dir)
	if err != nil && !errors.Is(err, mirror.ErrLost) {
		s.Alarm(err)
	}
	tell := s.tellSlots(wrote)
	if slot == nil || err != nil {
		s.tellBlocked(&tell, wrote)
		tell.deliver()
		if slices.ContainsFunc(wrote, func(r schedule.Record) bool { return r.Reason == idle || r.Reason == waiting }) {
			_ = s.Heartbeat().Alive() // nobody is to be alarmed as there is nothing to do
		}
		return err
	}
	again := s.attempt(slot)
	wrote = nil
	stop := looking(slot)
	ran := run(slot.Slot)
	stop()
	res := schedule.Result{Cycle: ran.Report.Cycle, Exit: ran.Exit, Awake: errors.Is(ran.Err, home.ErrAwake), Again: *again}
	if res.Awake {
		res.Error = text.Line(s.Redactor().String(s.holder()), 300)
	} else if ran.Err != nil {
		why := strings.TrimPrefix(ran.Err.Error(), "cycle "+res.Cycle+": ") // which the ledger has beside it
		res.Error = text.Line(s.Redactor().String(why), 300)
	}
	settled := slot.Settle(res)
	tell = s.tellSlots(slices.DeleteFunc(slices.Clone(wrote), func(r schedule.Record) bool { return !r.GaveUp() }))
	s.tellBlocked(&tell, wrote)
	tell.deliver()
	if res.Awake || !again.IsZero() { // what became of the slot is written down; cron need not mail it
		return settled
	}
	return cmp.Or(ran.Err, settled)
}

// firstLook is when an awake cycle first looks for slots that came due, and lookEvery
// how often from then on: where cron starts a process each minute, that one is first.
const firstLook, lookEvery = 90 * time.Second, time.Minute

// looking looks for slots that come due while a cycle is awake. One that replaces the
// cycle ends it as another process would.
func looking(slot *schedule.Attempt) (stop func()) {
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		timer := time.NewTimer(firstLook)
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
			}
			if replaced, err := slot.Look(); err == nil && replaced {
				_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
			}
			timer.Reset(lookEvery)
		}
	})
	return func() { close(done); wg.Wait() }
}

// attempt tells the agent which cycle of a slot it runs; the result is when the slot
// is tried again, as soon as that is decided.
func (s *Setup) attempt(slot *schedule.Attempt) *time.Time {
	again := new(time.Time)
	if ag, err := s.Agent(); err == nil {
		ag.Waking.Attempt = slot.Slot.Attempt
		ag.Waking.Again = func() bool {
			*again = slot.Again()
			return !again.IsZero()
		}
	}
	return again
}

// idle is why a slot is skipped where nothing is new, waiting where all that is to be done
// waits for a person.
const idle, waiting = "idle", "waiting"

// Gate says what keeps the home from running a slot.
func (s *Setup) Gate(slot schedule.Slot) (reason, sentence string) {
	if why, paused := pause.Paused(s.Home.Stop()); paused {
		return "paused", s.Redactor().String(why)
	}
	if sentence := s.Resting(); sentence != "" && slot.Attempt < 2 { // only what came of all attempts is a failure
		return "failures", sentence
	}
	answered, waits := agent.Waits(s.Home, s.asked(), slot.Task)
	if slot.IdleSkip && !answered && agent.Idle(s.Home, s.Watched()) {
		return idle, ""
	}
	if waits {
		return waiting, ""
	}
	if err := s.affords(slot.Task); err != nil {
		return "budget", err.Error()
	}
	return "", ""
}

// Resting says until when the home is left alone after failures, and why.
func (s *Setup) Resting() string {
	_, sentence := s.rest()
	return sentence
}

func (s *Setup) rest() (until time.Time, sentence string) {
	after := int(s.Config.Failures.PauseAfter)
	streak, err := agent.Streak(s.Home, after)
	until, ok := streak.Rests(s.Now(), after)
	if err != nil || !ok {
		return time.Time{}, ""
	}
	return until, text.Line(fmt.Sprintf("rests until %s, as %d cycles in a row failed: %s", until.Format("2006-01-02 15:04"), streak.Count, s.Redactor().String(streak.Cause)), 300)
}

// Resume ends the pause of a home, and the rest after failures; it says in words what is
// over. A home that cannot be opened has no rest that is known.
func Resume(h home.Home, p Process) (over []string, err error) {
	paused, err := pause.Resume(disk.OS{}, h.Stop())
	if paused {
		over = append(over, "the pause")
	}
	if _, unknown := h.Version(); err != nil || unknown != nil {
		return over, err
	}
	s, unopened := Open(h, p)
	if unopened != nil {
		return over, nil
	}
	if sentence := s.Resting(); sentence != "" {
		if err = agent.EndRest(h, disk.OS{}); err == nil {
			over = append(over, "the rest after failures ("+strings.TrimPrefix(sentence, "rests ")+")")
		}
	}
	return over, err
}

// budgetPatience is how long the ledger of spending may be held by another process.
const budgetPatience = 2 * time.Second

// affords says whether the limits leave room for the first request of a cycle and
// one call of a tool. Whatever else is wrong is for the cycle to say.
func (s *Setup) affords(task string) error {
	if s.Config.Limits == (budget.Limits{}) {
		return nil
	}
	ag, err := s.Agent()
	if err != nil {
		return nil
	}
	m, ok := ag.Likely().(*budget.Model)
	if !ok {
		return nil
	}
	before, attempt := ag.Task, ag.Waking.Attempt
	ag.Task, ag.Waking.Attempt = ag.Redact.String(task), 1
	req, err := ag.Preview(s.foreseen(ag)...)
	if ag.Task, ag.Waking.Attempt = before, attempt; err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), budgetPatience)
	defer cancel()
	if e, ok := errors.AsType[*budget.Exceeded](m.Fits(ctx, req)); ok {
		return e
	}
	return nil
}

// foreseen are the tools of a cycle that need something running, by what describes
// them: the notebook's, and those that the MCP servers had in the last cycle.
func (s *Setup) foreseen(ag *agent.Agent) []tools.Tool {
	list := s.notebookBox(context.Background(), agent.Host{}).Tools
	if c, err := s.Servers(); err == nil && len(c.Servers) > 0 {
		for _, t := range ag.Offered() {
			if server, _, ok := strings.Cut(t.Name, mcp.Separator); ok {
				t.Source, t.Hidden = "mcp "+server, false
				list = append(list, t)
			}
		}
	}
	return list
}

// telling is what people are to be told.
type telling struct{ *notify.Notifier }

func (t telling) deliver() {
	if t.Notifier != nil {
		_ = t.Deliver(context.Background()) // how that went is in the notifications' own state
	}
}

// tellSlots puts down, for people to be told, what became of slots that had no cycle.
func (s *Setup) tellSlots(wrote []schedule.Record) telling {
	if len(wrote) == 0 || len(s.Config.Notify) == 0 {
		return telling{}
	}
	n := s.Notifier()
	ctx := context.Background()
	tell := func(kind, key, text string) { _ = n.Tell(ctx, kind, key, text) }
	for _, r := range wrote {
		switch {
		case r.Status == schedule.Unknown:
			tell(notify.Missed, "unknown "+r.Slot.UTC().Format(time.RFC3339), "the process that ran the slot of "+Clock(r.Slot)+" died; what its cycle did is settled at the next wake")
		case r.GaveUp():
			agent.TellGivenUp(ctx, s.Home, n, r.Cycle, int(s.Config.Failures.PauseAfter))
		case r.Reason == "paused":
			agent.TellStop(ctx, s.Home, n)
		case r.Reason == "budget" && !toldLimit(s.Home):
			tell(notify.Limit, "budget "+s.Now().Format(time.DateOnly), "slots are skipped: "+r.Error)
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
		text = "the slot of " + Clock(first) + " had no cycle: nobody was there to wake the home"
	default:
		text = fmt.Sprintf("%d slots from %s to %s had no cycle: nobody was there to wake the home", n, Clock(first), Clock(last))
	}
	return text, "missed " + first.UTC().Format(time.RFC3339)
}

// Clock is a moment in words.
func Clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -0700") }

// toldLimit says whether the newest cycle ended at a limit of the day or the
// month, of which it has told itself.
func toldLimit(h home.Home) bool {
	list, err := agent.Summaries(h, 1)
	return err == nil && len(list) > 0 && list[0].Outcome == journal.Limited &&
		(strings.HasPrefix(list[0].Error, "day_") || strings.HasPrefix(list[0].Error, "month_"))
}
