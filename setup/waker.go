package setup

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"rouse/agent/schedule"
	"rouse/home"
	"rouse/internal/proc"
	"rouse/internal/text"
)

// Waker wakes homes as their schedules say, each in a process of its own:
// `rouse run --due`.
type Waker struct {
	Process
	Program string // rouse
	// Say tells the operator something about a home.
	Say func(dir, text string)
	// Hangs is the time that a child has beyond its cycle's own, to begin and to
	// save, and Grace how long it may take to end when it is told to; 0 are 5
	// minutes and 30 seconds.
	Hangs, Grace time.Duration

	mu       sync.Mutex
	timeouts map[string]time.Duration // of the homes' cycles
	alarms   sync.WaitGroup           // that are under way
}

// Scheduler wakes the homes among and in the folders.
func (w *Waker) Scheduler(dirs []string, limit int) *schedule.Scheduler {
	return &schedule.Scheduler{
		Homes: func() ([]string, error) { return home.Find(dirs...) },
		Load:  w.load, Wake: w.wake, Say: w.say, Limit: limit, Now: w.Now,
		Config: func(dir string) string { return home.Home{Dir: dir}.Config() },
		Ledger: func(dir string) *schedule.Ledger { return Ledger(home.Home{Dir: dir}, w.Now) },
	}
}

func (w *Waker) say(dir, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Say(dir, text)
}

func (w *Waker) load(dir string) (schedule.Plan, error) {
	s, err := Open(home.Home{Dir: dir}, w.Process)
	if err != nil {
		w.alarms.Go(func() { AlarmAt(dir, w.Process, err) }) // no child is started that would
		return schedule.Plan{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timeouts == nil {
		w.timeouts = map[string]time.Duration{}
	}
	w.timeouts[dir] = time.Duration(s.Config.Cycle.Timeout)
	plan := schedule.Plan{Entries: s.Config.Schedule, Watch: s.Watched()}
	if len(s.Config.Report.At) > 0 {
		plan.Also = func() time.Time { at, _ := s.NextReport(); return at }
	}
	return plan, nil
}

// wake runs a cycle, which reads the home's .env itself; one that hangs is ended.
func (w *Waker) wake(ctx context.Context, dir string) {
	w.mu.Lock()
	timeout := w.timeouts[dir] + cmp.Or(w.Hangs, 5*time.Minute)
	w.mu.Unlock()
	out := &text.Ends{Head: 4 << 10}
	exit, err := (&proc.Runner{Env: w.Environ}).Run(ctx, proc.Command{
		Argv: []string{w.Program, "run", "--due", "--home", dir}, Dir: dir,
		Stdout: out, Stderr: out, Timeout: timeout, Grace: cmp.Or(w.Grace, 30*time.Second),
	})
	switch {
	case err != nil:
		w.say(dir, err.Error())
	case exit.Cause == proc.TimedOut:
		w.say(dir, fmt.Sprintf("the cycle hung and was ended after %s", timeout))
	}
	said, _, _ := out.Kept()
	for line := range strings.Lines(string(said)) {
		w.say(dir, strings.TrimSuffix(line, "\n"))
	}
}
