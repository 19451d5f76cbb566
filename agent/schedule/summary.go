package schedule

import (
	"fmt"
	"path/filepath"
	"time"
)

// NextDue is when [Ledger.Due] will next have something to do; a time that is past
// means at once, the zero time never.
func (l *Ledger) NextDue(entries List) (time.Time, error) {
	have, err := l.load()
	if err != nil {
		return time.Time{}, wrap(err)
	}
	return have.nextDue(entries, l.now(), l.salt(), l.lives), nil
}

func (s *state) nextDue(entries List, now time.Time, salt string, lives func(Record) bool) (next time.Time) {
	sooner := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	running := false
	for _, o := range s.Open {
		if running = running || lives(o); !lives(o) {
			sooner(now)
		}
	}
	for _, e := range entries {
		mark, known := s.Marks[e.key]
		if !known || mark.After(now) {
			sooner(now)
		}
		if slot := e.Next(mark); known && !slot.IsZero() {
			sooner(e.due(slot, salt))
		}
		if len(s.Waits[e.key]) > 0 && !running {
			sooner(s.retry(now))
		}
	}
	for _, r := range s.Again {
		if !running {
			sooner(r.Again)
		}
	}
	for _, t := range s.Asks {
		if !running || t.After(now) {
			sooner(t)
		}
	}
	return next
}

// again is how long after an attempt came back the next one is worth its process.
const again = 10 * time.Second

// retry is when a slot that waits is to be tried.
func (s *state) retry(now time.Time) time.Time {
	if s.Back.After(now) { // the clock was set back
		return now
	}
	return later(now, s.Back.Add(again))
}

// Summary is what a person should know of a home's slots.
type Summary struct {
	// Last is the newest slot for which a cycle was begun, nil before the first.
	Last *Record
	// Next is when the home is to wake, zero if never.
	Next time.Time
	// Asked is the wake that a cycle asked for, zero if there is none.
	Asked time.Time
	// Blocked says since when slots are kept from their cycles, nil unless that is for long.
	Blocked *Blocked
	// Again is the slot that is tried again next, nil if there is none.
	Again *Record
	// Woken says that somebody looks at the schedule, and in time.
	Woken bool
	// Problems says in words what is not as it should be.
	Problems []string
}

// overdue is how late the home's next wake may be before that is a problem.
const overdue = 5 * time.Minute

// Summary sums up the ledger from its end. It writes nothing.
func (l *Ledger) Summary(entries List) (Summary, error) {
	have, err := l.load()
	if err != nil {
		return Summary{}, wrap(err)
	}
	sum := Summary{Last: have.Newest, Asked: have.Asks[NextWake], Blocked: have.Kept.incident(), Next: have.nextDue(entries, l.now(), l.salt(), l.lives), Again: have.soonest()}
	if have.bad > 0 {
		sum.Problems = append(sum.Problems, fmt.Sprintf("%d lines of %s cannot be read, and what they say of slots is lost; was it changed, or the disk full?", have.bad, filepath.Base(l.Path)))
	}
	late := l.now().Sub(sum.Next)
	switch {
	case len(entries) > 0 && len(have.Marks) == 0:
		sum.Problems = append(sum.Problems, "nobody has looked at the schedule yet; start rouse schedule, or call rouse install")
	case !sum.Next.IsZero() && late > overdue:
		sum.Problems = append(sum.Problems, fmt.Sprintf("nobody has woken the home for %s; does cron or rouse schedule run?", late.Round(time.Minute)))
	default:
		sum.Woken = len(have.Marks) > 0
	}
	for _, o := range have.Open {
		if !l.lives(o) {
			sum.Problems = append(sum.Problems, fmt.Sprintf("the process that ran the slot of %s died", o.Slot.Format(time.RFC3339)))
		}
	}
	for _, e := range entries {
		if n := e.waiting(have.Waits[e.key]); n > 0 {
			sum.Problems = append(sum.Problems, fmt.Sprintf("%d slots of %s wait", n, e.Cron))
		}
	}
	if r := have.Newest; r != nil && r.Status == Unknown {
		sum.Problems = append(sum.Problems, "how the last slot ended is unknown: its process died")
	}
	return sum, nil
}

func (e Entry) waiting(list []stretch) (n int) {
	for _, w := range list {
		n += e.count(w.After.Add(1), w.Last)
	}
	return n
}
