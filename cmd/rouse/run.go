package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"rouse/agent"
	"rouse/agent/check"
	"rouse/agent/schedule"
	"rouse/internal/mirror"
	"rouse/internal/proc"
	"rouse/journal"
	"rouse/setup"
	"rouse/setup/report"
)

// runOptions are the flags of run.
type runOptions struct {
	task                string
	tasked              bool // the flag was given
	checks              []string
	given               []any // the checks
	dryRun, json, quiet bool
	due, mail, ask      bool
}

// check refuses a task that nobody meant, as of a variable that was not set.
func (o *runOptions) check() error {
	for _, said := range o.checks {
		c, err := check.Read(said)
		if err != nil {
			return fmt.Errorf("--%w", err)
		}
		o.given = append(o.given, c)
	}
	switch {
	case o.tasked && strings.TrimSpace(o.task) == "":
		return errors.New("--task is empty")
	case !utf8.ValidString(o.task):
		return errors.New("--task is not UTF-8")
	case o.ask && (o.due || !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stderr.Fd()))):
		return errors.New("--ask needs somebody at a terminal")
	case o.due && (o.tasked || o.dryRun || len(o.given) > 0):
		return errors.New("--due goes with neither --task, --check nor --dry-run: the schedule says what to do")
	}
	return nil
}

func (a *app) newRun() *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run",
		Short: "Run one cycle: wake, run, sleep",
		Long: `Run one cycle and exit: read the memory, do the current task with the help of a model,
save the memory.

On a terminal it shows what it does. Otherwise it prints nothing if all is well, and
one line on standard error if not, as suits cron.

Exit codes: 0 done or nothing to do, 1 the cycle or a check of its task failed, 2 configuration or unreadable
memory, 3 a limit came before done, 75 another cycle is awake, 130 or 143 a signal
ended it; the memory is saved in each of these but 2 and 75.`,
		Example: `  rouse run
  rouse run --task 'Summarise the newest file in the workspace'
  rouse run --task 'Write report.csv' --check 'test -s report.csv'
  */15 * * * * /home/me/agent/bin/run.sh`,
		RunE: func(c *cobra.Command, _ []string) error {
			o.tasked = c.Flags().Changed("task")
			err := a.run(o)
			if o.mail && err != nil && !setup.News(a.folder(), a.process(), a.said(err)) {
				return &coded{exitCode(err), nil}
			}
			return err
		},
	}
	c.Flags().StringVar(&o.task, "task", "", "do this first in this cycle")
	c.Flags().StringArrayVar(&o.checks, "check", nil, "test this before the task counts as done: a command for sh, or as in the memory: '{file: report.csv, newer: true}'")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the request that would be sent, and do nothing")
	c.Flags().BoolVar(&o.due, "due", false, "only if the schedule says so: run at most one due slot")
	c.Flags().BoolVar(&o.ask, "ask", false, "answer at once, on this terminal, what a rule of the policy asks about")
	c.Flags().BoolVar(&o.mail, "mail", false, "print what went wrong only where that is news, for cron mails it, and write all of it into logs/due.log")
	c.Flags().BoolVar(&o.json, "json", false, "print the journal's lines as they are written")
	c.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "show nothing but errors")
	return c
}

func (a *app) run(o runOptions) (err error) {
	proc.DropStart()
	a.mirror, a.environ, err = mirror.Take(a.environ)
	if err := cmp.Or(err, o.check()); err != nil {
		return usage(err)
	}
	s, err := a.open()
	if err != nil {
		setup.AlarmAt(a.folder(), a.process(), err)
		return err
	}
	if err := s.Home.Wakes(); err != nil && !o.dryRun {
		return err // who pushed it knows, and nobody is alarmed
	}
	if settled, err := s.Settled(!o.dryRun); settled || err != nil {
		return err
	}
	if o.due {
		err = s.RunDue(func(slot schedule.Slot) setup.Ran {
			o.task, o.given = slot.Task, check.Items(slot.Check)
			return a.cycle(s, o)
		})
	} else {
		err = a.cycle(s, o).Err
	}
	if code := exitCode(err); !o.dryRun && code != exitAwake && code < 128 && !errors.Is(err, mirror.ErrLost) { // whoever sent a signal waits
		report.Send(s)
	}
	return err
}

