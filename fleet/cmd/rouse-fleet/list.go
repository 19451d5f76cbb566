package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"rouse/fleet/store"
	"rouse/internal/text"
)

func (a *app) listVerb() verb {
	var workers bool
	return verb{
		use: "list", short: "list the homes: who has each, how it is, what it needs of you",
		flags: func(f *pflag.FlagSet) { f.BoolVar(&workers, "workers", false, "list who wakes them instead") },
		run: a.in(func(ctx context.Context, s *store.Store, _ []string) (any, string, error) {
			if workers {
				return listWorkers(ctx, s)
			}
			all, err := s.Homes(ctx)
			return all, cmp.Or(homes(all, time.Now()), "no homes yet: rouse-fleet push DIR"), err
		}),
	}
}

func (a *app) statusVerb() verb {
	return verb{
		use: "status [NAME]", short: "say how a home is, what was ordered there, or who wakes homes",
		run: a.in(func(ctx context.Context, s *store.Store, args []string) (any, string, error) {
			if len(args) == 0 {
				return listWorkers(ctx, s)
			}
			h, err := s.Home(ctx, args[0])
			if err != nil {
				return nil, "", fmt.Errorf("%s: %w", args[0], err)
			}
			orders, err := s.NewestOrders(ctx, h.ID, 5)
			return struct {
				store.Home
				Orders []store.Order `json:"orders"`
			}{h, orders}, status(h, orders, time.Now()), err
		}),
	}
}

// table aligns rows.
func table(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(w, text.Join(r, "\t", func(cell string) string { return text.Line(cell, 500) }))
	}
	_ = w.Flush() // into memory
	return strings.TrimRight(b.String(), "\n")
}

// homes is the list of homes, first those that need somebody.
func homes(all []store.Home, now time.Time) string {
	if len(all) == 0 {
		return ""
	}
	well := func(h store.Home) int { return -min(1, len(h.Attention(now))) }
	all = slices.SortedStableFunc(slices.Values(all), func(a, b store.Home) int { return well(a) - well(b) })
	rows := [][]string{{"HOME", "WHERE", "LAST CYCLE", "NEXT", "TODAY", "NEEDS YOU"}}
	for _, h := range all {
		rows = append(rows, []string{h.Name, h.Where(now), lastCycle(h, now), next(h, now), store.Money(h.State.Spent), cmp.Or(text.Line(mends(h.Name).Replace(strings.Join(h.Attention(now), "; ")), 300), "no")})
	}
	return table(rows)
}

// status tells of a home, a line for each thing that there is to say.
func status(h store.Home, orders []store.Order, now time.Time) string {
	rows := [][]string{}
	row := func(name, format string, args ...any) {
		rows = append(rows, []string{name, fmt.Sprintf(format, args...)})
	}
	row("home", "%s, version %d", h.Name, h.Version)
	row("where", "%s, since %s", h.Where(now), clockAt(h.Changed, now))
	for _, why := range h.Attention(now) {
		row("needs you", "%s", text.Line(mends(h.Name).Replace(why), 500))
	}
	if h.State.Waiting > 0 {
		row("", "rouse-fleet approvals %s", h.Name)
	}
	row("last cycle", "%s", strings.TrimSpace(lastCycle(h, now)+" "+h.State.Cycle))
	row("next", "%s", cmp.Or(h.State.Rests, next(h, now)))
	row("tasks", "%d wait", h.State.Pending)
	row("today", "%s spent", store.Money(h.State.Spent))
	if len(h.Needs) > 0 {
		row("labels", "%s, of the worker that wakes it", strings.Join(h.Needs, ", "))
	}
	if len(h.Keys) > 0 {
		row("keys", "%s, of the worker's own", strings.Join(h.Keys, ", "))
	}
	for _, o := range orders {
		became := "waits"
		if o.Done != nil {
			became = fmt.Sprintf("done %s, exit %d: %s", clockAt(*o.Done, now), deref(o.Exit), text.Line(mends(h.Name).Replace(strings.TrimSpace(deref(o.Said))), 160))
		}
		row("order", "%d by %s %s: %s; %s", o.ID, o.By, clockAt(o.Made, now), text.Line(strings.Join(o.Argv, " "), 120), became)
	}
	return table(rows)
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// lastCycle says how it ended, and when.
func lastCycle(h store.Home, now time.Time) string {
	if h.State.Cycle == "" {
		return "none"
	}
	said := cmp.Or(h.State.Outcome, "unknown")
	if h.State.Ended != nil {
		said += " " + clockAt(*h.State.Ended, now)
	}
	return said
}

func next(h store.Home, now time.Time) string {
	switch rests, _, _ := strings.Cut(h.State.Rests, ","); {
	case rests != "":
		return rests
	case h.State.Next == nil:
		return "none"
	}
	return clockAt(*h.State.Next, now)
}

// clockAt is a time for people: today's without the day.
func clockAt(t, now time.Time) string {
	if t = t.Local(); t.Format(time.DateOnly) == now.Local().Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("2 Jan 15:04")
}

// listWorkers lists who wakes homes.
func listWorkers(ctx context.Context, s *store.Store) (any, string, error) {
	all, err := s.Workers(ctx)
	if err != nil || len(all) == 0 {
		return []store.Worker{}, "no worker has been seen: nothing wakes the homes; start one by: rouse-fleet worker", err
	}
	now, rows := time.Now(), [][]string{{"WORKER", "IS", "AWAKE", "LABELS", "PROGRAM", "LISTENS"}}
	for _, w := range all {
		is := "there"
		switch {
		case w.Away(now):
			is = "away since " + clockAt(w.Seen, now)
		case w.Draining:
			is = "draining"
		}
		rows = append(rows, []string{w.Name, is, text.Count(w.Awake, "home"), cmp.Or(strings.Join(w.Labels, ","), "-"), cmp.Or(w.Program, "-"), cmp.Or(w.Listen, "-")})
	}
	return all, table(rows), nil
}
