package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"rouse/agent"
	"rouse/agent/budget"
	"rouse/agent/replay"
	"rouse/agent/search"
	"rouse/internal/text"
	"rouse/setup"
)

// replayOptions are the flags of replay.
type replayOptions struct {
	since, rules, model, money string
	yes                        bool
}

func (a *app) newReplay() *cobra.Command {
	var o replayOptions
	c := &cobra.Command{
		Use:   "replay [CYCLE]",
		Short: "Run a recorded cycle again, or ask what other rules or another model would do",
		Long: `Run a recorded cycle again, by default the newest one, with its recorded replies, results, rules
and tools, in a temporary home: nobody is asked and nothing is carried out. Its actions, the
memory and _after are compared byte for byte; the first difference is printed.

With --rules or --model, put each request of the cycle to a model again, with the past as it was
recorded but under these rules, or to this model, and print where it would do something else.
Nothing is carried out. What that costs is estimated first, and it is done only with --yes;
it counts in the limits of the day and the month.

Exit codes: 0 the same, or all was asked; 1 not the same, no such cycle or the model failed;
2 it cannot be replayed, or usage; 3 stopped at --max-money or another limit; 130 and 143
ended by a signal.`,
		Example: `  rouse replay
  rouse replay --since 7d
  rouse replay --since 7d --rules new.md
  rouse replay 20260401_150154 --model gpt-5 --max-money 0.50 --yes`,
		Args: func(_ *cobra.Command, args []string) error {
			if o.since != "" && len(args) > 0 {
				return errors.New("name a cycle, or give --since")
			}
			return cobra.MaximumNArgs(1)(nil, args)
		},
		RunE: in(a.open, func(s *setup.Setup, args []string) error {
			ids, err := a.replayed(s, args, o.since)
			if err != nil {
				return err
			}
			ctx, stop := untilSignal(syscall.SIGPIPE)
			defer stop()
			if o.rules+o.model == "" {
				return interrupted(ctx, a.replay(ctx, s, ids, o))
			}
			return interrupted(ctx, a.decide(ctx, s, ids, o))
		}),
	}
	c.Flags().StringVar(&o.since, "since", "", "all cycles since then: 36h, 7d, 2026-04-01 or a cycle")
	c.Flags().StringVar(&o.rules, "rules", "", "ask under the rules in this `FILE`")
	c.Flags().StringVar(&o.model, "model", "", "ask the model of this `NAME`: one of model.fallback, or another one of the home's server")
	c.Flags().StringVar(&o.money, "max-money", "", "spend no more than so much, as prices.yaml has it")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "ask")
	return a.withJSON(c)
}

// replayed are the cycles that are meant, the oldest first.
func (a *app) replayed(s *setup.Setup, args []string, since string) ([]string, error) {
	if since == "" {
		id, err := pickCycle(s.Home, args)
		return []string{id}, err
	}
	first, err := search.Since(since, a.now())
	if err != nil {
		return nil, usage(fmt.Errorf("--%w", err))
	}
	ids, err := s.Home.Cycles(0)
	ids = slices.DeleteFunc(ids, func(id string) bool { return id < first })
	slices.Reverse(ids)
	return ids, err
}

func (a *app) replay(ctx context.Context, s *setup.Setup, ids []string, o replayOptions) error {
	if o.money != "" || o.yes {
		return usage(errors.New("--max-money and --yes are for --rules and --model: nobody is asked else"))
	}
	list, code := []replay.Replayed{}, 0
	for _, id := range ids {
		r, err := s.Replay(ctx, id)
		if o.since != "" && errors.Is(err, agent.ErrRewind) {
			continue
		}
		if errors.As(err, new(*replay.Impossible)) {
			code = cmp.Or(code, exitUsage)
			if o.since == "" {
				return usage(err)
			}
			fmt.Fprintf(a.stderr, "rouse: %s\n", a.said(err))
			continue
		}
		if err != nil {
			return err
		}
		list = append(list, r)
		if !r.Same {
			code = exitFailed
		}
		if !a.json {
			a.printReplayed(r)
		}
	}
	if a.json {
		if err := a.printJSON(list); err != nil {
			return err
		}
	}
	return coding(code)
}

// coding is an exit code whose reason is said already.
func coding(code int) error {
	if code == 0 {
		return nil
	}
	return &coded{code: code}
}

func (a *app) printReplayed(r replay.Replayed) {
	if !r.Same {
		fmt.Fprintf(a.stdout, "cycle %s comes to something else: %s\n", r.Cycle, text.Block(r.First.String()))
		return
	}
	fmt.Fprintf(a.stdout, "cycle %s comes to the same: %s in %s, the memory and _after\n", r.Cycle, text.Count(r.Actions, "action"), text.Count(r.Iterations, "iteration"))
	if r.Requests > 0 {
		fmt.Fprintf(a.stdout, "%s would be worded otherwise today\n", text.Count(r.Requests, "request"))
	}
}

