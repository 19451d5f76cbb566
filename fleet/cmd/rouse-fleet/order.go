package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rouse/fleet/store"
	"rouse/internal/clock"
	"rouse/internal/text"
)

// orderHelp is said of each verb that orders.
const orderHelp = `
It is an order: whoever wakes the home does it once, while no cycle is awake there, and what it said and its
exit code are said here. Where it is not done in time it stays ordered, and the exit code is 75; rouse-fleet
status NAME says later what became of it.
`

// orders are the verbs that have a worker run a command of rouse in a home.
func (a *app) orderVerbs() []verb {
	var task string
	var checks []string
	tested := func(f *pflag.FlagSet) {
		f.StringArrayVar(&checks, "check", nil, "test this before the task counts as done, as rouse tell --check")
	}
	return []verb{
		a.order("run NAME", "have a cycle run now", func(f *pflag.FlagSet) {
			f.StringVar(&task, "task", "", "give the agent this task before")
		}, func([]string) []string {
			if task == "" {
				return []string{"run"}
			}
			return []string{"run", "--task", task}
		}),
		a.order("tell NAME TEXT...", "give the agent a task", tested, func(args []string) []string {
			argv := []string{"tell"}
			for _, c := range checks {
				argv = append(argv, "--check="+c)
			}
			return append(argv, "--", strings.Join(args, " "))
		}),
		a.order("approve NAME ID...", "let calls be carried out, once", nil, func(ids []string) []string {
			return append([]string{"approvals", "approve", "--"}, ids...)
		}),
		a.order("deny NAME ID [REASON...]", "refuse a call; the agent is told why", nil, func(args []string) []string {
			return []string{"approvals", "deny", "--why=" + strings.Join(args[1:], " "), "--", args[0]}
		}),
		a.order("pause NAME [REASON...]", "wake it no more, until it is resumed", nil, func(args []string) []string {
			return []string{"pause", "--", cmp.Or(strings.Join(args, " "), "paused by rouse-fleet")}
		}),
		a.order("resume NAME", "end the pause, or a rest after failures", nil, func([]string) []string { return []string{"resume"} }),
		a.order("do NAME -- ARGV...", "run another command of rouse in a home: do NAME -- rewind CYCLE --yes", nil, slices.Clone[[]string]),
	}
}

// order is a verb that orders what argv makes of its arguments behind the name.
func (a *app) order(use, short string, more func(*pflag.FlagSet), argv func(args []string) []string) verb {
	var leave bool
	patience := time.Minute
	return verb{
		use: use, short: short, long: orderHelp,
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&leave, "no-wait", false, "order it, and print the number of the order")
			f.DurationVar(&patience, "wait", patience, "how long to wait until it is done")
			if more != nil {
				more(f)
			}
		},
		run: a.in(func(ctx context.Context, s *store.Store, args []string) (any, string, error) {
			o, err := place(ctx, s, args[0], argv(args[1:]), nil)
			if err != nil || leave {
				return o, fmt.Sprint(o.ID), err
			}
			o, why, err := became(ctx, s, args[0], o, patience)
			if err != nil || o.Done == nil {
				return nil, "", cmp.Or(err, error(coded{exitAwake, errors.New(why)}))
			}
			return a.did(args[0], o)
		}),
	}
}

// place orders something in a home that workers wake.
func place(ctx context.Context, s *store.Store, name string, argv []string, input []byte) (o store.Order, err error) {
	h, err := s.Home(ctx, name)
	if err == nil && h.Holder != "" && h.Until == nil {
		return o, &store.Held{Home: h}
	}
	o = store.Order{Argv: argv}
	if err == nil {
		o.ID, err = s.Order(ctx, name, argv, input)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return o, err
}

// became waits until an order is done; why says what it waits for where it is not.
func became(ctx context.Context, s *store.Store, name string, o store.Order, patience time.Duration) (_ store.Order, why string, err error) {
	h, err := s.Home(ctx, name)
	all, failed := s.Workers(ctx)
	if err = cmp.Or(err, failed); err != nil {
		return o, "", err
	}
	why = fmt.Sprintf("%s is %s", name, h.Where(time.Now()))
	if !slices.ContainsFunc(all, func(w store.Worker) bool { return w.Takes(h, time.Now()) }) {
		why, patience = "no worker is there", 0
		if len(h.Needs) > 0 {
			why += " with " + strings.Join(h.Needs, ", ")
		}
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	o, err = result(waiting, s, o.ID)
	if h, failed := s.Home(ctx, name); o.Done == nil && failed == nil && h.State.Problem != "" {
		why += ", and " + text.Line(mends(name).Replace(h.State.Problem), 300)
	}
	return o, fmt.Sprintf("%s: it stays ordered, as %d", why, o.ID), err
}

// did says what became of an order that is done: its exit code is that of this program.
func (a *app) did(name string, o store.Order) (any, string, error) {
	said := mends(name).Replace(strings.TrimSpace(deref(o.Said)))
	if deref(o.Exit) == 0 {
		return o, said, nil
	}
	if a.json {
		_ = a.print(o, "") // the exit code says it too
	} else {
		fmt.Fprintln(os.Stderr, text.Block(said))
	}
	return nil, "", coded{code: deref(o.Exit)}
}

// result waits until an order is done; at the end of ctx it is what it then is.
func result(ctx context.Context, s *store.Store, id int64) (store.Order, error) {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		o, err := s.OrderOf(context.WithoutCancel(ctx), id)
		if err != nil || o.Done != nil || !clock.Pause(ctx, wait) {
			return o, err
		}
	}
}

func (a *app) moveVerb() verb {
	var needs []string
	var to string
	return verb{
		use: "move NAME", short: "say which workers may wake a home: those with some labels, or one",
		long: "\nWithout --needs and --to, any may. A cycle that is awake ends where it is.\n",
		flags: func(f *pflag.FlagSet) {
			f.StringSliceVar(&needs, "needs", nil, "labels that the worker must have")
			f.StringVar(&to, "to", "", "the worker")
		},
		run: a.in(func(ctx context.Context, s *store.Store, args []string) (any, string, error) {
			if to != "" {
				needs = append(needs, store.OnWorker(to))
			}
			err := s.Move(ctx, args[0], needs)
			h, failed := s.Home(ctx, args[0])
			all, unread := s.Workers(ctx)
			if err = cmp.Or(err, failed, unread); err != nil {
				return nil, "", fmt.Errorf("%s: %w", args[0], err)
			}
			said := fmt.Sprintf("%s is woken by %s", h.Name, cmp.Or(strings.Join(needs, ", "), "any worker"))
			if !slices.ContainsFunc(all, func(w store.Worker) bool { return w.Takes(h, time.Now()) }) {
				said += "; no such worker is there"
			}
			return h, said, nil
		}),
	}
}

func (a *app) drainVerb() verb {
	var off bool
	return verb{
		use: "drain WORKER", short: "have a worker take no more homes",
		flags: func(f *pflag.FlagSet) { f.BoolVar(&off, "off", false, "have it take homes again") },
		run: a.in(func(ctx context.Context, s *store.Store, args []string) (any, string, error) {
			err := s.Drain(ctx, args[0], !off)
			if errors.Is(err, store.ErrNone) {
				err = fmt.Errorf("no worker %s has been seen: see rouse-fleet list --workers", args[0])
			}
			said := args[0] + " takes no more homes; cycles that are awake there end as they would"
			if off {
				said = args[0] + " takes homes again"
			}
			return map[string]any{"worker": args[0], "draining": !off}, said, err
		}),
	}
}
