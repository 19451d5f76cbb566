package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/jsonl"
	"rouse/internal/proc"
	"rouse/internal/sweep"
)

// unsynced is the machine's file system without waiting for it.
type unsynced struct{ disk.OS }

type unsyncedFile struct{ disk.File }

func (unsynced) OpenFile(name string, flag int, perm os.FileMode) (disk.File, error) {
	f, err := disk.OS{}.OpenFile(name, flag, perm)
	return unsyncedFile{f}, err
}
func (unsyncedFile) Sync() error      { return nil }
func (unsynced) SyncDir(string) error { return nil }

// world is a machine with a clock, processes that live and die, and one home.
type world struct {
	t       *testing.T
	dice    *rand.Rand
	now     time.Time
	entries List
	path    string
	fs      disk.FS
	pid     int
	busy    []*cycle // the cycles that run, or hang
	begun   map[string]int
	figures struct{ wakes, cycles, kills, outages, jumps, crashes, compactions int }
	// Of a ledger that is compacted, from which size on and to how many lines.
	compactAt int64
	keep      int
	size      int64
	home      string // for the jitter, so that a seed is the same world always
}

// cycle is one that runs, until a moment.
type cycle struct {
	pid     int
	until   time.Time
	attempt *Attempt
}

func (w *world) ledger(fs disk.FS) *Ledger {
	w.pid++
	return &Ledger{
		Path: w.path, Disk: fs, Now: func() time.Time { return w.now }, Since: w.now, compactAt: w.compactAt, keep: w.keep, self: proc.Identity{PID: w.pid},
		home: w.home,
		alive: func(id proc.Identity) bool {
			for _, c := range w.busy {
				if c.pid == id.PID {
					return true
				}
			}
			return false
		},
	}
}

// wake is one `rouse run --due`, which may be killed at any write.
func (w *world) wake() {
	w.figures.wakes++
	fs := w.fs
	if w.dice.IntN(60) == 0 {
		mode := disktest.CrashBefore + disktest.Mode(w.dice.IntN(3))
		fs = &disktest.Faulty{FS: w.fs, Fault: disktest.Fault{At: 1 + w.dice.IntN(8), Stays: true, Mode: mode}}
	}
	l := w.ledger(fs)
	attempt, err := l.Due(w.entries, nil)
	if size := disk.StampOf(w.path).Size; size < w.size {
		w.figures.compactions++
		w.size = size
	} else {
		w.size = size
	}
	if errors.Is(err, disktest.ErrCrashed) {
		w.figures.crashes++
		return
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if attempt == nil {
		return
	}
	w.figures.cycles++
	w.begun[fmt.Sprint(attempt.Entry, attempt.Time.Unix(), attempt.Slot.Attempt)]++
	if next := attempt.entry.Next(attempt.Time); attempt.Slot.Attempt > 1 && !w.now.Before(next) {
		w.t.Errorf("the slot of %s is tried again at %s, after the next one", attempt.Time, w.now)
	}
	took := time.Duration(1+w.dice.IntN(240)) * time.Second
	switch w.dice.IntN(100) {
	case 0:
		took = time.Duration(w.dice.IntN(150)) * time.Minute
	case 1:
		w.figures.kills++
		return // killed: nobody settles it
	}
	w.busy = append(w.busy, &cycle{w.pid, w.now.Add(took), attempt})
}

// pass lets time go by, and the cycles end that are over.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	var still []*cycle
	for _, c := range w.busy {
		if c.until.After(w.now) && c.until.Before(w.now.Add(4*time.Hour)) {
			still = append(still, c)
			continue
		}
		c.attempt.ledger.on(w.fs, c.attempt.ledger.Path)
		res := Result{Cycle: "c"}
		if c.until.Unix()%4 == 0 { // no reply
			res.Exit, res.Again = 1, c.attempt.Again()
		}
		if err := c.attempt.Settle(res); err != nil {
			w.t.Fatal(err)
		}
	}
	w.busy = still
}

// minute is what may happen in one.
func (w *world) minute() {
	switch n := w.dice.IntN(40_000); {
	case n < 4: // switched off; what ran is dead
		w.figures.outages++
		w.busy = nil
		w.pass(time.Duration(1+w.dice.IntN(3*24*60)) * time.Minute)
	case n < 10: // suspended: what runs goes on afterwards
		w.figures.outages++
		w.pass(time.Duration(1+w.dice.IntN(600)) * time.Minute)
	case n < 13: // the clock is set back, later it is right again
		w.figures.jumps++
		w.pass(-time.Duration(1+w.dice.IntN(5000)) * time.Second)
	}
	w.pass(time.Minute)
}

// next is the next minute at which cron, which looks at every minute, finds
// something; or the very second, for a process that sleeps until it.
func (w *world) sleep(until time.Time, exact bool) {
	for w.now.Before(until) {
		if left := until.Sub(w.now); exact && left < time.Minute {
			w.pass(left)
			return
		}
		before := w.now
		w.minute()
		if d := w.now.Sub(before); d != time.Minute {
			return
		}
	}
}

func (w *world) run(until time.Time) {
	for w.now.Before(until) {
		next, err := w.ledger(w.fs).NextDue(w.entries)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(w.busy) > 0 {
			next = w.now.Add(time.Minute)
		}
		w.sleep(earlier(cmp.Or(next, until), w.now.Add(6*time.Hour)), w.dice.IntN(2) == 0)
		w.wake()
		if w.dice.IntN(20) == 0 {
			w.wake() // a second one, at the same moment
		}
		if w.dice.IntN(5) == 0 {
			w.pass(time.Minute)
		}
	}
}

