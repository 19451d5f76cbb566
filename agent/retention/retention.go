// Package retention removes what old cycles have left: their journals, logs and
// snapshots. Beside that it begins logs anew that would only grow, removes
// temporary files of tools, and touches nothing else.
//
// A cycle's files go together once the newest of them is older than the policy
// says, the journal last, so that what is left by an interruption is removed the
// next time. Never removed are the newest cycle, a cycle that is not settled, the
// newest pair of snapshots that can be read, and the newest such pair of a cycle
// that was done: from these a memory can be brought back.
package retention

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"rouse/home"
	"rouse/internal/clock"
	"rouse/internal/disk"
	"rouse/journal"
	"rouse/scratchpad"
)

// Policy says how long the files of a cycle are kept.
type Policy struct {
	Keep       time.Duration // those of a cycle that was done, or had nothing to do
	KeepFailed time.Duration // those of any other
}

// Store is where the cycles of a home leave their files.
type Store struct {
	Home   home.Home
	Policy Policy
	Temp   string           // the folder of temporary files; "" is none
	Disk   disk.FS          // nil is the machine's
	Now    func() time.Time // nil is time.Now
}

// Removed is what was removed.
type Removed struct {
	Cycles, Files int
	Bytes         int64
}

// interval is the time from one application to the next.
const interval = 24 * time.Hour

// marker is the file whose age tells when the policy was applied last.
func (s Store) marker() string { return s.Home.RetentionMark() }

// Due says whether the policy was not applied for a day, at the price of one stat.
func (s Store) Due() bool {
	info, err := os.Stat(s.marker())
	if err != nil {
		return true
	}
	age := s.now().Sub(info.ModTime())
	return age >= interval || age < -interval // the clock went back
}

// Apply removes what the policy does not keep, the oldest first, until ctx ends;
// what is left then is due at once. A file that cannot be removed is told, and
// keeps no other one. No cycle may be awake but the caller's, the newest.
func (s Store) Apply(ctx context.Context) (Removed, error) {
	cycles, err := s.cycles()
	if err != nil {
		return Removed{}, fmt.Errorf("retention: %w", err)
	}
	var r Removed
	at := s.believed()
	safe := s.safe(ctx, cycles)
	for i, c := range cycles {
		if ctx.Err() != nil {
			return r, nil
		}
		if i < len(cycles)-1 && !safe[c.id] && s.old(c, at) {
			err = cmp.Or(err, s.remove(c, &r))
		}
	}
	err = cmp.Or(err, s.turn(&r), s.index(), s.versions(), s.copies(ctx, at, &r), s.temp(ctx, at, &r), s.mark())
	if err != nil {
		return r, fmt.Errorf("retention: %w", err)
	}
	return r, nil
}

// believed is the time by which files are as old as they are: what the clock says, but
// no more than two days after what it said when the policy was last applied. So the
// files of no cycle go by a single reading of a clock that is wrong, and where
// the machine was off for long, they go a day later. The first reading removes nothing.
func (s Store) believed() time.Time {
	info, err := os.Stat(s.marker())
	if err != nil {
		return time.Time{}
	}
	if most := info.ModTime().Add(2 * interval); s.now().After(most) {
		return most
	}
	return s.now()
}

// cycle is what one cycle has left.
type cycle struct {
	id   string
	left []home.Kind
}

func (c *cycle) has(k home.Kind) bool { return slices.Contains(c.left, k) }

// cycles lists what all cycles have left, the oldest first.
func (s Store) cycles() ([]*cycle, error) {
	byID := map[string]*cycle{}
	err := s.Home.CycleFiles(func(id string, kind home.Kind) {
		if byID[id] == nil {
			byID[id] = &cycle{id: id}
		}
		byID[id].left = append(byID[id].left, kind)
	})
	if err != nil {
		return nil, err
	}
	list := slices.Collect(maps.Values(byID))
	slices.SortFunc(list, func(a, b *cycle) int { return strings.Compare(a.id, b.id) })
	return list, nil
}

// files are the paths of what a cycle has left, the journal last.
func (s Store) files(c *cycle) (list []string) {
	for _, kind := range []home.Kind{home.LogFile, home.UnprovenFile, home.BeforeFile, home.AfterFile, home.JournalFile} {
		if c.has(kind) {
			list = append(list, s.Home.Left(kind, c.id))
		}
	}
	return list
}

// old says whether a cycle may go. Its age is that of its newest file, for the
// clock may have been wrong when it got its id.
func (s Store) old(c *cycle, at time.Time) bool {
	age := time.Duration(1<<63 - 1)
	for _, path := range s.files(c) {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() {
			return false
		}
		age = min(age, at.Sub(info.ModTime()))
	}
	if age < min(s.Policy.Keep, s.Policy.KeepFailed) {
		return false
	}
	outcome, settled := s.outcome(c)
	return settled && age >= s.Policy.For(outcome)
}

// For is how long the files of a cycle with that outcome are kept.
func (p Policy) For(outcome string) time.Duration {
	if outcome == journal.Done || outcome == journal.Idle || outcome == journal.Waiting {
		return p.Keep
	}
	return p.KeepFailed
}

// outcome is how a cycle ended; that of one whose journal is gone is unknown.
func (s Store) outcome(c *cycle) (outcome string, settled bool) {
	if !c.has(home.JournalFile) {
		return "", true
	}
	last, err := journal.Last(s.Home.Journal(c.id))
	if err != nil {
		return "", false
	}
	sleep, ok := last.Data.(*journal.Sleep)
	if !ok {
		return "", false
	}
	if sleep.Task == journal.TaskFailed {
		return journal.Failed, true
	}
	return sleep.Outcome, true
}

// safe finds the newest pair of snapshots that can be read, and the newest one
// of a cycle that was done.
func (s Store) safe(ctx context.Context, cycles []*cycle) map[string]bool {
	safe := map[string]bool{}
	for _, c := range slices.Backward(cycles) {
		if !c.has(home.BeforeFile) || !c.has(home.AfterFile) || ctx.Err() != nil {
			continue
		}
		outcome, _ := s.outcome(c)
		if len(safe) > 0 && outcome != journal.Done || !s.readable(c) {
			continue
		}
		safe[c.id] = true
		if outcome == journal.Done {
			break
		}
	}
	return safe
}

func (s Store) readable(c *cycle) bool {
	for _, path := range []string{s.Home.Before(c.id), s.Home.After(c.id)} {
		if _, err := scratchpad.Load(path); err != nil {
			return false
		}
	}
	return true
}

// remove removes a cycle's files. Nothing is synced: what a loss of power brings
// back is removed again.
func (s Store) remove(c *cycle, r *Removed) error {
	for _, path := range s.files(c) {
		info, err := os.Lstat(path)
		if err == nil {
			err = s.disk().Remove(path)
		}
		if err != nil {
			return err
		}
		r.Files, r.Bytes = r.Files+1, r.Bytes+info.Size()
	}
	r.Cycles++
	return nil
}

// mark makes the time of the last application now, and writes down what is left.
func (s Store) mark() error {
	size, err := s.measure()
	if err != nil {
		return err
	}
	text, err := json.Marshal(size)
	if err != nil {
		return err
	}
	if err := disk.Overwrite(s.disk(), s.marker(), text, 0o600); err != nil {
		return err
	}
	now := s.now()
	return os.Chtimes(s.marker(), now, now)
}

func (s Store) now() time.Time { return clock.Now(s.Now) }

func (s Store) disk() disk.FS { return disk.Or(s.Disk) }