// cycle runs a cycle and shows it.
func (a *app) cycle(s *setup.Setup, o runOptions) (ran setup.Ran) {
	defer func() { ran.Exit = exitCode(ran.Err) }()
	ag, err := s.Agent()
	if err != nil {
		if !o.dryRun {
			s.Alarm(err)
		}
		return setup.Ran{Err: usage(err)}
	}
	ag.Task = ag.Redact.String(o.task)
	ag.Checks.Task = o.given
	if o.dryRun {
		return setup.Ran{Err: a.dryRun(ag)}
	}
	ctx, stop := untilSignalIn(a.mirror.Context())
	defer stop()
	if o.ask {
		ag.Answer = s.AnswerAt(ctx, os.Stdin, a.stderr)
	}
	show := a.watcher(o)
	events := journal.NewQueue(show.event)
	ag.Watch = thrifty(events.Put)
	ran.Report, ran.Err = ag.RunOnce(ctx)
	if events.Close() {
		show.close(ran.Report)
	}
	if ran.Err == nil {
		ran.Err = reported(ran.Report)
	}
	return ran
}

// thrifty gives back what the wake needed before the first reply is awaited.
func thrifty(put func(journal.Event)) func(journal.Event) {
	asked := false
	return func(e journal.Event) {
		if _, asks := e.Data.(*journal.Request); asks && !asked {
			asked = true
			proc.DropStart()
		}
		put(e)
	}
}

// reported is the error of a cycle that ran but did not end well.
func reported(r agent.Report) error {
	if r.Exit == 0 {
		return nil
	}
	return &coded{r.Exit, fmt.Errorf("cycle %s: %w", r.Cycle, r.Err)}
}

func (a *app) dryRun(ag *agent.Agent) error {
	req, err := ag.Preview()
	if errors.Is(err, agent.ErrWaiting) {
		fmt.Fprintln(a.stdout, "nothing to do: "+err.Error())
		return nil
	}
	if errors.Is(err, agent.ErrIdle) {
		fmt.Fprintln(a.stdout, "nothing to do: no task, nothing pending, no goals; a cycle would ask no model")
		return nil
	}
	if err != nil {
		return err
	}
	a.printRequest(req)
	if ag.Sandbox != "" {
		fmt.Fprintln(a.stdout, "--- sandbox: "+ag.Sandbox)
	}
	if len(ag.Boxes) > 0 {
		fmt.Fprintln(a.stdout, "--- and the tools that need something running, which a dry run does not start: notebooks, MCP servers")
	}
	return nil
}

// watcher shows a cycle as the options ask.
func (a *app) watcher(o runOptions) *progress {
	switch {
	case o.json:
		enc := json.NewEncoder(a.stdout)
		enc.SetEscapeHTML(false)
		return &progress{each: func(e journal.Event) { _ = enc.Encode(e) }}
	case o.quiet:
		return &progress{}
	}
	p := &progress{}
	if t := terminal(a.stderr); t.isTerminal {
		p.err = &t
	}
	if t := terminal(a.stdout); t.isTerminal {
		p.out = &t
	}
	return p
}

// readerGone says whether nobody reads our output any more.
func readerGone() bool {
	streams := []unix.PollFd{{Fd: 1}, {Fd: 2}}
	_, err := unix.Poll(streams, 0)
	return err != nil || (streams[0].Revents|streams[1].Revents)&unix.POLLERR != 0
}

// untilSignal gives a context that the first signal cancels; a second SIGINT ends
// the process as if it had not been caught. A second SIGTERM is the first one told
// twice, by systemd and by the Rouse that started this one, or a shell's SIGHUP and
// the terminal's. A reader of our output that goes away does not end a cycle; it
// cancels where SIGPIPE is in more.
func untilSignal(more ...os.Signal) (context.Context, func()) {
	return untilSignalIn(context.Background(), more...)
}

func untilSignalIn(ctx context.Context, more ...os.Signal) (context.Context, func()) {
	// Caught, not ignored: what is ignored stays so in the tools that we start.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(ctx)
	c := make(chan os.Signal, 1)
	for _, s := range append(more, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) {
		if signal.Ignored(s) { // as nohup does
			continue
		}
		signal.Notify(c, s)
		if s == syscall.SIGTERM || s == syscall.SIGHUP {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	go func() {
		for s := range c {
			if s == syscall.SIGPIPE && !readerGone() {
				continue // it was a child's, such as a server that died
			}
			signal.Stop(c)
			cancel(agent.Signal{Signal: s.(syscall.Signal)})
			return
		}
	}()
	return ctx, func() {
		signal.Stop(c)
		cancel(nil)
	}
}
