package setup

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"rouse/agent"
	"rouse/agent/budget"
	"rouse/agent/notify"
	"rouse/agent/pause"
	"rouse/agent/retention"
	"rouse/agent/schedule"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/journal"
)

// Standing is how a home stands that is left alone. Its JSON is that of `rouse status`.
type Standing struct {
	LastSlot *Slot      `json:"last_slot"`
	NextSlot *time.Time `json:"next_slot"`
	// NextWake is when a cycle asked to be woken.
	NextWake *time.Time `json:"next_wake"`
	// Looked is when a person last looked, nil for never, and Slots what became of slots
	// since then but for those that just ran, the newest first.
	Looked *time.Time `json:"looked"`
	Slots  []Slot     `json:"slots"`
	// Holder has the home now, nil where nobody does or it is not to be seen from here,
	// and Leftovers are what a killed cycle left.
	Holder    *Holder          `json:"holder"`
	Leftovers []agent.Leftover `json:"leftovers"`
	// Again is the slot that is tried again next; nil if there is none.
	Again       *Slot           `json:"again,omitempty"`
	Limits      []budget.Use    `json:"limits"`
	Disk        *retention.Size `json:"disk"`
	Kept        Kept            `json:"kept"`
	Undelivered []Undelivered   `json:"undelivered"`
	Problems    []string        `json:"problems"`
	// Origins are where texts of the memory came from.
	Origins []string `json:"origins,omitempty"`
}

// Undelivered is a notification that a sink did not take yet.
type Undelivered struct {
	Kind   string    `json:"kind"`
	Time   time.Time `json:"time"`
	Text   string    `json:"text"`
	Sink   string    `json:"sink"`
	Status string    `json:"status"`
	Error  string    `json:"error"`
}

// StandingOf is the standing of a home that need not be open: what is wrong with
// its configuration is a problem too. newest is its newest cycle, nil for none.
func StandingOf(h home.Home, p Process, newest *agent.Summary) Standing {
	if newest == nil {
		newest = &agent.Summary{}
	}
	s, err := Look(h, p)
	st := newStanding()
	if err == nil {
		st = s.Standing(newest)
		s.addComing(&st, newest)
		if memory, _, err := h.Load(); err == nil && s.Config.Posture != "" {
			st.Origins = agent.Origins(memory)
		}
	}
	st.problem(err)
	st.problem(s.addNight(&st, newest))
	if _, err := h.ReadRules(); err != nil {
		st.problem(agent.Unruled(h, err))
	}
	if _, doubts, err := agent.Verify(h, agent.Checked); err != nil || len(doubts) > 0 {
		st.problem(err)
		for _, doubt := range doubts[:min(1, len(doubts))] {
			st.problem(fmt.Errorf("a journal is damaged or forged: %s; rouse doctor says what to do", doubt))
		}
	}
	if c := CheckSpace(h); !c.OK {
		st.problem(fmt.Errorf("the disk of %s: %s; %s", h.Dir, c.Found, c.Hint))
	}
	return st
}

func newStanding() Standing {
	return Standing{Problems: []string{}, Limits: []budget.Use{}, Undelivered: []Undelivered{}, Slots: []Slot{}, Leftovers: []agent.Leftover{}}
}

// Standing sums up the schedule, the limits, the disk and what people were to be
// told. What cannot be read is a problem too. newest is the newest cycle, nil for
// none, which is not looked for again among thousands; if it failed, the home may be
// left to rest.
func (s *Setup) Standing(newest *agent.Summary) Standing {
	st := newStanding()
	if newest == nil {
		newest = &agent.Summary{}
	}
	st.problem(s.addDistrust(&st, newest.Cycle))
	st.problem(s.Unwalled())
	s.addRhythm(&st, newest)
	st.problem(s.addLimits(&st))
	size, err := s.Retention().Size()
	st.Disk = &size
	st.problem(err)
	st.Kept, err = s.Kept()
	st.problem(err)
	st.problem(s.Home.Room())
	st.problem(s.Unanswered())
	st.problem(s.Unreported())
	st.problem(s.Unsent())
	st.problem(st.addUndelivered(s.Notifier(), s.Now().Add(-tellFor)))
	return st
}

// Glance is what of the standing costs little to know: the schedule, whether the home rests,
// whether calls wait for an answer, and what people could not be told. Nothing is locked for it.
func (s *Setup) Glance(newest *agent.Summary) Standing {
	st := newStanding()
	s.addRhythm(&st, newest)
	st.problem(s.Unanswered())
	st.problem(st.addUndelivered(s.Notifier(), s.Now().Add(-tellFor)))
	return st
}

// addRhythm says what became of slots, which come, and what keeps the home from them.
func (s *Setup) addRhythm(st *Standing, newest *agent.Summary) {
	s.addSlots(st)
	if newest.Outcome == journal.Failed && len(s.Config.Schedule) > 0 {
		if sentence := s.Resting(); sentence != "" {
			st.Problems = append(st.Problems, "the home "+sentence)
		}
	}
}

