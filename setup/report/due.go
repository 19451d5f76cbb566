package report

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"rouse/agent"
	"rouse/agent/schedule"
	"rouse/internal/text"
	"rouse/scratchpad/origin"
	"rouse/setup"
)

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
		if next := e.Next(r.Until); next.After(end) { // nothing more until midnight
			r.Due = append(r.Due, Due{next, e.Cron, e.Task})
		}
	}
}

// mostDue is how many slots to come are named.
const mostDue = 50

// addStanding adds what is not as it should be, where texts came from, and the wakes to come that
// no schedule names.
func (r *Report) addStanding(s *setup.Setup, from map[string]int) {
	var newest *agent.Summary
	if list, err := agent.Verdicts(s.Home, 1); err == nil && len(list) > 0 {
		newest = &list[0]
	}
	st := setup.StandingOf(s.Home, s.Process, newest)
	for _, p := range st.Problems {
		if p == r.Unread {
			p = "nothing runs, and what is due is not known: " + p
		}
		r.problem(errors.New(p))
	}
	for _, l := range st.Leftovers {
		r.problem(fmt.Errorf("pid %d (%s), which the killed cycle %s left, still runs; end it with rouse reap", l.PID, text.Line(l.Name, 40), l.Cycle))
	}
	for _, said := range untold(st.Undelivered) {
		r.problem(errors.New(said))
	}
	for _, slot := range r.Slots {
		if slot.Status == schedule.Missed || slot.Status == schedule.Unknown {
			r.problem(errors.New("slots were missed: rouse slots --all says which"))
			break
		}
	}
	for _, name := range origin.Set(st.Origins).Outside() {
		from[name] += 0
	}
	for _, c := range counts(from) {
		r.Origins = append(r.Origins, Origin{c, slices.Contains(st.Origins, c.Name)})
	}
	if st.NextSlot != nil && !st.NextSlot.After(r.Until) {
		r.Due = append(r.Due, Due{*st.NextSlot, "", "due now, and nobody has woken the home for it"})
	}
	if st.NextWake != nil {
		r.Due = append(r.Due, Due{*st.NextWake, schedule.NextWake, "asked for by a cycle"})
	}
	if a := st.Again; a != nil {
		r.Due = append(r.Due, Due{a.Again, a.Cron, "again, after an attempt that failed"})
	}
	slices.SortStableFunc(r.Due, func(a, b Due) int { return a.Time.Compare(b.Time) })
	r.Due = r.Due[:min(mostDue, len(r.Due))]
}
