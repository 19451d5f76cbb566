// Package schedule knows when a home should wake, and what became of each time.
//
// An [Entry] of rouse.yaml gives slots: moments at which a cycle should start. A
// [Ledger] records what became of every slot, whichever way the home is woken:
// by cron through `rouse run --due`, or by the [Scheduler] of `rouse schedule`.
// A slot is taken under a lock and written down before its cycle starts, so that
// none runs twice; what nobody took is found and accounted for at the next wake.
package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// What becomes of slots that nobody took in time.
const (
	MissedSkip   = "skip"   // none is made up for
	MissedLatest = "latest" // the newest one is
	MissedAll    = "all"    // each one is, one after another
)

// What becomes of a slot that comes while a cycle is awake.
const (
	OverlapSkip    = "skip"    // it is skipped
	OverlapQueue   = "queue"   // it waits
	OverlapReplace = "replace" // the cycle is told to end
)

// maxQueue is how many slots of an entry may wait, or be made up for.
const maxQueue = 1000

// Entry is one line of a schedule. Entries are made by reading rouse.yaml or by
// [New], which check them.
type Entry struct {
	Cron     string
	Timezone string // IANA name; "" is the machine's
	Task     string // what to do first in the cycle
	Check    any    // what must hold for it to be done, as a task in the memory has it
	Deliver  Deliver
	Missed   string
	// MissedWindow is how old a slot may be that is made up for.
	MissedWindow time.Duration
	Overlap      string
	// Jitter is the most by which a slot is put off; each always by the same time.
	Jitter    time.Duration
	NotBefore Bound
	NotAfter  Bound
	// IdleSkip says that a slot in which there is nothing new costs no cycle.
	IdleSkip bool
	// Retry are the waits before a slot is tried again whose cycle got no reply from
	// the model, one after the other.
	Retry []time.Duration

	key  string // in the ledger: it stays as long as cron, timezone and task do
	spec spec
	loc  *time.Location
}

// Deliver says where the file goes that the task of an entry makes.
type Deliver struct {
	File string   // in the workspace
	To   []string // names of sinks
}

// New makes an entry with the defaults out of a specification.
func New(cron string) (Entry, error) { return defaults().With(cron) }

func defaults() Entry {
	return Entry{
		Missed: MissedLatest, MissedWindow: 24 * time.Hour, Overlap: OverlapSkip,
		Retry: []time.Duration{5 * time.Minute, 15 * time.Minute, 30 * time.Minute},
	}
}

// check completes an entry, or says what is wrong with it.
func (e *Entry) check() (err error) {
	if e.spec, err = parseSpec(e.Cron); err != nil {
		return fmt.Errorf("%q: %w", e.Cron, err)
	}
	if e.loc, err = zone(e.Timezone); err != nil {
		return err
	}
	switch {
	case e.Missed != MissedSkip && e.Missed != MissedLatest && e.Missed != MissedAll:
		return fmt.Errorf("missed %q: use skip, latest or all", e.Missed)
	case e.Overlap != OverlapSkip && e.Overlap != OverlapQueue && e.Overlap != OverlapReplace:
		return fmt.Errorf("overlap %q: use skip, queue or replace", e.Overlap)
	case e.Deliver.File != "" && (!filepath.IsLocal(e.Deliver.File) || e.Task == ""):
		return errors.New("deliver names a file in the workspace, which the task of the entry makes: write a task, too")
	case e.MissedWindow <= 0:
		return errors.New("missed_window must be above 0")
	case e.Jitter < 0:
		return errors.New("jitter must not be below 0")
	case len(e.Retry) > MaxRetries:
		return fmt.Errorf("retry has %d waits; %d are the most", len(e.Retry), MaxRetries)
	case len(e.Retry) > 0 && slices.Min(e.Retry) < time.Second:
		return errors.New("retry must wait for at least 1s")
	}
	if err := e.checkBounds(); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{strings.Join(strings.Fields(e.Cron), " "), e.Timezone, e.Task}, "\x00")))
	e.key = hex.EncodeToString(sum[:4])
	return nil
}

// Seconds says whether a slot may be elsewhere than at the start of a minute, so
// that cron, which looks once a minute, cannot wake the home in time.
func (e Entry) Seconds() bool {
	if e.spec.fields == nil {
		return e.spec.every%time.Minute != 0
	}
	return e.spec.fields.Second != 1
}

// Next is the first slot after t, zero if there is none. A wall-clock time that
// comes twice is a slot the first time. One that never comes is a slot at the
// moment at which the clock is put forward; several such are one slot. The
// slots of @every are multiples of its duration, counted from 1970 in UTC, so
// that they are the same for whoever counts.
func (e Entry) Next(t time.Time) time.Time {
	if from := e.NotBefore.date; !from.IsZero() && t.Before(from) {
		t = from.Add(-1)
	}
	n := e.nextUnbounded(t)
	if to := e.NotAfter.date; !to.IsZero() && n.After(to) {
		return time.Time{}
	}
	return n
}

func (e Entry) nextUnbounded(t time.Time) time.Time {
	if d := int64(e.spec.every / time.Second); d > 0 {
		k := t.Unix() / d
		if t.Unix()%d < 0 { // division rounds towards 1970
			k--
		}
		return time.Unix((k+1)*d, 0).In(e.loc)
	}
	for wall := wallClock(t, e.loc); ; {
		wall = e.spec.next(wall)
		if wall.IsZero() {
			return time.Time{}
		}
		if n := instant(wall, e.loc); n.After(t) {
			return n
		}
	}
}

// Between gives the slots after from, up to and with to.
func (e Entry) Between(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for s := e.Next(from); !s.IsZero() && !s.After(to); s = e.Next(s) {
			if !yield(s) {
				return
			}
		}
	}
}

// last is the newest slot after from, up to and with to; zero if there is none.
// It looks back in growing steps, so that a long time costs little.
func (e Entry) last(from, to time.Time) (newest time.Time) {
	for step := time.Minute; newest.IsZero(); step *= 4 {
		start := to.Add(-step)
		final := !start.After(from) || step > 16*365*24*time.Hour
		if final && start.Before(from) {
			start = from
		}
		for s := range e.Between(start, to) {
			newest = s
		}
		if final {
			break
		}
	}
	return newest
}

// maxCount is how far slots are counted that all end alike.
const maxCount = 100_000

// count is the number of slots from first to last, both included, at most maxCount.
func (e Entry) count(first, last time.Time) (n int) {
	for range e.Between(first.Add(-1), last) {
		if n++; n == maxCount {
			break
		}
	}
	return n
}

// due is when a slot is to be taken: at its time, or put off by its jitter, which
// never reaches the next slot. The salt lets homes with one schedule differ.
func (e Entry) due(slot time.Time, salt string) time.Time {
	limit := e.Jitter
	if limit == 0 {
		return slot
	}
	if next := e.Next(slot); !next.IsZero() {
		limit = min(limit, next.Sub(slot))
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", salt, e.key, slot.Unix()))
	offset := binary.BigEndian.Uint64(sum[:8]) % uint64(max(limit/time.Second, 1))
	return slot.Add(time.Duration(offset) * time.Second)
}

// With is the entry with another specification.
func (e Entry) With(cron string) (Entry, error) {
	e.Cron = cron
	return e, e.check()
}
