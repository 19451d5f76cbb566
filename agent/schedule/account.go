package schedule

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"time"
)

const (
	// inTime is how late a slot may be taken and still count as in time: cron
	// looks once a minute.
	inTime = 90 * time.Second
	// soon is how late a slot is taken whatever missed: says; then something was
	// slow, but nobody was away.
	soon = 10 * time.Minute
)

// accounting is one look at all that is due. It changes the state as it goes, and
// keeps the lines that say so.
type accounting struct {
	*state
	now     time.Time
	since   time.Time
	salt    string
	entries List
	began   func(key string, slot time.Time) bool // looked up only where the clock was set back
	lives   func(Record) bool

	lines []Record
	ready []candidate
	// replace is a cycle that is to end before its entry's next slot is taken.
	replace *Record
}

// candidate is a slot that may be taken now.
type candidate struct {
	entry Entry
	slot  time.Time
	as    Status
	waits bool // it need not be told to wait
	// before is the attempt before, where the slot is tried again.
	before *Record
}

func (a *accounting) put(r Record) {
	r.V, r.Time = 1, a.now.Round(0)
	a.lines = append(a.lines, a.add(r))
}

func (a *accounting) putSlots(e Entry, status Status, reason string, slots ...time.Time) {
	r := e.record(status, slots...)
	r.Reason = reason
	a.put(r)
}

// record is a line about the slots from the first to the last.
func (e Entry) record(status Status, slots ...time.Time) Record {
	r := Record{Event: eventSlot, Entry: e.key, Cron: e.Cron, Slot: slots[0], Status: status}
	if last := slots[len(slots)-1]; last.After(slots[0]) {
		r.Last, r.Count = last, e.count(slots[0], last)
	}
	return r
}

// run accounts for every slot that is due, and finds those that may be taken.
func (a *accounting) run() {
	for _, o := range slices.Clone(a.Open) {
		if !a.lives(o) {
			o.Status, o.As, o.Owner = Unknown, "", nil
			a.put(o)
		}
	}
	a.forget()
	for _, e := range a.entries {
		a.entry(e)
	}
	a.asks()
	sort.SliceStable(a.ready, func(i, j int) bool { return a.ready[i].slot.Unix() < a.ready[j].slot.Unix() })
}

// forget ends entries that rouse.yaml has no more.
func (a *accounting) forget() {
	for _, key := range slices.Sorted(maps.Keys(a.Marks)) {
		if slices.ContainsFunc(a.entries, func(e Entry) bool { return e.key == key }) {
			continue
		}
		for _, w := range a.Waits[key] {
			r := Record{Event: eventSlot, Entry: key, Slot: w.After.Add(1), Status: Skipped, Reason: "removed"}
			if w.Last.After(r.Slot) {
				r.Last, r.Count = w.Last, 2
			}
			a.put(r)
		}
		a.giveUp(key, "removed")
		a.put(Record{Event: eventEntry, Entry: key, Reason: "removed"})
	}
}

func (a *accounting) entry(e Entry) {
	mark, known := a.Marks[e.key]
	switch {
	case !known:
		mark = later(a.since, a.now.Add(-2*time.Minute))
		mark = earlier(mark, a.now)
		a.put(Record{Event: eventEntry, Entry: e.key, Cron: e.Cron, Slot: mark})
	case mark.After(a.now):
		mark = a.clockBack(e, mark)
	}
	a.tryAgain(e)
	if newest := a.newest(e, mark); !newest.IsZero() {
		a.pending(e, mark, newest)
	}
	a.waiting(e)
}

// clockBack lets an entry's slots count from now on again. Those that were begun
// are not begun again.
func (a *accounting) clockBack(e Entry, mark time.Time) time.Time {
	a.giveUp(e.key, ReasonClock)
	for _, w := range slices.Clone(a.Waits[e.key]) {
		if w.Last.After(a.now) {
			a.putSlots(e, Skipped, ReasonClock, e.Next(w.After), w.Last)
		}
	}
	a.put(Record{
		Event: eventEntry, Entry: e.key, Cron: e.Cron, Slot: a.now.Round(0), Until: later(mark, a.Until[e.key]), Reason: ReasonClock,
	})
	return a.now
}

// newest is the newest slot that is due and not accounted for.
func (a *accounting) newest(e Entry, mark time.Time) time.Time {
	s := e.last(mark, a.now)
	if !s.IsZero() && e.due(s, a.salt).After(a.now) {
		s = e.last(mark, s.Add(-1))
	}
	return s
}

// pending accounts for the slots after mark, up to and with newest. Of those
// before newest, only missed: all leaves any to be made up for.
func (a *accounting) pending(e Entry, mark, newest time.Time) {
	from := newest
	if e.Missed == MissedAll {
		from = e.backTo(later(mark, a.now.Add(-e.MissedWindow)), newest)
	}
	a.each(e, mark, from.Add(-1), func(slots ...time.Time) { a.putSlots(e, Missed, "", slots...) })
	if from.Before(newest) {
		a.each(e, later(mark, from.Add(-1)), newest.Add(-1), func(slots ...time.Time) { a.wait(e, CaughtUp, slots...) })
	}
	if a.taken(e, newest) {
		a.put(Record{Event: eventEntry, Entry: e.key, Cron: e.Cron, Slot: newest, Reason: "taken before"})
		return
	}
	a.decide(e, newest)
}

