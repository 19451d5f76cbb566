package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"rouse/agent/budget"
	"rouse/agent/config"
	"rouse/agent/notify"
	"rouse/agent/pause"
	"rouse/agent/retention"
	"rouse/home"
	"rouse/internal/text"
)

// standing is what `rouse status` says of a home that is left alone.
type standing struct {
	LastSlot *slot      `json:"last_slot"`
	NextSlot *time.Time `json:"next_slot"`
	// NextWake is when a cycle asked to be woken.
	NextWake *time.Time      `json:"next_wake"`
	Limits   []use           `json:"limits"`
	Disk     *retention.Size `json:"disk"`
	// Undelivered are notifications that a sink did not take yet.
	Undelivered []undelivered `json:"undelivered"`
	Problems    []string      `json:"problems"`
}

// use is how much of a limit is used.
type use struct {
	Name  string `json:"name"`
	Used  string `json:"used"`
	Limit string `json:"limit"`
}

type undelivered struct {
	Kind   string    `json:"kind"`
	Time   time.Time `json:"time"`
	Text   string    `json:"text"`
	Sink   string    `json:"sink"`
	Status string    `json:"status"`
	Error  string    `json:"error"`
}

// standing sums up the schedule, the limits, the disk and what people were to be
// told. What cannot be read is a problem too. failed says that the newest cycle
// failed, so that the home may be left to rest.
func (a *app) standing(h home.Home, failed bool) standing {
	s := standing{Problems: []string{}, Limits: []use{}, Undelivered: []undelivered{}}
	conf, err := config.Load(h.Config(), a.getenv)
	if err != nil {
		s.problem(err)
		return s
	}
	a.addSlots(&s, h, conf)
	if failed && len(conf.Schedule) > 0 {
		if sentence := a.resting(h, int(conf.Failures.PauseAfter)); sentence != "" {
			s.Problems = append(s.Problems, "the home "+sentence)
		}
	}
	a.addLimits(&s, h, conf)
	size, err := a.shelfLife(h, conf).Size()
	s.Disk = &size
	s.problem(err)
	s.problem(s.addUndelivered(a.notifier(h, conf, nil, nil), a.now().Add(-tellFor)))
	return s
}

func (s *standing) problem(err error) {
	if err != nil {
		s.Problems = append(s.Problems, err.Error())
	}
}

func (a *app) addSlots(s *standing, h home.Home, conf config.Config) {
	sum, err := a.ledger(h).Summary(conf.Schedule)
	s.problem(err)
	if sum.Last != nil {
		last := slotOf(*sum.Last)
		s.LastSlot = &last
	}
	if !sum.Next.IsZero() {
		s.NextSlot = &sum.Next
	}
	if !sum.Asked.IsZero() {
		s.NextWake = &sum.Asked
	}
	s.Problems = append(s.Problems, sum.Problems...)
	if why, paused := pause.Paused(h.Dir); paused {
		s.Problems = append(s.Problems, "the home is paused; go on with rouse resume: "+why)
	}
}

func (a *app) addLimits(s *standing, h home.Home, conf config.Config) {
	prices, err := budget.LoadPrices(pricesOf(h))
	s.problem(err)
	b := budgetOf(h, conf, prices, a.now)
	if b.Limits.Day == (budget.Amount{}) && b.Limits.Month == (budget.Amount{}) {
		return
	}
	if _, err := os.Stat(h.Logs()); err != nil { // no cycle yet
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), budgetPatience)
	defer cancel()
	uses, err := b.Uses(ctx)
	s.problem(err)
	for _, u := range uses {
		s.Limits = append(s.Limits, use(u))
	}
	if damage, err := b.Damage(ctx); err == nil && damage != "" {
		s.Problems = append(s.Problems, damage)
	}
}

// tellFor is how long the status speaks of a notification that did not arrive.
const tellFor = 7 * 24 * time.Hour

func (s *standing) addUndelivered(n *notify.Notifier, since time.Time) error {
	recent, err := n.Recent()
	for _, m := range recent {
		for _, d := range m.Deliveries {
			if d.Status != notify.Sent && m.Event.Time.After(since) {
				s.Undelivered = append(s.Undelivered, undelivered{m.Event.Kind, m.Event.Time, m.Event.Text, d.Sink, d.Status, d.Error})
			}
		}
	}
	return err
}

// print shows what there is to say, a row each.
func (s standing) print(out screen, row func(name, value string)) {
	if s.LastSlot != nil {
		row("last slot", s.LastSlot.line(out))
	}
	if s.NextSlot != nil {
		by := ""
		if s.NextWake != nil && s.NextWake.Equal(*s.NextSlot) {
			by = " (asked for by a cycle)"
		}
		row("next slot", s.NextSlot.Local().Format("2006-01-02 15:04:05 -0700")+by)
	}
	for _, u := range s.Limits {
		row("limit", fmt.Sprintf("%s: %s of %s used", u.Name, u.Used, u.Limit))
	}
	if s.Disk != nil && s.Disk.Cycles > 0 {
		row("disk", fmt.Sprintf("%d cycles: logs %s, snapshots %s", s.Disk.Cycles, megabytes(s.Disk.Logs), megabytes(s.Disk.Snapshots)))
	}
	for _, u := range s.Undelivered {
		how := u.Status
		if u.Error != "" {
			how += ", " + strings.TrimRight(u.Error, ": ")
		}
		line := fmt.Sprintf("not told by %s (%s): %s: %s", u.Sink, how, u.Kind, u.Text)
		row("attention", out.paint(red, text.Line(line, 300)))
	}
	for _, p := range s.Problems {
		row("attention", out.paint(red, text.Line(p, 300)))
	}
}

func megabytes(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", (n+1023)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
