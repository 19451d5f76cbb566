package schedule

import (
	"cmp"
	"slices"
	"time"

	"rouse/internal/proc"
)

// Status is what became of a slot.
type Status string

// The ways in which a slot ends, and the two in which it has not ended yet.
const (
	Ran      Status = "ran"       // in time
	Late     Status = "late"      // not in time: something was in the way
	CaughtUp Status = "caught_up" // nobody had been there at its time
	Skipped  Status = "skipped"   // on purpose; the reason says why
	Missed   Status = "missed"    // nobody was there, and it is not made up for
	Unknown  Status = "unknown"   // it was begun by a process that died; it is never run again

	Running Status = "running"
	Waiting Status = "waiting"
)

// Reasons why a slot was skipped. Others come from a [Gate].
const (
	ReasonOverlap = "overlap" // a cycle was awake
	ReasonWindow  = "window"  // outside not_before and not_after
	ReasonError   = "error"   // its cycle could not wake
	ReasonClock   = "clock"   // the clock was set back to before it
)

// Began says whether a cycle was begun for the slot, so that it must not be begun again.
func (s Status) Began() bool {
	return s == Ran || s == Late || s == CaughtUp || s == Unknown || s == Running
}

// Events of a ledger.
const (
	eventSlot  = "slot"  // what became of a slot, or of several in a row
	eventEntry = "entry" // from when on the slots of an entry count
	eventFree  = "free"  // nobody keeps the home from its cycles any more
	eventAsk   = "ask"   // a home asks for a wake, beside its schedule
	eventState = "state" // what all lines before it come to
)

// Record is one line of a ledger.
type Record struct {
	V     int       `json:"v"`
	Time  time.Time `json:"time"`
	Event string    `json:"event"`
	// Entry is the key of an entry, or the name under which a wake was asked for.
	Entry string `json:"entry,omitempty"`
	Cron  string `json:"cron,omitempty"`
	// Slot is the slot, or the first of Count slots, of which Last is the last.
	Slot   time.Time `json:"slot,omitzero"`
	Last   time.Time `json:"last,omitzero"`
	Count  int       `json:"count,omitempty"`
	Status Status    `json:"status,omitempty"`
	// As is what Running and Waiting are to become.
	As     Status         `json:"as,omitempty"`
	Reason string         `json:"reason,omitempty"`
	Owner  *proc.Identity `json:"owner,omitempty"`
	// Cycle, Exit and Error are how the cycle ended.
	Cycle string `json:"cycle,omitempty"`
	Exit  *int   `json:"exit,omitempty"`
	Error string `json:"error,omitempty"`
	// Attempt counts the cycles of the slot, from the second on. Again is when the slot is
	// tried again, as the last of them got no reply from the model.
	Attempt int       `json:"attempt,omitempty"`
	Again   time.Time `json:"again,omitzero"`
	// Follows says of what waits that no slot lies between it and what waits already.
	Follows bool `json:"follows,omitempty"`
	// Until: slots up to here may have been taken before the clock was set back.
	Until time.Time `json:"until,omitzero"`
	// Blocked is the incident that the line belongs to, or ends.
	Blocked *Blocked `json:"blocked,omitempty"`
	State   *state   `json:"state,omitempty"`
}

// N is the number of slots that the record is about. Of very many it is a lower bound.
func (r Record) N() int { return max(r.Count, 1) }

// end is the last slot of the record.
func (r Record) end() time.Time { return cmp.Or(r.Last, r.Slot) }

// stretch is what waits: the slots of an entry after one moment, up to and with another.
type stretch struct {
	After time.Time `json:"after"`
	Last  time.Time `json:"last"`
	As    Status    `json:"as"`
}