// backTo is the oldest slot after from of the newest maxQueue ones up to last.
func (e Entry) backTo(from, last time.Time) time.Time {
	var ring [maxQueue]time.Time
	n := 0
	for s := range e.Between(from, last) {
		ring[n%maxQueue] = s
		n++
	}
	switch {
	case n == 0:
		return last
	case n <= maxQueue:
		return ring[0]
	}
	return ring[n%maxQueue]
}

// each gives the slots after from, up to and with to, as stretches of first and
// last; slots that were taken before the clock was set back are left out.
func (a *accounting) each(e Entry, from, to time.Time, do func(slots ...time.Time)) {
	var first, last time.Time
	for ; from.Before(a.Until[e.key]); from = e.Next(from) {
		s := e.Next(from)
		if s.IsZero() || s.After(to) {
			break
		}
		switch {
		case !a.taken(e, s):
			first, last = cmp.Or(first, s), s
		case !first.IsZero():
			do(first, last)
			first = time.Time{}
		}
	}
	if s := e.last(from, to); !s.IsZero() {
		first, last = cmp.Or(first, e.Next(from)), s
	}
	if !first.IsZero() {
		do(first, last)
	}
}

// taken says whether a slot was begun before the clock was set back.
func (a *accounting) taken(e Entry, s time.Time) bool {
	return !s.After(a.Until[e.key]) && a.began(e.key, s)
}

// decide says what becomes of the newest slot.
func (a *accounting) decide(e Entry, slot time.Time) {
	if e.Missed != MissedAll {
		a.supersede(e)
	}
	as := a.lateness(e, slot)
	own := slices.IndexFunc(a.Open, func(o Record) bool { return o.Entry == e.key })
	switch {
	case as == Missed:
		a.putSlots(e, Missed, "", slot)
	case own >= 0 && e.Overlap == OverlapSkip && as != CaughtUp:
		a.putSlots(e, Skipped, ReasonOverlap, slot)
	case own >= 0 && e.Overlap == OverlapReplace:
		running := a.Open[own]
		a.replace = &running
		a.wait(e, as, slot)
	case own >= 0 || len(a.Waits[e.key]) > 0:
		a.wait(e, as, slot)
	default:
		a.ready = append(a.ready, candidate{entry: e, slot: slot, as: as})
	}
}

// supersede ends what waits: the newest slot stands for it.
func (a *accounting) supersede(e Entry) {
	for _, w := range slices.Clone(a.Waits[e.key]) {
		status, reason := Skipped, ReasonOverlap
		if w.As == CaughtUp {
			status, reason = Missed, ""
		}
		a.putSlots(e, status, reason, e.Next(w.After), w.Last)
	}
}

// lateness is what a slot becomes that is taken now.
func (a *accounting) lateness(e Entry, slot time.Time) Status {
	switch by := a.now.Sub(e.due(slot, a.salt)); {
	case by <= inTime:
		return Ran
	case by <= soon:
		return Late
	case e.Missed == MissedSkip || by > e.MissedWindow:
		return Missed
	}
	return CaughtUp
}

func (a *accounting) wait(e Entry, as Status, slots ...time.Time) {
	if as == Ran {
		as = Late
	}
	r := e.record(Waiting, slots...)
	r.As = as
	if list := a.Waits[e.key]; len(list) > 0 {
		r.Follows = e.Next(list[len(list)-1].Last).Equal(r.Slot)
	}
	a.put(r)
}

// waiting gives up what waits for too long, and offers the oldest of the rest.
func (a *accounting) waiting(e Entry) {
	old := a.now.Add(-e.MissedWindow)
	for len(a.Waits[e.key]) > 0 {
		w := a.Waits[e.key][0]
		first := e.Next(w.After)
		if first.IsZero() || first.After(w.Last) { // its zone has changed
			a.put(Record{Event: eventSlot, Entry: e.key, Cron: e.Cron, Slot: w.Last, Status: Skipped, Reason: ReasonClock})
			continue
		}
		if last := e.last(w.After, earlier(w.Last, old)); !last.IsZero() {
			a.putSlots(e, Missed, "", first, last)
			continue
		}
		as := w.As
		if a.now.Sub(e.due(first, a.salt)) <= inTime {
			as = Ran
		}
		a.ready = append(a.ready, candidate{entry: e, slot: first, as: as, waits: true})
		return
	}
}

// asks offers the wakes that were asked for beside the schedule.
func (a *accounting) asks() {
	for _, name := range slices.Sorted(maps.Keys(a.Asks)) {
		e, slot := asked(name), a.Asks[name]
		if slot.After(a.now) {
			continue
		}
		a.giveUp(name, ReasonNext)
		if as := a.lateness(e, slot); as == Missed {
			a.putSlots(e, Missed, "", slot)
		} else {
			a.ready = append(a.ready, candidate{entry: e, slot: slot, as: as, waits: true})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Again)) {
		if _, known := a.Marks[name]; !known {
			a.tryAgain(asked(name))
		}
	}
}

// asked is the entry of wakes that are asked for.
func asked(name string) Entry {
	e := defaults()
	e.key, e.Cron, e.loc = name, name, time.Local
	return e
}

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

func earlier(a, b time.Time) time.Time { return slices.MinFunc([]time.Time{a, b}, time.Time.Compare) }