func (st *Standing) problem(err error) {
	if err != nil && !slices.Contains(st.Problems, err.Error()) {
		st.Problems = append(st.Problems, err.Error())
	}
}

func (s *Setup) addSlots(st *Standing) {
	sum, err := s.Slots().Summary(s.Config.Schedule)
	st.problem(err)
	if sum.Last != nil {
		last := SlotOf(*sum.Last)
		last.Task = agent.VerdictOf(s.Home, last.Cycle)
		st.LastSlot = &last
	}
	if now := s.Now().Round(0); !sum.Next.IsZero() {
		if sum.Next.Before(now) {
			sum.Next = now // a slot that is due, which nobody has woken the home for
		}
		st.NextSlot = &sum.Next
	}
	if !sum.Asked.IsZero() {
		st.NextWake = &sum.Asked
	}
	if sum.Again != nil {
		again := SlotOf(*sum.Again)
		st.Again = &again
	}
	st.Problems = append(st.Problems, sum.Problems...)
	if sum.Blocked != nil {
		st.Problems = append(st.Problems, s.Redactor().String(s.blocked(*sum.Blocked)))
	}
	if why, paused := pause.Paused(s.Home.Stop()); paused {
		st.Problems = append(st.Problems, "the home is paused; go on with rouse resume: "+why)
	}
	if disk.Exists(s.Home.Forgetting()) {
		st.Problems = append(st.Problems, "rouse forget did not come to its end: run it again with the same value")
	}
}

func (s *Setup) addLimits(st *Standing) error {
	if _, err := s.Prices(); err != nil {
		return err
	}
	uses, err := s.Uses()
	st.Limits = append(st.Limits, uses...)
	if err != nil || len(uses) == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), budgetPatience)
	defer cancel()
	b, _ := s.Budget()
	if damage, err := b.Damage(ctx); err == nil && damage != "" {
		st.Problems = append(st.Problems, damage)
	}
	return nil
}

// Uses is how much of the limits of the day and the month is used, nothing before
// the first cycle.
func (s *Setup) Uses() ([]budget.Use, error) {
	b, err := s.Budget()
	if err != nil || b.Limits.Day == (budget.Amount{}) && b.Limits.Month == (budget.Amount{}) {
		return nil, err
	}
	if _, err := os.Stat(s.Home.Logs()); err != nil { // no cycle yet
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), budgetPatience)
	defer cancel()
	return b.Uses(ctx)
}

// tellFor is how long the status speaks of a notification that did not arrive.
const tellFor = 7 * 24 * time.Hour

func (st *Standing) addUndelivered(n *notify.Notifier, since time.Time) error {
	recent, err := n.Recent()
	for _, m := range recent {
		for _, d := range m.Deliveries {
			if d.Status != notify.Sent && m.Event.Time.After(since) {
				st.Undelivered = append(st.Undelivered, Undelivered{m.Event.Kind, m.Event.Time, cmp.Or(m.Event.Subject, m.Event.Text), d.Sink, d.Status, d.Error})
			}
		}
	}
	return err
}

// Slot is what became of one slot, or of several in a row. Its JSON is that of
// `rouse slots`.
type Slot struct {
	Slot   time.Time       `json:"slot"`
	Last   time.Time       `json:"last,omitzero"`
	Count  int             `json:"count"`
	Cron   string          `json:"cron"`
	Status schedule.Status `json:"status"`
	Reason string          `json:"reason"`
	Cycle  string          `json:"cycle"`
	Exit   *int            `json:"exit"`
	Error  string          `json:"error"`
	Time   time.Time       `json:"time"`
	// Attempt counts the cycles of the slot from the second on, and Again is when the
	// slot is tried again.
	Attempt int       `json:"attempt,omitempty"`
	Again   time.Time `json:"again,omitzero"`
	// Task is the verdict of the cycle.
	Task string `json:"task,omitempty"`
}

// Asked is the status of a wake that a cycle asked for and that is yet to come.
const Asked schedule.Status = "asked"

// SlotOf is a slot as people are shown it.
func SlotOf(r schedule.Record) Slot {
	return Slot{r.Slot, r.Last, r.N(), r.Cron, r.Status, r.Reason, r.Cycle, r.Exit, r.Error, r.Time, r.Attempt, r.Again, ""}
}

// NewestSlots are the newest slots, at most limit or with 0 all, the newest first,
// after a wake that a cycle asked for.
func (s *Setup) NewestSlots(limit int) ([]Slot, error) {
	all, err := s.Slots().Slots()
	if err != nil {
		return nil, err
	}
	list := []Slot{}
	for _, r := range slices.Backward(all) {
		slot := SlotOf(r)
		if slot.Cycle != "" {
			slot.Task = agent.VerdictOf(s.Home, slot.Cycle)
		}
		if list = append(list, slot); len(list) == limit {
			break
		}
	}
	sum, err := s.Slots().Summary(s.Config.Schedule)
	if err == nil && !sum.Asked.IsZero() {
		list = slices.Insert(list, 0, Slot{Slot: sum.Asked, Count: 1, Cron: schedule.NextWake, Status: Asked})
	}
	return list, err
}