// state is what the lines of a ledger come to. Keys are those of entries.
type state struct {
	// Marks are the slots up to which all is accounted for.
	Marks map[string]time.Time `json:"marks,omitempty"`
	// Until are the newest slots that were accounted for before the clock was set back.
	Until map[string]time.Time `json:"until,omitempty"`
	Waits map[string][]stretch `json:"waits,omitempty"`
	Asks  map[string]time.Time `json:"asks,omitempty"`
	// Again are the slots that are tried again, as they were settled.
	Again map[string]Record `json:"again,omitempty"`
	// Open are the attempts that are not settled.
	Open []Record `json:"open,omitempty"`
	// Back is when an attempt last came back to wait: a cycle that no slot began was awake.
	Back time.Time `json:"back,omitzero"`
	// Kept are the slots that others keep from their cycles.
	Kept kept `json:"kept,omitzero"`
	// Newest is the newest settled slot for which a cycle was begun.
	Newest *Record `json:"newest,omitempty"`
	// Base is the size of the ledger after its last compaction.
	Base int64 `json:"base,omitempty"`
}

func newState() *state {
	s := &state{}
	s.complete()
	return s
}

func (s *state) complete() {
	s.Marks, s.Until, s.Asks = there(s.Marks), there(s.Until), there(s.Asks)
	s.Waits, s.Again = there(s.Waits), there(s.Again)
}

// there is a map that can be written to.
func there[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

// apply adds one line.
func (s *state) apply(r Record) {
	switch r.Event {
	case eventState:
		if r.State != nil {
			*s = *r.State
			s.complete()
		}
	case eventEntry:
		s.setEntry(r)
	case eventFree:
		s.Kept = kept{}
	case eventAsk:
		if s.Asks[r.Entry] = r.Slot; r.Slot.IsZero() {
			delete(s.Asks, r.Entry)
		}
	case eventSlot:
		s.setSlot(r)
	}
}

// setEntry begins an entry, or ends it where no slot is given.
func (s *state) setEntry(r Record) {
	if r.Slot.IsZero() {
		delete(s.Marks, r.Entry)
		delete(s.Until, r.Entry)
		delete(s.Waits, r.Entry)
		delete(s.Kept.Entries, r.Entry)
		delete(s.Again, r.Entry)
		return
	}
	s.Marks[r.Entry] = r.Slot
	if !r.Until.IsZero() {
		delete(s.Kept.Entries, r.Entry)
		s.Until[r.Entry] = r.Until
	}
}

func (s *state) setSlot(r Record) {
	s.keep(r)
	s.again(r)
	if mark, ok := s.Marks[r.Entry]; ok && r.end().After(mark) {
		s.Marks[r.Entry] = r.end()
	}
	if ask, ok := s.Asks[r.Entry]; ok && !ask.After(r.end()) && r.Status != Waiting {
		delete(s.Asks, r.Entry)
	}
	if r.Status == Waiting {
		s.wait(r)
		return
	}
	s.unwait(r)
	s.close(r)
	if r.Status == Running {
		s.Open = append(s.Open, r)
	} else if r.Status.Began() && (r.Reason == "" || s.Newest != nil && s.Newest.Entry == r.Entry && s.Newest.Slot.Equal(r.Slot)) {
		s.Newest = &r
	}
}

func (s *state) wait(r Record) {
	if s.close(r) {
		s.Back = r.Time
	}
	list := s.Waits[r.Entry]
	if n := len(list); n > 0 && r.Follows && list[n-1].As == r.As {
		list[n-1].Last = r.end()
		return
	}
	s.Waits[r.Entry] = append(list, stretch{After: r.Slot.Add(-1), Last: r.end(), As: r.As})
}

// unwait takes the slots of a record out of what waits, with those before them in
// the same stretch. What waits for longer goes on waiting.
func (s *state) unwait(r Record) {
	var left []stretch
	for _, w := range s.Waits[r.Entry] {
		if !w.Last.Before(r.Slot) && w.After.Before(r.end()) {
			w.After = r.end()
		}
		if w.Last.After(w.After) {
			left = append(left, w)
		}
	}
	if s.Waits[r.Entry] = left; left == nil {
		delete(s.Waits, r.Entry)
	}
}

// close ends the attempt at a slot, if there is one.
func (s *state) close(r Record) bool {
	open := len(s.Open)
	s.Open = slices.DeleteFunc(slices.Clone(s.Open), func(o Record) bool { return o.Entry == r.Entry && o.Slot.Equal(r.Slot) })
	return len(s.Open) < open
}
