// Package report says what happened in a home since a moment, on one page and without a
// model: what was due and ran, what is proven, what it cost, what changed in memory and
// files, what was reached, what was refused, and what is not as it should be.
package report

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"time"

	"rouse/agent"
	"rouse/agent/budget"
	"rouse/agent/history"
	"rouse/agent/notify"
	"rouse/agent/schedule"
	"rouse/agent/search"
	"rouse/home"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/setup"
)

// Report is what happened in a home. Its JSON is that of `rouse report`.
type Report struct {
	Home  string    `json:"home"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Slots are those that were due, the oldest first, and Cycles those that began, too.
	Slots  []setup.Slot    `json:"slots"`
	Cycles []agent.Summary `json:"cycles"`
	Tally  Tally           `json:"tally"`
	Cost   Cost            `json:"cost"`
	Limits []budget.Use    `json:"limits"`
	// Memory is what changed over all of the time, key by key, and Files in the workspace.
	Memory []scratchpad.Difference `json:"memory"`
	Files  []File                  `json:"files"`
	// Hosts were reached, Wanted was refused.
	Hosts  []Count  `json:"hosts"`
	Wanted []Wanted `json:"wanted"`
	Said   []Said   `json:"said"`
	// Problems say what is not as it should be, with what mends it.
	Problems []string `json:"problems"`
	Due      []Due    `json:"due"` // until the end of the next day
	// Undo is the cycle to before which a rewind takes all of it back, "" without any.
	Undo string `json:"undo"`
}

// Tally counts the cycles, by the verdict on their task, and their calls.
type Tally struct {
	Cycles  int `json:"cycles"`
	Proven  int `json:"proven"`
	Claimed int `json:"claimed"`
	Failed  int `json:"failed"` // whose task or process failed
	Idle    int `json:"idle"`   // that found nothing to do, or wait
	Told    int `json:"untold"` // of which people could not be told
	Calls   int `json:"calls_failed"`
	Refused int `json:"calls_refused"`
}

// Cost is what the cycles used, and what is usual for so long a time: the mean of the
// week before.
type Cost struct {
	budget.Row
	Money    *budget.Money `json:"money"` // nil where a model has no price
	Currency string        `json:"currency"`
	Usual    *Usual        `json:"usual"` // nil where there was nothing then
}

// Usual is what cycles use else.
type Usual struct {
	Tokens int64         `json:"tokens"`
	Money  *budget.Money `json:"money"`
}

// File is one that changed.
type File struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
}

// Count is how often something was there.
type Count struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// Wanted is what the sandbox refused, and the line that would allow it.
type Wanted struct {
	What  string `json:"what"`
	Count int    `json:"count"`
	Mend  string `json:"mend"`
}

// Said is what the model noted, or said when it was done.
type Said struct {
	Cycle string `json:"cycle"`
	Kind  string `json:"kind"` // note or done
	Text  string `json:"text"`
}

// Due is a slot to come.
type Due struct {
	Time time.Time `json:"time"`
	Cron string    `json:"cron"`
	Task string    `json:"task"`
}

// Since reports on a home since a moment: a length of time before now, a day, a cycle, or
// "last", when a person last looked at it.
func Since(s *setup.Setup, moment string) (Report, error) {
	if moment == "last" {
		moment = "24h"
		if info, err := os.Stat(s.Home.Looked()); err == nil {
			moment = info.ModTime().Format(home.CycleForm)
		}
	}
	since, err := search.Since(cmp.Or(moment, "24h"), s.Now())
	if err != nil {
		return Report{}, err
	}
	return of(s, since)
}

// of reports on a home since a cycle, or the moment that its id would have.
func of(s *setup.Setup, since string) (Report, error) {
	r := Report{Home: s.Home.Dir, Until: s.Now(), Slots: []setup.Slot{}, Cycles: []agent.Summary{}, Memory: []scratchpad.Difference{}, Files: []File{}, Hosts: []Count{}, Wanted: []Wanted{}, Said: []Said{}, Problems: []string{}, Due: []Due{}}
	var err error
	if r.Since, err = time.ParseInLocation(home.CycleForm, since, time.Local); err != nil {
		return r, err
	}
	h := s.Home.AtOnce()
	if err := r.addCycles(h, since); err != nil {
		return r, err
	}
	if err := r.addCost(s, since); err != nil {
		return r, err
	}
	if err := r.addSaid(h); err != nil {
		return r, err
	}
	r.addChanges(h)
	r.addSlots(s)
	r.addStanding(s)
	return r, nil
}

// addCycles adds the cycles, the oldest first.
func (r *Report) addCycles(h home.Home, since string) error {
	ids, err := h.Cycles(0)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(ids, func(id string) bool { return id < since })
	if n < 0 {
		n = len(ids)
	}
	if n == 0 {
		return nil
	}
	list, err := agent.Verdicts(h, n)
	slices.Reverse(list)
	r.Cycles = append(r.Cycles, list...)
	for _, c := range list {
		r.Tally.add(c)
		for _, refused := range c.Sandbox {
			r.want(h, refused)
		}
	}
	return err
}

func (t *Tally) add(c agent.Summary) {
	if c.Rewound != "" {
		return
	}
	t.Cycles++
	t.Calls, t.Refused = t.Calls+c.Failed, t.Refused+c.Refused
	if c.Delivery == notify.Undelivered {
		t.Told++
	}
	switch {
	case c.Exit != 0 || c.Task == journal.TaskFailed || c.Outcome == agent.Interrupted:
		t.Failed++
	case c.Task == journal.TaskProven:
		t.Proven++
	case c.Task == journal.TaskClaimed:
		t.Claimed++
	case c.Outcome == journal.Idle || c.Outcome == journal.Waiting:
		t.Idle++
	}
}

func (r *Report) want(h home.Home, refused journal.Refusal) {
	i := slices.IndexFunc(r.Wanted, func(w Wanted) bool { return w.What == refused.What })
	if i < 0 {
		i, r.Wanted = len(r.Wanted), append(r.Wanted, Wanted{What: refused.What, Mend: agent.Mend(h, refused.What)})
	}
	r.Wanted[i].Count += refused.Count
}

// addCost adds what the cycles used, and what those of the week before did.
func (r *Report) addCost(s *setup.Setup, since string) error {
	prices, err := s.Prices()
	if err != nil {
		return err
	}
	const week = 7 * 24 * time.Hour
	rows, err := budget.Usage(s.Home, "cycle", s.ModelName(), prices, r.Since.Add(-week).Format(home.CycleForm))
	if err != nil {
		return err
	}
	n, _ := slices.BinarySearchFunc(rows, since, func(r budget.Row, id string) int { return cmp.Compare(r.Key, id) })
	now, before := budget.Total(rows[n:]), budget.Total(rows[:n])
	r.Cost = Cost{Row: now, Currency: prices.Currency}
	if now.Priced {
		r.Cost.Money = &now.Money
	}
	if n > 0 {
		share := float64(r.Until.Sub(r.Since)) / float64(week)
		u := &Usual{Tokens: int64(float64(before.Input+before.Output) * share)}
		if money := budget.Money(float64(before.Money) * share); before.Priced {
			u.Money = &money
		}
		r.Cost.Usual = u
	}
	r.Limits, err = s.Uses()
	return err
}

// addChanges adds what became of memory and files. What is not kept any more is said.
func (r *Report) addChanges(h home.Home) {
	slept := slices.DeleteFunc(slices.Clone(r.Cycles), func(c agent.Summary) bool {
		return c.Outcome == agent.Awake || c.Outcome == agent.Interrupted
	})
	if len(slept) == 0 {
		return
	}
	first, last := slept[0].Cycle, slept[len(slept)-1].Cycle
	r.Undo = first
	was, err := h.LoadFile(h.Before(first))
	if err == nil {
		var is *scratchpad.State
		if is, err = h.LoadFile(h.After(last)); err == nil {
			r.Memory = slices.DeleteFunc(append(r.Memory, scratchpad.Diff(was, is)...), func(d scratchpad.Difference) bool { return d.Key == "last_updated" })
		}
	}
	r.problem(err)
	files, err := agent.Files(h, first, last)
	if !errors.Is(err, history.ErrNone) {
		r.problem(err)
	}
	for _, c := range files {
		r.Files = append(r.Files, File{c.Path, c.Kind()})
	}
}

func (r *Report) problem(err error) {
	if err != nil {
		r.Problems = append(r.Problems, err.Error())
	}
}

// addSlots adds what became of the schedule, and what is to come.
func (r *Report) addSlots(s *setup.Setup) {
	all, err := s.Slots().Slots()
	r.problem(err)
	verdicts := map[string]string{}
	for _, c := range r.Cycles {
		verdicts[c.Cycle] = c.Task
	}
	for _, record := range all {
		if slot := setup.SlotOf(record); !record.Time.Before(r.Since) {
			slot.Task = verdicts[slot.Cycle]
			r.Slots = append(r.Slots, slot)
		}
	}
	y, m, d := r.Until.Date()
	end := time.Date(y, m, d+1, 0, 0, 0, 0, r.Until.Location())
	for _, e := range s.Config.Schedule {
		for t := range e.Between(r.Until, end) {
			if r.Due = append(r.Due, Due{t, e.Cron, e.Task}); len(r.Due) == mostDue*len(s.Config.Schedule) {
				break
			}
		}
	}
	slices.SortStableFunc(r.Due, func(a, b Due) int { return a.Time.Compare(b.Time) })
	r.Due = r.Due[:min(mostDue, len(r.Due))]
}

// mostDue is how many slots to come are named.
const mostDue = 50

// addStanding adds what is not as it should be.
func (r *Report) addStanding(s *setup.Setup) {
	var newest *agent.Summary
	if list, err := agent.Verdicts(s.Home, 1); err == nil && len(list) > 0 {
		newest = &list[0]
	}
	st := setup.StandingOf(s.Home, s.Process, newest)
	r.Problems = append(r.Problems, st.Problems...)
	for _, u := range st.Undelivered {
		r.Problems = append(r.Problems, "not told by "+u.Sink+" ("+u.Status+"): "+u.Kind+": "+u.Text)
	}
	for _, slot := range r.Slots {
		if slot.Status == schedule.Missed || slot.Status == schedule.Unknown {
			r.Problems = append(r.Problems, "slots were missed: rouse slots --all says which")
			break
		}
	}
}
