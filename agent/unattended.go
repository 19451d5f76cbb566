package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"rouse/agent/budget"
	"rouse/agent/notify"
	"rouse/agent/pause"
	"rouse/agent/schedule"
	"rouse/dispatcher"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/journal"
	"rouse/scratchpad"
)

// Stopped ends a cycle because the home is paused, or keeps it from starting.
type Stopped struct{ Reason string }

func (s *Stopped) Error() string { return "stopped: " + s.Reason }

// stopped is the reason why the home is paused, nil where it is not. It costs one
// stat.
func (a *Agent) stopped() error {
	if a.Past != nil {
		return a.Past.over()
	}
	if reason, ok := pause.Paused(a.Home.Stop()); ok {
		return &Stopped{a.Redact.String(reason)}
	}
	return nil
}

// retentionTime bounds how long a wake removes what old cycles have left.
const retentionTime = 2 * time.Second

// clear removes what old cycles have left, once a day. What goes wrong there
// fails no cycle, and is tried again.
func (a *Agent) clear() {
	if a.Retention == nil || !a.Retention.Due() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), retentionTime)
	defer cancel()
	_, _ = a.Retention.Apply(ctx)
}

// tell tells people what they should know of a cycle that ended. How that went is
// in the notifications' own state. The home is not locked meanwhile.
func (a *Agent) tell(r Report, err error) {
	if a.Notify == nil {
		return
	}
	o := notify.Outcome{Cycle: r.Cycle, Outcome: r.Outcome}
	if lost(r, err) {
		o.Outcome = journal.Lost
	} else if err != nil {
		o.Outcome = journal.Failed
	}
	if err = cmp.Or(err, r.Err); err != nil {
		o.Error = a.Redact.String(err.Error())
	}
	ctx := context.Background()
	_ = a.Notify.Cycle(ctx, o)
	_ = a.Notify.Tested(ctx, notify.Tested{Cycle: r.Cycle, Task: r.Task, About: r.about, Unmet: r.unmet})
	if errors.As(r.Err, new(*Stopped)) {
		TellStop(ctx, a.Home, a.Notify)
	}
	if o.Outcome == journal.Failed && r.Cycle != "" {
		tellRest(ctx, a.Home, a.Notify, a.PauseAfter)
	}
	if errors.Is(r.Err, ErrIdle) && len(a.Notify.Sinks) > 0 {
		a.tellNothing(ctx, r.Cycle)
	}
	a.deliver()
}

// deliver sends what is put down, also by others.
func (a *Agent) deliver() {
	if a.Notify != nil {
		_ = a.Notify.Deliver(context.Background())
	}
}

// TellGivenUp puts down that a cycle failed whose slot was to be tried again, and is not.
func TellGivenUp(ctx context.Context, h home.Home, n *notify.Notifier, cycle string, pauseAfter int) {
	if s, err := SummaryOf(h, cycle); err == nil {
		_ = n.Cycle(ctx, notify.Outcome{Cycle: s.Cycle, Outcome: s.Outcome, Error: s.Error})
		tellRest(ctx, h, n, pauseAfter)
	}
}

// TellStop puts down, once for each such file, that the file STOP keeps the home
// from waking.
func TellStop(ctx context.Context, h home.Home, n *notify.Notifier) {
	info, err := os.Lstat(h.Stop())
	reason, paused := pause.Paused(h.Stop())
	if err == nil && paused {
		_ = n.Tell(ctx, notify.Paused, "STOP of "+info.ModTime().UTC().Format(time.RFC3339Nano),
			"the home is paused until the file STOP is removed, as with rouse resume: "+reason)
	}
}

// tellWaiting puts down what waits for a person.
func (a *Agent) tellWaiting(ctx context.Context, what []string) {
	if a.Notify == nil {
		return
	}
	for _, text := range what {
		_ = a.Notify.Tell(ctx, notify.Waiting, "waiting: "+text, text)
	}
}

// tellRest tells that the home is left to rest, where its newest failure makes it so.
func tellRest(ctx context.Context, h home.Home, n *notify.Notifier, pauseAfter int) {
	s, err := Streak(h, pauseAfter)
	until, ok := s.Until(pauseAfter)
	if err != nil || !ok || s.Count != pauseAfter {
		return
	}
	_ = n.Tell(ctx, notify.Paused, "rest "+s.Last.UTC().Format(time.RFC3339), fmt.Sprintf(
		"%d cycles in a row failed for the same cause; slots are skipped until %s, and longer after each further failure: %s",
		s.Count, until.Format("2006-01-02 15:04"), s.Cause))
}

// Nothing says what a home lacks that has nothing to do, and the mend.
const Nothing = "no task, nothing pending and no goals; give it a task with rouse run --task, or write into the memory"

// Purposeless says that a cycle would have nothing to do.
func Purposeless(s *scratchpad.State) bool {
	return scratchpad.TaskText(s.CurrentTask()) == "" && len(s.Pending()) == 0 && len(s.Goals()) == 0
}

// tellNothing tells that there is nothing to do, of the first cycle in a row.
func (a *Agent) tellNothing(ctx context.Context, cycle string) {
	list, err := Summaries(a.Home, 2)
	if err == nil && (len(list) < 2 || list[1].Outcome != journal.Idle) {
		_ = a.Notify.Tell(ctx, notify.Waiting, "nothing "+cycle, "the home has nothing to do: "+Nothing)
	}
}

// Streak is the row of failures for the same cause that the newest cycles are; no
// more of them are counted than [pause.Streak.Until] asks for.
func Streak(h home.Home, pauseAfter int) (pause.Streak, error) {
	list, err := Summaries(h, 1)
	if err != nil || len(list) == 0 || list[0].Outcome != journal.Failed && list[0].Outcome != journal.Lost || pauseAfter <= 0 {
		return pause.Streak{}, err
	}
	look := pause.Look(pauseAfter)
	if list, err = Summaries(h, look); err == nil && slices.ContainsFunc(list, func(s Summary) bool { return s.Attempt > 1 }) {
		list, err = Summaries(h, look*(1+schedule.MaxRetries))
	}
	if err != nil {
		return pause.Streak{}, err
	}
	resumed, _ := disk.ReadSmall(h.Resumed(), 100) // mostly there is none
	var cycles []pause.Cycle
	for _, s := range list {
		if s.Cycle <= string(resumed) {
			break // a person knows of these
		}
		if s.Outcome == journal.Lost {
			continue // another machine has the home: that proves nothing of the cause
		}
		cycles = append(cycles, pause.Cycle{
			Began: s.Began, Took: time.Duration(s.Ms) * time.Millisecond, Failed: s.Outcome == journal.Failed, Error: s.Error, Attempt: s.Attempt,
		})
	}
	return pause.Failures(cycles), nil
}

// EndRest lets no cycle up to now count as a failure for which the home rests.
func EndRest(h home.Home, f disk.FS) error {
	newest, err := h.Newest()
	if err == nil {
		err = disk.Replace(f, h.Resumed(), []byte(newest), 0o600)
	}
	if err != nil {
		return fmt.Errorf("end the rest: %w", err)
	}
	return nil
}

// spend counts an action that is a tool call.
func (a *Agent) spend(ctx context.Context, action dispatcher.Action) error {
	if action.Tool == "done" || action.Tool == "update_scratchpad" {
		return nil
	}
	return a.Budget.Call(ctx)
}

// limited makes a limit of the cycle of what would not fit the budget.
func limited(err error) error {
	if e, ok := errors.AsType[*budget.Exceeded](err); ok {
		return &Limit{e.Name, e.Text}
	}
	return err
}
