package schedule

import (
	"fmt"
	"slices"
	"time"
)

// Blocked is a row of slots that were kept from their cycles as another one, or
// whoever holds the home's lock, was in the way.
type Blocked struct {
	Since time.Time `json:"since"` // the first such slot
	Slots int       `json:"slots"`
}

// patience is how many slots of an entry may be kept in a row before that is an
// incident, and floor how long it takes at least: cycles may take longer than a few
// slots are apart.
const (
	patience = 2
	floor    = 15 * time.Minute
)

// kept are the slots that are kept from their cycles since one last woke.
type kept struct {
	Since   time.Time          `json:"since"`
	Entries map[string]keptRow `json:"entries"` // by their keys
}

// keptRow is of one entry.
type keptRow struct {
	Last  time.Time `json:"last"`
	Slots int       `json:"slots"`
}

// incident is nil unless an entry was kept from its cycles for too long.
func (k kept) incident() *Blocked {
	b, long := &Blocked{Since: k.Since}, false
	for _, row := range k.Entries {
		b.Slots += row.Slots
		long = long || row.Slots > patience && row.Last.Sub(k.Since) >= floor
	}
	if !long {
		return nil
	}
	return b
}

// Kept says that another process kept the slot from its cycle.
func (r Record) Kept() bool {
	return r.Status == Skipped && r.Reason == ReasonOverlap || r.Status == Waiting && r.As == Late
}

// Woke says that a cycle woke for the slot, and ended.
func (r Record) Woke() bool {
	return r.Cycle != "" && r.Reason == "" && (r.Status == Ran || r.Status == Late || r.Status == CaughtUp)
}

// keep counts a slot that is kept from its cycle, once, also where it waits before
// it is skipped. A cycle that woke ends the row.
func (s *state) keep(r Record) {
	if r.Woke() {
		s.Kept = kept{}
		return
	}
	row := s.Kept.Entries[r.Entry]
	if _, known := s.Marks[r.Entry]; !known || !r.Kept() || !r.end().After(row.Last) || s.waitsFor(r) {
		return
	}
	if len(s.Kept.Entries) == 0 {
		s.Kept = kept{r.Slot, map[string]keptRow{}}
	}
	s.Kept.Entries[r.Entry] = keptRow{r.end(), row.Slots + r.N()}
}

func (s *state) waitsFor(r Record) bool {
	return slices.ContainsFunc(s.Waits[r.Entry], func(w stretch) bool { return w.After.Before(r.Slot) && !w.Last.Before(r.Slot) })
}

// add applies a line, and gives it back with the incident that it belongs to or ends.
func (s *state) add(r Record) Record {
	before := s.Kept.incident()
	s.apply(r)
	if r.Blocked = s.Kept.incident(); r.Blocked == nil {
		r.Blocked = before
	}
	if r.Blocked != nil && r.Kept() && r.Error == "" && len(s.Open) > 0 {
		o := s.Open[0]
		r.Error = fmt.Sprintf("blocked since %s: the cycle of the slot of %s is awake", r.Blocked.Since.Format(time.RFC3339), o.Slot.Format(time.RFC3339))
		if o.Owner != nil {
			r.Error += fmt.Sprintf(", pid %d", o.Owner.PID)
		}
	}
	return r
}

// Free writes down that nobody keeps the home from its cycles any more, where no
// cycle that wakes says so.
func (l *Ledger) Free() error {
	return l.add(func(*state) []Record {
		return []Record{{V: 1, Time: l.now().Round(0), Event: eventFree}}
	})
}