// decide asks what other rules or another model would do.
func (a *app) decide(ctx context.Context, s *setup.Setup, ids []string, o replayOptions) error {
	list, e, err := a.questions(s, ids, o)
	if err != nil {
		return err
	}
	if !a.json {
		a.printEstimate(e)
	}
	if !o.yes || len(list) == 0 {
		if a.json {
			return a.printJSON([]replay.Estimate{e})
		}
		fmt.Fprintln(a.stdout, "nothing is asked yet; --yes does it")
		return nil
	}
	decisions, code := []replay.Decision{}, 0
	for _, q := range list {
		d, err := replay.Decide(ctx, s.Home, q)
		if err != nil {
			fmt.Fprintf(a.stderr, "rouse: %s\n", a.said(err))
			code = exitLimit
			break
		}
		decisions = append(decisions, d)
		if d.Verdict == replay.Unasked {
			code = exitFailed
		}
		if !a.json {
			a.printDecision(d)
		}
	}
	if a.json {
		err = a.printJSON(decisions)
	} else {
		a.printDecisions(decisions, e.Currency)
	}
	return cmp.Or(err, coding(code))
}

// questions are what is to be asked, with what that costs. More than may be spent is
// not begun.
func (a *app) questions(s *setup.Setup, ids []string, o replayOptions) (list []replay.Question, e replay.Estimate, err error) {
	var rules []byte
	if o.rules != "" {
		if rules, err = os.ReadFile(o.rules); err == nil && len(rules) == 0 {
			err = fmt.Errorf("%s is empty", o.rules)
		}
	}
	var most budget.Money
	if err == nil && o.money != "" {
		if most, err = budget.ParseMoney(o.money); err == nil && most <= 0 {
			err = fmt.Errorf("--max-money %s: use an amount above 0", o.money)
		}
	}
	if err != nil {
		return nil, e, usage(err)
	}
	list, missing, err := s.Questions(ids, string(rules), o.model, most)
	if err != nil {
		return nil, e, usage(err)
	}
	for _, problem := range missing {
		if len(ids) == 1 {
			return nil, e, usage(problem)
		}
		fmt.Fprintf(a.stderr, "rouse: %s\n", a.said(problem))
	}
	prices, err := s.Prices()
	if e = replay.Estimated(list, prices.Currency); most > 0 && *e.Money > most {
		err = &coded{exitLimit, fmt.Errorf("it would cost about %s %s, and --max-money is %s; nothing is asked", *e.Money, e.Currency, most)}
	}
	return list, e, err
}

func (a *app) printEstimate(e replay.Estimate) {
	cost := "no price in prices.yaml"
	if e.Money != nil {
		cost = fmt.Sprintf("about %s %s, at most %s", *e.Money, e.Currency, *e.AtMost)
	}
	fmt.Fprintf(a.stdout, "%s of %s: about %d tokens asked and %d answered; %s\n", text.Count(e.Requests, "request"), text.Count(e.Cycles, "cycle"), e.Input, e.Output, cost)
}

// verdict is what is printed of a decision's.
func verdict(is string) string {
	switch is {
	case replay.Arguments:
		return "the same with other arguments"
	case replay.Unasked:
		return "not asked"
	}
	return is
}

// printDecision prints a decision that is not the same.
func (a *app) printDecision(d replay.Decision) {
	if d.Verdict == replay.Same {
		return
	}
	actions := func(list []replay.Action) string {
		return cmp.Or(text.Join(list, "; ", replay.Action.String), "no action")
	}
	fmt.Fprintf(a.stdout, "cycle %s, iteration %d: %s\n  recorded %s\n", d.Cycle, d.Iteration, verdict(d.Verdict), actions(d.Recorded))
	if d.Problem != "" {
		fmt.Fprintf(a.stdout, "  now      %s\n", text.Line(d.Problem, 300))
		return
	}
	fmt.Fprintf(a.stdout, "  now      %s\n", actions(d.Now))
}

func (a *app) printDecisions(list []replay.Decision, currency string) {
	count, money := map[string]int{}, budget.Money(0)
	for _, d := range list {
		count[d.Verdict]++
		money += d.Money
	}
	fmt.Fprintf(a.stdout, "%s: %d the same, %d with other arguments, %d another, %d not asked; %s %s\n",
		text.Count(len(list), "decision"), count[replay.Same], count[replay.Arguments], count[replay.Another], count[replay.Unasked], money, currency)
}