// check walks the ledger: no slot was begun twice, and each is accounted for.
func (w *world) check(from time.Time) (slots int, ends map[Status]int) {
	l := w.ledger(w.fs)
	for key, n := range w.begun {
		if n > 1 {
			w.t.Errorf("slot %s was begun %d times", key, n)
		}
	}
	final := map[string]Status{}
	var ranges []Record
	for r, err := range l.Records() {
		if err != nil {
			w.t.Fatal(err)
		}
		if r.Count > 1 {
			ranges = append(ranges, r)
			continue
		}
		key := fmt.Sprint(r.Entry, r.Slot.Unix())
		if final[key] != Running && final[key].Began() && final[key] != r.Status && (r.Status != Running || r.Attempt < 2) {
			w.t.Errorf("slot %s %s was %s and became %s", r.Cron, r.Slot, final[key], r.Status)
		}
		final[key] = r.Status
	}
	ends = map[Status]int{}
	have, err := l.load()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range w.entries {
		for s := range e.Between(from, have.Marks[e.key]) {
			slots++
			status, ok := final[fmt.Sprint(e.key, s.Unix())]
			for i := len(ranges) - 1; !ok && i >= 0; i-- {
				if r := ranges[i]; r.Entry == e.key && !s.Before(r.Slot) && !s.After(r.Last) {
					status, ok = r.Status, true
				}
			}
			if !ok {
				w.t.Errorf("slot %s of %s is lost; the lines around it:%s", s, e.Cron, l.around(e, s))
			}
			waits := slices.ContainsFunc(have.Waits[e.key], func(w stretch) bool { return s.After(w.After) && !s.After(w.Last) })
			if status == Waiting && !waits {
				w.t.Errorf("slot %s of %s waits for ever; the lines around it:%s", s, e.Cron, l.around(e, s))
			}
			ends[status]++
		}
	}
	return slots, ends
}

// around are the lines of an entry that are about slots near one.
func (l *Ledger) around(e Entry, slot time.Time) (text string) {
	for r, err := range jsonl.Read[Record](l.Path) {
		if err == nil && r.Entry == e.key && !r.Slot.After(slot.Add(48*time.Hour)) && r.end().After(slot.Add(-48*time.Hour)) {
			text += fmt.Sprintf("\n%s %s %s to %s: %s %s %s until %s", r.Time, r.Event, r.Slot, r.Last, r.Status, r.As, r.Reason, r.Until)
		}
	}
	return text
}

// TestYear lives through a year: changes of the clock, suspends, outages, jumps,
// cycles that take long, kills at any write and between, woken both by the
// minute and at the second; once with a ledger that grows, once with one that is
// compacted all the time, then until April. ROUSE_SWEEP=full lives through three busy
// ones of each, and to their ends; a quick test through spring, then autumn, in which
// clocks change.
func TestYear(t *testing.T) {
	every, seeds := []string{"30 1-23/5 * * *", "15 */12 * * *", "@every 500m"}, uint64(1)
	if sweep.Full() {
		every, seeds = []string{"30 * * * *", "15 */2 * * *", "@every 95m"}, 3
	}
	year := [2]string{"2026-01-01", "2027-01-01"}
	parts := sweep.Of([2][2]string{{"2026-03-01", "2026-04-01"}, {"2026-10-10", "2026-11-10"}}, [2][2]string{year, {"2026-01-01", "2026-04-15"}}, [2][2]string{year, year})
	for seed := range 2 * seeds {
		w := &world{
			t: t, dice: rand.New(rand.NewPCG(seed/2, 1)), path: filepath.Join(t.TempDir(), "ledger.jsonl"), fs: unsynced{}, begun: map[string]int{},
			now: at(t, parts[seed%2][0]+"T00:00:00Z"), compactAt: 1 << 40, home: "home",
		}
		if seed%2 == 1 {
			w.compactAt, w.keep = 8<<10, 40
		}
		w.entries = List{
			mustNew(t, every[0], "Europe/Berlin"),
			mustNew(t, "30 2 * * *", "Europe/Berlin", func(e *Entry) { e.Missed = MissedAll }),
			mustNew(t, every[1], "America/New_York", func(e *Entry) { e.Overlap, e.Missed = OverlapQueue, MissedAll }),
			mustNew(t, every[2], "UTC", func(e *Entry) { e.Jitter, e.Missed = 5*time.Minute, MissedSkip }),
		}
		start := w.now
		w.run(at(t, parts[seed%2][1]+"T00:00:00Z"))
		slots, ends := w.check(start)
		sum := 0
		for _, n := range ends {
			sum += n
		}
		if sum != slots || ends[Ran] < slots/3 || ends[CaughtUp] == 0 || ends[Missed] == 0 || ends[Unknown] == 0 || w.keep > 0 && w.figures.compactions < 5 {
			t.Errorf("%d of %d slots accounted for: %v; %+v", sum, slots, ends, w.figures)
		}
		if !t.Failed() {
			t.Logf("P54, seed %d: %d slots, doubles 0, lost 0: %v; %+v; a ledger of %d KiB", seed/2, slots, ends, w.figures, w.size>>10)
		}
	}
}
