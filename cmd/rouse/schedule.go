package main

import (
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
	"rouse/setup"
)

func (a *app) newSchedule() *cobra.Command {
	limit, shows := 4, false
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
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if !shows {
				return a.schedule(args, limit, nil)
			}
			set, err := a.served(c, config.Serve{}, args)
			if err != nil {
				return usage(err)
			}
			return a.schedule(args, limit, &set)
		},
	}
	c.Flags().IntVar(&limit, "limit", limit, "how many homes may be awake at once")
	c.Flags().BoolVar(&shows, "serve", false, "also show the homes in a browser, as rouse serve does")
	return c
}

// schedule wakes homes until a signal comes, and shows them as set says, unless that is nil.
func (a *app) schedule(dirs []string, limit int, set *config.Serve) error {
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
	w := &setup.Waker{Process: a.process().Alone(), Program: program, Say: func(dir, text string) {
		fmt.Fprintf(a.stderr, "%s %s: %s\n", a.now().Format(time.DateTime), dir, a.redacted(text))
	}}
	s := w.Scheduler(dirs, limit)
	if found, err := s.Homes(); err != nil || len(found) == 0 {
		return usage(cmp.Or(err, fmt.Errorf("no home in %s: none has rules.md", strings.Join(dirs, ", "))))
	}
	ctx, stop := untilSignal()
	defer stop()
	defer a.beside(ctx, set, dirs, w.Say)()
	if err := s.Run(ctx); err != nil {
		return err
	}
	return ended(ctx)
}

// beside shows homes until done is called. That it cannot is said, and keeps no home from waking.
func (a *app) beside(ctx context.Context, set *config.Serve, dirs []string, say func(dir, text string)) (done func()) {
	ctx, end := context.WithCancel(ctx)
	var page sync.WaitGroup
	if set != nil {
		page.Go(func() {
			if err := a.serve(ctx, *set, dirs); err != nil {
				say("the page", err.Error())
			}
		})
	}
	return func() { end(); page.Wait() }
}

// ended is the error of what a signal has ended.
func ended(ctx context.Context) error {
	if s, ok := errors.AsType[agent.Signal](context.Cause(ctx)); ok {
		return &coded{128 + int(s.Signal), nil}
	}
	return nil
}

// interrupted is what went wrong with the exit code of the signal, if one was why.
func interrupted(ctx context.Context, err error) error {
	s, ok := errors.AsType[agent.Signal](context.Cause(ctx))
	if err == nil || !ok {
		return err
	}
	if errors.Is(err, syscall.EPIPE) { // as of a program that the signal kills
		err = nil
	}
	return &coded{128 + int(s.Signal), err}
}
