package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"rouse/agent"
	"rouse/agent/config"
	"rouse/agent/schedule"
	"rouse/home"
	"rouse/internal/proc"
	"rouse/internal/vault"
)

func (a *app) newSchedule() *cobra.Command {
	limit := 4
	c := &cobra.Command{
		Use:   "schedule [HOME|FOLDER]...",
		Short: "Stay in the foreground and wake homes as their schedules say",
		Long: `Sleep until the next slot of any of the homes, and wake the home then, in a process of its
own: rouse run --due. A folder stands for the homes directly in it. rouse.yaml is read again
when it changes. Besides the schedule, files and folders under watch: wake a home when they change.

It is made for systemd, launchd, a container or tmux; SIGTERM ends it, after the cycles that are
awake have saved their memory. Several of them, or cron beside it, never run a slot twice.

Exit codes: 0, 1 if it cannot go on, 2 usage, 130 or 143 a signal ended it.`,
		Example: `  rouse schedule
  rouse schedule ~/agents --limit 8`,
		RunE: func(_ *cobra.Command, args []string) error { return a.schedule(args, limit) },
	}
	c.Flags().IntVar(&limit, "limit", limit, "how many homes may be awake at once")
	return c
}

func (a *app) schedule(dirs []string, limit int) error {
	if limit < 1 {
		return usage(errors.New("--limit must be above 0"))
	}
	if len(dirs) == 0 {
		h, err := a.openHome()
		if err != nil {
			return err
		}
		dirs = []string{h.Dir}
	}
	for i, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return usage(err)
		}
		dirs[i] = abs
	}
	debug.SetGCPercent(50) // it mostly sleeps: memory is dearer than time
	program, err := os.Executable()
	if err != nil {
		return err
	}
	s := a.waker(program).scheduler(dirs, limit)
	if found, err := s.Homes(); err != nil || len(found) == 0 {
		return usage(cmp.Or(err, fmt.Errorf("no home in %s: none has rules.md", strings.Join(dirs, ", "))))
	}
	ctx, stop := untilSignal()
	defer stop()
	if err := s.Run(ctx); err != nil {
		return err
	}
	return ended(ctx)
}

// ended is the error of what a signal has ended.
func ended(ctx context.Context) error {
	var s agent.Signal
	if errors.As(context.Cause(ctx), &s) {
		return &coded{128 + int(s.Signal), nil}
	}
	return nil
}

// interrupted is what went wrong with the exit code of the signal, if one was why.
func interrupted(ctx context.Context, err error) error {
	var s agent.Signal
	if err == nil || !errors.As(context.Cause(ctx), &s) {
		return err
	}
	if errors.Is(err, syscall.EPIPE) { // as of a program that the signal kills
		err = nil
	}
	return &coded{128 + int(s.Signal), err}
}

// waker starts the processes of a scheduler.
type waker struct {
	app     *app
	program string
	runner  *proc.Runner
	// hangs is the time that a child has beyond its cycle's own, to begin and to
	// save; grace is how long it may take to end when it is told to.
	hangs, grace time.Duration

	mu       sync.Mutex
	timeouts map[string]time.Duration // of the homes' cycles
}

func (w *waker) load(dir string) (schedule.Plan, error) {
	h := home.Home{Dir: dir}
	c, err := config.Load(h.Config(), w.app.getenv)
	if err != nil {
		return schedule.Plan{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timeouts[dir] = time.Duration(c.Cycle.Timeout)
	plan := schedule.Plan{Entries: c.Schedule}
	for _, path := range c.Watch {
		plan.Watch = append(plan.Watch, h.Folder(path))
	}
	return plan, nil
}

func (a *app) waker(program string) *waker {
	return &waker{
		app: a, program: program, runner: &proc.Runner{Env: a.environ}, hangs: 5 * time.Minute, grace: 30 * time.Second,
		timeouts: map[string]time.Duration{},
	}
}

// scheduler wakes the homes among and in the folders.
func (w *waker) scheduler(dirs []string, limit int) *schedule.Scheduler {
	return &schedule.Scheduler{
		Homes: func() ([]string, error) { return schedule.FindHomes("rules.md", dirs...) },
		Load:  w.load, Wake: w.wake, Say: w.say, Limit: limit, Now: w.app.now,
		Config: func(dir string) string { return home.Home{Dir: dir}.Config() },
		Ledger: func(dir string) *schedule.Ledger { return w.app.ledger(home.Home{Dir: dir}) },
	}
}

// wake runs `rouse run --due`, with the variables of the home's .env, as cron does;
// one that hangs is ended.
func (w *waker) wake(ctx context.Context, dir string) {
	w.mu.Lock()
	timeout := w.timeouts[dir] + w.hangs
	w.mu.Unlock()
	env, err := vault.ReadEnv(home.Home{Dir: dir}.Env())
	if err != nil {
		w.say(dir, err.Error())
	}
	out := &firstBytes{left: 4 << 10}
	exit, err := w.runner.Run(ctx, proc.Command{
		Argv: []string{w.program, "run", "--due", "--home", dir}, Dir: dir, Env: environ(env),
		Stdout: out, Stderr: out, Timeout: timeout, Grace: w.grace,
	})
	switch {
	case err != nil:
		w.say(dir, err.Error())
	case exit.Cause == proc.TimedOut:
		w.say(dir, fmt.Sprintf("the cycle hung and was ended after %s", timeout))
	}
	for line := range strings.Lines(out.String()) {
		w.say(dir, strings.TrimSuffix(line, "\n"))
	}
}

func environ(variables []vault.Variable) (list []string) {
	for _, v := range variables {
		list = append(list, v.Name+"="+v.Value)
	}
	return list
}

// say prints a line about a home.
func (w *waker) say(dir, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(w.app.stderr, "%s %s: %s\n", w.app.now().Format(time.DateTime), dir, w.app.redacted(text))
}

// firstBytes keeps the beginning of what is written to it.
type firstBytes struct {
	bytes.Buffer
	left int
}

func (f *firstBytes) Write(p []byte) (int, error) {
	n := min(len(p), f.left)
	f.left -= n
	f.Buffer.Write(p[:n])
	return len(p), nil
}
