package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rouse/agent/schedule"
	"rouse/agent/search"
	"rouse/home"
	"rouse/internal/text"
	"rouse/setup"
	"rouse/setup/report"
)

func (a *app) newReport() *cobra.Command {
	var since string
	c := &cobra.Command{
		Use:   "report [HOME|FOLDER]...",
		Short: "Show on one page what happened while nobody looked",
		Long: `Show what was due and ran, what is proven, what it cost beside what is usual, what changed in memory
and files over all of the time, which hosts were reached and what was refused, what the model
said, what is not as it should be with the command that mends it, and what is due next. No
model is asked. A folder stands for the homes directly in it.

Exit codes: 0, 1 if something cannot be read, 2 usage or configuration.`,
		Example: `  rouse report
  rouse report --since last
  rouse report ~/agents --since 7d --json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return a.report(args, since) },
	}
	c.Flags().StringVar(&since, "since", "24h", "from then on: 24h, 7d, 2026-04-01, a cycle, or last, when a person last looked")
	return a.withJSON(c)
}

func (a *app) report(dirs []string, since string) error {
	homes, err := a.reported(dirs)
	if err != nil {
		return err
	}
	var list []report.Report
	for _, s := range homes {
		r, err := report.Since(s, since)
		if errors.As(err, new(*search.QueryError)) {
			return usage(fmt.Errorf("--%w", err))
		}
		if err != nil {
			return err
		}
		list = append(list, r)
	}
	if a.json {
		return a.printJSON(list)
	}
	for i, r := range list {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		a.printReport(r)
	}
	if terminal(a.stdout).isTerminal {
		for _, s := range homes {
			setup.Looked(s.Home, a.now())
		}
	}
	return nil
}

// reported are the homes that are meant, this one where none is named.
func (a *app) reported(dirs []string) (list []*setup.Setup, err error) {
	if len(dirs) == 0 {
		s, err := a.open()
		return []*setup.Setup{s}, err
	}
	found, err := home.Find(dirs...)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no home in %s: none has rules.md", strings.Join(dirs, ", "))
	}
	for _, dir := range found {
		h, failed := home.Open(dir)
		var s *setup.Setup
		if failed == nil {
			s, failed = setup.Open(h, a.process().Alone().In(h))
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", dir, failed))
		}
		list = append(list, s)
	}
	return list, usage(err)
}

// printReport prints a row or more for each of the questions that a person has in the morning.
func (a *app) printReport(r report.Report) {
	out := terminal(a.stdout)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(a.stdout, "%s %s\n", out.paint(dim, fmt.Sprintf("%-9s", name)), fmt.Sprintf(format, args...))
	}
	fmt.Fprintln(a.stdout, out.paint(bold, r.Home))
	row("time", "%s to %s", clock(r.Since), clock(r.Until))
	if len(r.Slots) > 0 {
		row("slots", "%s  %s", strip(r.Slots, out), slotWords(r.Slots))
	}
	row("cycles", "%s", tally(r.Tally, out))
	for _, c := range r.Cycles {
		if c.Exit != 0 || len(c.Unmet) > 0 {
			row("failed", "%s", text.Line(c.Cycle+"  "+cmp.Or(c.Error, strings.Join(c.Unmet, "; ")), 300))
		}
	}
	row("cost", "%s", costWords(r.Cost))
	for _, u := range r.Limits {
		row("limit", "%s: %s of %s used", u.Name, u.Used, u.Limit)
	}
	for _, f := range r.Files {
		row("file", "%s %s", text.Quoted(f.Path), f.Kind)
	}
	if len(r.Hosts) > 0 {
		row("reached", "%s", text.Join(r.Hosts, ", ", func(c report.Count) string { return fmt.Sprintf("%s %d", text.Line(c.Name, 80), c.Count) }))
	}
	for _, w := range r.Wanted {
		row("wanted", "%s", out.paint(yellow, text.Line(fmt.Sprintf("%s, %s%s", w.What, text.Count(w.Count, "time"), w.Mend), 300)))
	}
	for _, s := range r.Said {
		row(s.Kind, "%s  %s", s.Cycle, text.Line(s.Text, 300))
	}
	for _, p := range r.Problems {
		row("attention", "%s", out.paint(red, text.Line(p, 300)))
	}
	for i, d := range r.Due {
		if i == shownSlots {
			row("", "and %d more until midnight", len(r.Due)-i)
			break
		}
		row("due", "%s  %s  %s", clock(d.Time), d.Cron, text.Line(d.Task, 200))
	}
	if r.Undo != "" {
		row("undo", "rouse rewind %s", r.Undo)
	}
	if len(r.Memory) > 0 {
		row("memory", "over all of the time:")
		a.printDiff(r.Memory, 0)
	}
}

func clock(t time.Time) string { return t.Local().Format("Mon 2006-01-02 15:04") }

// strip is a sign for each of the newest slots: what ran well, what not, what did not run.
func strip(slots []setup.Slot, out screen) string {
	const most = 60
	var b strings.Builder
	for _, s := range slots[max(0, len(slots)-most):] {
		sign, color := ".", ""
		switch {
		case s.Exit != nil && *s.Exit != 0:
			sign, color = "x", red
		case s.Status == schedule.Missed || s.Status == schedule.Unknown:
			sign, color = "!", red
		case s.Status == schedule.Skipped:
			sign = "-"
		case s.Status.Began():
			sign, color = "#", green
		}
		b.WriteString(out.paint(color, sign))
	}
	return b.String()
}

// slotWords counts the slots by what became of them.
func slotWords(slots []setup.Slot) string {
	count, order := map[string]int{}, []string{}
	for _, s := range slots {
		what := string(s.Status)
		if s.Reason != "" {
			what += " (" + text.Line(s.Reason, 40) + ")"
		}
		if count[what] == 0 {
			order = append(order, what)
		}
		count[what] += max(s.Count, 1)
	}
	return text.Join(order, ", ", func(what string) string { return fmt.Sprintf("%d %s", count[what], what) })
}

func tally(t report.Tally, out screen) string {
	line := fmt.Sprint(t.Cycles)
	for _, n := range []struct {
		count int
		color string
		word  string
	}{
		{t.Proven, green, "proven"}, {t.Claimed, "", "claimed"}, {t.Failed, red, "failed"}, {t.Idle, "", "idle or waiting"},
		{t.Told, red, "not told of"}, {t.Calls, yellow, "failed calls"}, {t.Refused, yellow, "refused calls"},
	} {
		if n.count > 0 {
			line += "  " + out.paint(n.color, fmt.Sprintf("%d %s", n.count, n.word))
		}
	}
	return line
}

func costWords(c report.Cost) string {
	line := fmt.Sprintf("%d tokens in %s, %s", c.Input+c.Output, text.Count(c.Requests, "request"), text.Count(c.Calls, "call"))
	if c.Money != nil {
		line += fmt.Sprintf(", %.4f %s", float64(*c.Money)/1e9, c.Currency)
	}
	if u := c.Usual; u != nil {
		line += fmt.Sprintf("; usual for so long: %d tokens", u.Tokens)
		if u.Money != nil {
			line += fmt.Sprintf(", %.4f %s", float64(*u.Money)/1e9, c.Currency)
		}
	}
	return line
}
