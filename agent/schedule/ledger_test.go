package schedule

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/proc"
	"rouse/internal/sweep"
)

func TestMain(m *testing.M) { disktest.Main(m) }

// desk is a ledger whose clock and processes a test holds.
type desk struct {
	*Ledger
	t    *testing.T
	time time.Time
	dead map[int]bool
}

func newDesk(t *testing.T, now string) *desk {
	d := &desk{t: t, time: at(t, now), dead: map[int]bool{}}
	d.Ledger = &Ledger{
		Path: filepath.Join(t.TempDir(), "logs", "ledger.jsonl"), Now: func() time.Time { return d.time }, Since: d.time,
		self: proc.Identity{PID: 1}, alive: func(id proc.Identity) bool { return !d.dead[id.PID] },
	}
	return d
}

// due calls Due at a time, and says what was taken.
func (d *desk) due(now string, entries List, gate Gate) (*Attempt, string) {
	d.t.Helper()
	if now != "" {
		d.time = at(d.t, now)
	}
	a, err := d.Due(entries, gate)
	if err != nil {
		d.t.Fatal(err)
	}
	if a == nil {
		return nil, "nothing"
	}
	return a, fmt.Sprintf("%s %s", a.Time.UTC().Format("15:04"), a.As)
}

func (d *desk) settle(a *Attempt) {
	d.t.Helper()
	if err := a.Settle(Result{Cycle: "20260101_000000"}); err != nil {
		d.t.Fatal(err)
	}
}

