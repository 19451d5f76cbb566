package schedule

import "time"

// MaxRetries is how often a slot may be tried again.
const MaxRetries = 10

// ReasonNext is why a slot is not tried again whose entry has a newer one.
const ReasonNext = "next"

// asSlot is the slot that a candidate is.
func (c candidate) asSlot() Slot {
	s := Slot{c.entry.key, c.entry.Cron, c.slot, c.as, c.entry.Task, c.entry.Check, c.entry.IdleSkip, 1}
	if c.before != nil {
		s.Attempt = c.before.attempt() + 1
	}
	return s
}

// attempt is which cycle of its slot the record is about.
func (r Record) attempt() int { return max(r.Attempt, 1) }

// beyondFirst is an attempt as a ledger has it, which leaves out the first.
func beyondFirst(attempt int) int {
	if attempt < 2 {
		return 0
	}
	return attempt
}

// GaveUp says that the slot was to be tried again and is not, for the record's reason.
func (r Record) GaveUp() bool {
	return r.Cycle != "" && r.Reason != "" && r.Again.IsZero() && (r.Status == Ran || r.Status == Late || r.Status == CaughtUp)
}

// Again is when the slot is tried again if its cycle, which ends now, got no reply
// from the model: never once the entry's next slot is there. Zero is not at all.
func (t *Attempt) Again() time.Time {
	n := t.Slot.Attempt
	if n > len(t.entry.Retry) {
		return time.Time{}
	}
	return t.entry.unlessNext(t.Time, t.ledger.now().Add(t.entry.Retry[n-1]))
}

// unlessNext is a moment, zero if the slot after another one comes before it.
func (e Entry) unlessNext(slot, when time.Time) time.Time {
	if e.spec == (spec{}) { // a wake that was asked for
		return when
	}
	if next := e.Next(slot); !next.IsZero() && !when.Before(next) {
		return time.Time{}
	}
	return when
}

// again keeps a slot that is tried again, until something else is said of it, or of
// a later one of its entry.
func (s *state) again(r Record) {
	if last, ok := s.Again[r.Entry]; ok && !r.end().Before(last.Slot) {
		delete(s.Again, r.Entry)
	}
	if !r.Again.IsZero() {
		s.Again[r.Entry] = r
	}
}

// soonest is the slot that is tried again next.
func (s *state) soonest() (first *Record) {
	for _, r := range s.Again {
		if first == nil || r.Again.Before(first.Again) {
			first = &r
		}
	}
	return first
}

// tryAgain offers a slot of the entry again whose cycle got no reply, unless it is
// too late for that or no longer wanted.
func (a *accounting) tryAgain(e Entry) {
	last, ok := a.Again[e.key]
	switch {
	case !ok:
	case last.attempt() > len(e.Retry):
		a.giveUp(e.key, "off")
	case e.unlessNext(last.Slot, a.now).IsZero():
		a.giveUp(e.key, ReasonNext)
	case !last.Again.After(a.now):
		a.ready = append(a.ready, candidate{e, last.Slot, last.Status, true, &last})
	}
}

// giveUp puts down that the slot of an entry, if there is one, is not tried again:
// what its last cycle came to is what it came to.
func (a *accounting) giveUp(key, reason string) {
	if last, ok := a.Again[key]; ok {
		last.Again, last.Reason = time.Time{}, reason
		a.put(last)
	}
}

// putOff is what becomes of a slot that was tried again, but no cycle could wake: it
// is tried once more in a minute where one was awake.
func (t *Attempt) putOff(r Record, awake bool) Record {
	last := *t.before
	last.Time, last.Again, last.Reason = r.Time, time.Time{}, ReasonError
	if !awake {
		last.Error = r.Error
		return last
	}
	last.Reason = ReasonOverlap
	if last.Again = t.entry.unlessNext(t.Time, r.Time.Add(time.Minute)); !last.Again.IsZero() {
		last.Reason = ""
	}
	return last
}