// ends is what became of all slots, in the order of their last lines.
func (d *desk) ends() string {
	d.t.Helper()
	var words []string
	slots, err := d.Slots()
	if err != nil {
		d.t.Fatal(err)
	}
	for _, r := range slots {
		word := r.Slot.UTC().Format("15:04") + " " + string(r.Status)
		if r.Count > 1 {
			word = fmt.Sprintf("%s x%d", word, r.Count)
		}
		if r.Reason != "" {
			word += " " + r.Reason
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func (d *desk) want(got, want string) {
	d.t.Helper()
	if got != want {
		d.t.Errorf("got %s, want %s", got, want)
	}
}

// TestTurns has entries whose slots fall together take turns.
func TestTurns(t *testing.T) {
	d := newDesk(t, "2026-01-01T08:59:30Z")
	l := List{mustNew(t, "0 * * * *", "UTC"), mustNew(t, "0 9 * * *", "UTC")}
	d.due("", l, nil)
	a, _ := d.due("2026-01-01T09:00:01Z", l, nil)
	_, got := d.due("2026-01-01T09:05:00Z", l, nil)
	d.want(got, "nothing")
	d.settle(a)
	a, got = d.due("2026-01-01T09:06:00Z", l, nil)
	d.want(got+" "+a.Cron, "09:00 late 0 9 * * *")
}

// A process that is dead, or that has nothing to say any more.
func TestUnknownIsNotRunAgain(t *testing.T) {
	for _, alone := range []bool{false, true} {
		d := newDesk(t, "2026-01-01T09:30:00Z")
		l := List{mustNew(t, "0 * * * *", "UTC")}
		d.due("", l, nil)
		_, got := d.due("2026-01-01T10:00:01Z", l, nil)
		d.want(got, "10:00 ran")
		d.dead[1], d.Alone = !alone, alone
		d.self.PID = 2
		_, got = d.due("2026-01-01T10:01:01Z", l, nil)
		d.want(got, "nothing")
		d.want(d.ends(), "10:00 unknown")
	}
}

func TestClock(t *testing.T) {
	d := newDesk(t, "2026-01-01T09:30:00Z")
	l := List{mustNew(t, "0 * * * *", "UTC")}
	d.due("", l, nil)
	for _, hour := range []string{"10", "11", "12"} {
		a, got := d.due("2026-01-01T"+hour+":00:01Z", l, nil)
		d.want(got, hour+":00 ran")
		d.settle(a)
	}
	// Back to half past ten: eleven and twelve are done, thirteen is not.
	for now, want := range map[string]string{"2026-01-01T10:30:00Z": "nothing"} {
		_, got := d.due(now, l, nil)
		d.want(got, want)
	}
	for _, now := range []string{"2026-01-01T11:00:01Z", "2026-01-01T12:00:01Z"} {
		_, got := d.due(now, l, nil)
		d.want(got, "nothing")
	}
	a, got := d.due("2026-01-01T13:00:01Z", l, nil)
	d.want(got, "13:00 ran")
	d.settle(a)
	// A hundred years ahead: one cycle. And back again: the schedule goes on.
	a, got = d.due("2126-01-01T13:30:00Z", l, nil)
	d.want(got, "13:00 caught_up")
	d.settle(a)
	_, got = d.due("", l, nil)
	d.want(got, "nothing")
	d.due("2026-01-01T13:30:00Z", l, nil)
	_, got = d.due("2026-01-01T14:00:01Z", l, nil)
	d.want(got, "14:00 ran")
}

func TestGateAndWindow(t *testing.T) {
	d := newDesk(t, "2026-01-01T07:30:00Z")
	l := List{mustNew(t, "0 * * * *", "UTC", func(e *Entry) { e.NotBefore.text = "09:00" })}
	d.due("", l, nil)
	for _, hour := range []string{"08", "09"} {
		_, got := d.due("2026-01-01T"+hour+":00:01Z", l, func(Slot) (string, string) { return "paused", "on holiday" })
		d.want(got, "nothing")
	}
	d.want(d.ends(), "08:00 skipped window, 09:00 skipped paused")
}

func TestNotRun(t *testing.T) {
	for _, tt := range []struct {
		overlap string
		res     Result
		want    string
	}{
		{OverlapSkip, Result{Awake: true}, "10:00 skipped overlap"},
		{OverlapQueue, Result{Awake: true}, "10:00 waiting"},
		{OverlapSkip, Result{Exit: 2, Error: "active.yaml:3: bad"}, "10:00 skipped error"},
		{OverlapSkip, Result{Cycle: "c", Exit: 1}, "10:00 ran"},
	} {
		d := newDesk(t, "2026-01-01T09:30:00Z")
		l := List{mustNew(t, "0 * * * *", "UTC", func(e *Entry) { e.Overlap = tt.overlap })}
		d.due("", l, nil)
		a, _ := d.due("2026-01-01T10:00:01Z", l, nil)
		if err := a.Settle(tt.res); err != nil {
			t.Fatal(err)
		}
		d.want(d.ends(), tt.want)
	}
}

// While a cycle is awake that no slot began, a slot that waits is tried now and
// then, and not as fast as processes can be started.
func TestComesBack(t *testing.T) {
	d := newDesk(t, "2026-01-01T09:59:30Z")
	l := List{mustNew(t, "* * * * *", "UTC", func(e *Entry) { e.Overlap = OverlapQueue })}
	d.due("", l, nil)
	a, _ := d.due("2026-01-01T10:00:01Z", l, nil)
	if err := a.Settle(Result{Awake: true}); err != nil {
		t.Fatal(err)
	}
	for now, want := range map[string]string{
		"2026-01-01T10:00:01Z": "10:00:11", "2026-01-01T10:00:20Z": "10:00:20", "2026-01-01T09:58:00Z": "09:58:00",
	} {
		d.time = at(t, now)
		next, err := d.NextDue(l)
		if err != nil {
			t.Fatal(err)
		}
		d.want(next.UTC().Format(time.TimeOnly), want)
	}
	_, got := d.due("2026-01-01T10:00:11Z", l, nil)
	d.want(got, "10:00 ran")
}

func TestAsk(t *testing.T) {
	d := newDesk(t, "2026-01-01T09:30:00Z")
	if err := d.Ask(NextWake, at(t, "2026-01-01T11:00:00Z")); err != nil {
		t.Fatal(err)
	}
	if err := d.Ask(NextWake, at(t, "2026-01-01T10:00:00Z")); err != nil {
		t.Fatal(err)
	}
	next, err := d.NextDue(nil)
	if err != nil || !next.Equal(at(t, "2026-01-01T10:00:00Z")) {
		t.Error(next, err)
	}
	_, got := d.due("2026-01-01T09:59:00Z", nil, nil)
	d.want(got, "nothing")
	a, got := d.due("2026-01-01T10:00:00Z", nil, nil)
	d.want(got, "10:00 ran")
	d.settle(a)
	_, got = d.due("2026-01-01T11:00:30Z", nil, nil)
	d.want(got, "nothing")
}

func TestRemovedEntry(t *testing.T) {
	d := newDesk(t, "2026-01-01T09:30:00Z")
	l := List{mustNew(t, "0 * * * *", "UTC")}
	d.due("", l, nil)
	d.due("2026-01-01T09:40:00Z", nil, nil)
	_, got := d.due("2026-01-03T09:40:00Z", l, nil) // nothing is missed of what was not wanted
	d.want(got+d.ends(), "nothing")
}

// on is the ledger of the next process, on this disk.
func (l *Ledger) on(f disk.FS, path string) {
	_ = l.file().Close()
	l.open, l.Disk, l.Path = sync.Once{}, f, path
}

// TestFaults fails every write of two slots in every way. Whatever fails, nothing
// is begun twice, and the next process goes on.
func TestFaults(t *testing.T) {
	met := disktest.Sweep(t, disktest.Faults(), func(f *disktest.Faulty) {
		d := newDesk(t, "2026-01-01T09:30:00Z")
		l := List{mustNew(t, "0 * * * *", "UTC")}
		begun := map[string]int{}
		wake := func(now string) {
			d.time = at(t, now)
			a, err := d.Due(l, nil)
			if a == nil || err != nil {
				return
			}
			begun[a.Time.String()]++
			_ = a.Settle(Result{Cycle: "c"})
		}
		f.FS = unsynced{}
		d.Disk = f
		wake("2026-01-01T09:30:00Z")
		wake("2026-01-01T10:00:01Z")
		wake("2026-01-01T10:00:02Z")
		wake("2026-01-01T11:00:01Z")
		d.on(unsynced{}, d.Path)
		d.dead[1] = true
		d.self.PID = 2
		wake("2026-01-01T11:00:05Z")
		wake("2026-01-01T12:00:01Z")
		for slot, n := range begun {
			if n > 1 {
				t.Errorf("%s: %s was begun %d times", f.Fault, slot, n)
			}
		}
		if begun[at(t, "2026-01-01T12:00:00Z").String()] != 1 || !strings.HasSuffix(d.ends(), "12:00 ran") {
			t.Errorf("%s: %v, %s", f.Fault, begun, d.ends())
		}
	})
	t.Logf("%d faults met", met)
}

// TestPowerLoss takes the power at every write: a slot that was begun is on the disk.
func TestPowerLoss(t *testing.T) {
	for op := 1; op < 40; op += sweep.Of(3, 1, 1) {
		for seed := range uint64(disktest.Outcomes + 4) {
			d := newDesk(t, "2026-01-01T09:30:00Z")
			l := List{mustNew(t, "0 * * * *", "UTC")}
			root := filepath.Dir(filepath.Dir(d.Path))
			if err := os.MkdirAll(filepath.Dir(d.Path), 0o700); err != nil {
				t.Fatal(err)
			}
			p, err := disktest.NewPowerLoss(root)
			if err != nil {
				t.Fatal(err)
			}
			f := &disktest.Faulty{FS: p, Fault: disktest.Fault{At: op, Stays: true, Mode: disktest.CrashAfter}}
			d.Disk = f
			begun := 0
			for _, now := range []string{"09:30:00", "10:00:01", "10:00:02"} {
				d.time = at(t, "2026-01-01T"+now+"Z")
				if a, err := d.Due(l, nil); err == nil && a != nil {
					begun++
					_ = a.Settle(Result{Cycle: "c"})
				}
			}
			to := t.TempDir()
			if err := p.Crash(to, seed); err != nil {
				t.Fatal(err)
			}
			d.on(disk.OS{}, filepath.Join(to, "logs", "ledger.jsonl"))
			d.dead[1] = true
			d.self.PID = 2
			if _, got := d.due("2026-01-01T10:00:30Z", l, nil); got != "nothing" && begun > 0 {
				t.Errorf("power lost after operation %d: begun %d times, and then %s", op, begun, got)
			}
		}
	}
}

// TestLongLedger reads only the end of a ledger, whatever is before.
func TestLongLedger(t *testing.T) {
	d := newDesk(t, "2026-01-01T00:00:00Z")
	d.Disk, d.compactAt = unsynced{}, 64<<10
	l := List{mustNew(t, "*/15 * * * *", "UTC"), mustNew(t, "0 0 29 2 *", "UTC")}
	d.due("", l, nil)
	ran := 0
	days := sweep.Of(5, 20, 20)
	for range days * 96 {
		d.time = d.time.Add(15 * time.Minute)
		if a, _ := d.due("", l, nil); a != nil {
			ran++
			d.settle(a)
		}
	}
	have, err := d.load()
	if err != nil || have.Base == 0 || len(have.Marks) != 2 {
		t.Errorf("%+v, %v", have, err)
	}
	sum := 0
	slots, err := d.Slots()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range slots {
		sum += r.N()
	}
	if sum != ran || ran != days*96 {
		t.Errorf("%d of %d slots are in the ledger", sum, ran)
	}
}

func TestCompact(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	var lines []Record
	counts := map[Status]int{}
	start := at(t, "2026-01-01T00:00:00Z")
	exit := 0
	for i := range 2000 {
		r := Record{V: 1, Event: eventSlot, Entry: "k", Slot: start.Add(time.Duration(i) * time.Hour), Status: Running}
		lines = append(lines, r)
		r.Status, r.Exit = []Status{Ran, Late, Skipped, Unknown}[dice.IntN(4)], &exit
		counts[r.Status]++
		lines = append(lines, r)
	}
	kept := compact(lines, 500)
	for _, r := range kept {
		counts[r.Status] -= r.N()
	}
	for status, n := range counts {
		if n != 0 {
			t.Errorf("%d slots %s are lost", n, status)
		}
	}
	if len(kept) > 800 {
		t.Errorf("%d lines are kept", len(kept))
	}
}

// TestNewest: the end of a ledger tells of the newest slots what all of it does, the one that runs too.
func TestNewest(t *testing.T) {
	d := newDesk(t, "2026-01-01T09:30:00Z")
	l := List{mustNew(t, "0 * * * *", "UTC"), mustNew(t, "10,30,50 * * * *", "UTC")}
	d.due("", l, nil)
	for i := range 60 {
		d.all(at(t, "2026-01-01T10:00:01Z").Add(time.Duration(i)*time.Hour).Format(time.RFC3339), l)
	}
	d.due("2026-01-03T22:00:01Z", l, nil)
	for _, n := range []int{1, 10, 60, 1000} {
		all, err := d.Slots()
		newest, failed := d.Newest(n)
		if all = all[max(0, len(all)-n):]; err != nil || failed != nil || !cmp.Equal(all, newest) || n > 1 && !slices.ContainsFunc(newest, func(r Record) bool { return r.Status == Running }) {
			t.Errorf("the newest %d of %d: %v %v\n%s", n, len(all), err, failed, cmp.Diff(all, newest))
		}
	}
}

func TestTornLine(t *testing.T) {
	d := newDesk(t, "2026-01-01T09:30:00Z")
	l := List{mustNew(t, "0 * * * *", "UTC")}
	d.due("", l, nil)
	a, _ := d.due("2026-01-01T10:00:01Z", l, nil)
	d.settle(a)
	f, err := os.OpenFile(d.Path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`{"v":1,"event":"slot","slot":"2026-01-01T11:0`)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	a, _ = d.due("2026-01-01T11:00:01Z", l, nil)
	d.settle(a)
	d.want(d.ends(), "10:00 ran, 11:00 ran")
}
