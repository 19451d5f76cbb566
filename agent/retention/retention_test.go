package retention

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rouse/home"
	"rouse/internal/disk/disktest"
	"rouse/internal/sweep"
	"rouse/journal"
)

func TestMain(m *testing.M) { disktest.Main(m) }

const day = 24 * time.Hour

var now = time.Date(2026, 4, 30, 12, 0, 0, 0, time.UTC)

// made is a cycle that a test made.
type made struct {
	id, outcome  string // "" has not slept, "gone" has no journal
	age          time.Duration
	readable     bool
	before, both bool // which snapshots it has
}

// farm is a home's files; it remembers what it made.
type farm struct {
	Store
	Logs, Memory string // its folders

	t      testing.TB
	cycles []made
	other  []string // files that are no cycle's
}

func newFarm(t testing.TB) *farm {
	h := home.Home{Dir: t.TempDir()}
	f := &farm{t: t, Logs: h.Logs(), Memory: h.Memory(), Store: Store{
		Home: h, Policy: Policy{Keep: 30 * day, KeepFailed: 90 * day}, Now: func() time.Time { return now },
	}}
	f.must(errors.Join(os.Mkdir(f.Logs, 0o700), os.Mkdir(f.Memory, 0o700)))
	f.write(f.marker(), "", day)
	return f
}

func (f *farm) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *farm) write(path, text string, age time.Duration) {
	f.t.Helper()
	f.must(os.WriteFile(path, []byte(text), 0o600))
	f.must(os.Chtimes(path, now.Add(-age), now.Add(-age)))
}

// add makes a cycle; its id says when the clock believed that it began.
func (f *farm) add(m made, believed time.Time) {
	m.id = believed.Format("20060102_150405")
	if m.outcome != "gone" {
		text := `{"v":1,"seq":1,"time":"2026-01-01T00:00:00Z","cycle":"c","event":"wake"}` + "\n" + strings.Repeat(" ", 2000) + "\n"
		if m.outcome != "" {
			text += fmt.Sprintf(`{"v":1,"seq":2,"time":"2026-01-01T00:00:00Z","cycle":"c","event":"sleep","outcome":%q}`+"\n", m.outcome)
		}
		f.write(f.Home.Journal(m.id), text, m.age)
		f.write(f.Home.Log(m.id), "log\n", m.age)
	}
	text := "goals: [a]\nnotes: b\n"
	if !m.readable {
		text = "{spoilt"
	}
	if m.before {
		f.write(f.Home.Before(m.id), text, m.age+time.Minute)
	}
	if m.both {
		f.write(f.Home.After(m.id), text, m.age)
	}
	f.cycles = append(f.cycles, m)
}

// noise makes files that are no cycle's and must stay, however old.
func (f *farm) noise() {
	for _, name := range []string{
		"ledger.jsonl", "spend.jsonl", "spend.lock", "notify.json", "notes_dropped.log", ".gitignore", "cycle_.jsonl",
		"cycle_20200101_000000.jsonl.bak", "cycle_20200101_000000_x.log", "cycle_2020010a_000000.log", "20200101_000000_before.yaml", "run.log",
	} {
		f.other = append(f.other, filepath.Join(f.Logs, name))
	}
	for _, name := range []string{
		"active.yaml", "initial.yaml", "20200101_000000_reset.yaml", "20200101_000000.yaml", "x20200101_000000_after.yaml",
		"cycle_20200101_000000_before.yaml", "observations.db", ".active.yaml.0123abcd.tmp",
	} {
		f.other = append(f.other, filepath.Join(f.Memory, name))
	}
	for _, path := range f.other {
		f.write(path, "x", 3000*day)
	}
}

// files lists what is there.
func (f *farm) files() map[string]bool {
	list := map[string]bool{}
	for _, dir := range []string{f.Logs, f.Memory} {
		entries, err := os.ReadDir(dir)
		f.must(err)
		for _, e := range entries {
			list[filepath.Join(dir, e.Name())] = true
		}
	}
	delete(list, f.marker())
	return list
}

// kept says, by the words of the policy, which cycles must stay.
func (f *farm) kept() map[string]bool {
	kept := map[string]bool{}
	sorted := slices.SortedFunc(slices.Values(f.cycles), func(a, b made) int { return strings.Compare(b.id, a.id) })
	kept[sorted[0].id] = true
	pair := func(also func(made) bool) {
		for _, m := range sorted {
			if m.before && m.both && m.readable && also(m) {
				kept[m.id] = true
				return
			}
		}
	}
	pair(func(made) bool { return true })
	pair(func(m made) bool { return m.outcome == journal.Done })
	for _, m := range f.cycles {
		keep := f.Policy.KeepFailed
		if m.outcome == journal.Done || m.outcome == journal.Idle {
			keep = f.Policy.Keep
		}
		if m.outcome == "" || m.age < keep {
			kept[m.id] = true
		}
	}
	return kept
}

// check compares the files with what must be there. Where some could not be
// removed, none may be missing that must stay.
func (f *farm) check(all map[string]bool, complete bool) (lost, left int) {
	f.t.Helper()
	kept, there, ids := f.kept(), f.files(), map[string]string{}
	for _, c := range f.cycles {
		for _, kind := range []home.Kind{home.JournalFile, home.LogFile, home.BeforeFile, home.AfterFile} {
			ids[f.Home.Left(kind, c.id)] = c.id
		}
	}
	for path := range all {
		stays := ids[path] == "" || kept[ids[path]]
		if stays && !there[path] {
			f.t.Errorf("%s is lost", path)
			lost++
		}
		if !stays && there[path] {
			left++
		}
	}
	if complete && left > 0 {
		f.t.Errorf("%d files are left", left)
	}
	return lost, left
}

// grow makes n cycles, one every so often, some of them odd in each way.
func (f *farm) grow(n int, every time.Duration, rnd *rand.Rand) {
	outcomes := []string{
		journal.Done, journal.Done, journal.Done, journal.Done, journal.Idle, journal.Failed, journal.Limited, journal.Signal, "", "gone",
	}
	ahead := time.Duration(0)
	for i := range n {
		age := time.Duration(n-i) * every
		m := made{outcome: outcomes[rnd.IntN(len(outcomes))], age: age, readable: rnd.IntN(20) > 0, before: rnd.IntN(20) > 0, both: rnd.IntN(10) > 0}
		if m.outcome == "" && rnd.IntN(10) > 0 {
			m.outcome = journal.Done // few are not settled
		}
		if i == n/2 {
			ahead = 30 * 365 * day // the clock was wrong from here on, and so are the ids
		}
		f.add(m, now.Add(ahead-age))
	}
}

// P14: of ten thousand cycles, or some of them, there stays what the policy keeps.
func TestTenThousandCycles(t *testing.T) {
	f := newFarm(t)
	f.noise()
	f.grow(sweep.Of(2500, 10_000, 10_000), sweep.Of(time.Hour, 15*time.Minute, 15*time.Minute), rand.New(rand.NewPCG(1, 2))) // 104 days
	all := f.files()
	before, err := f.Size()
	f.must(err)
	if !f.Due() {
		t.Error("not due at first")
	}
	began := time.Now()
	r, err := f.Apply(t.Context())
	took := time.Since(began)
	f.must(err)
	lost, left := f.check(all, true)
	after, err := f.Size()
	f.must(err)
	// Sizes are estimated from some of the cycles; check has counted the files.
	off := float64(before.Logs+before.Snapshots-after.Logs-after.Snapshots)/float64(r.Bytes) - 1
	if f.Due() || off < -0.1 || off > 0.1 || r.Cycles == 0 {
		t.Errorf("%+v of %+v, %+v is left", r, before, after)
	}
	f.Now = func() time.Time { return now.Add(day) }
	if !f.Due() {
		t.Error("not due after a day")
	}
	mb := func(s Size) float64 { return float64(s.Logs+s.Snapshots) / 1e6 }
	t.Logf("%d cycles, %.1f MB → %d cycles, %.1f MB; %d files lost, %d left; %s", before.Cycles, mb(before), after.Cycles, mb(after), lost, left, took.Round(time.Millisecond))
}

// Any history, applied any number of times, cut short anywhere.
func TestHistories(t *testing.T) {
	seeds := sweep.Of(50, 200, 1000)
	lost, removed := 0, 0
	for seed := range uint64(seeds) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		f := newFarm(t)
		f.noise()
		f.grow(1+rnd.IntN(12), []time.Duration{time.Hour, 7 * day, 20 * day, 100 * day}[rnd.IntN(4)], rnd)
		all := f.files()
		ctx, cancel := context.WithCancel(t.Context())
		f.Disk = &disktest.Faulty{Fault: disktest.Fault{At: rnd.IntN(20), Mode: disktest.Before, Err: syscall.EACCES}}
		if rnd.IntN(4) == 0 {
			cancel()
		}
		r, err := f.Apply(ctx)
		if ctx.Err() != nil && (err != nil || !f.Due()) {
			t.Errorf("seed %d: cut short and done: %v", seed, err)
		}
		cancel()
		n, _ := f.check(all, false)
		lost, removed = lost+n, removed+r.Files
		f.Disk = nil
		r, err = f.Apply(t.Context())
		f.must(err)
		n, _ = f.check(all, true)
		lost, removed = lost+n, removed+r.Files
	}
	if removed == 0 {
		t.Error("nothing was ever removed")
	}
	t.Logf("%d histories: %d files removed, lost %d", seeds, removed, lost)
}

// However the disk fails, nothing that must stay is lost, and the next time ends it.
func TestFaults(t *testing.T) {
	points := disktest.Sweep(t, disktest.Faults(), func(d *disktest.Faulty) {
		f := newFarm(t)
		f.noise()
		f.add(made{outcome: journal.Done, age: 50 * day, readable: true, before: true, both: true}, now.Add(-50*day))
		f.add(made{outcome: journal.Failed, age: 40 * day, readable: true, before: true, both: true}, now.Add(-40*day))
		f.add(made{outcome: journal.Done, age: 39 * day, readable: false, before: true, both: true}, now.Add(-39*day))
		f.add(made{outcome: journal.Done, age: time.Hour, readable: false, before: true}, now)
		all := f.files()
		f.Disk = d
		_, err := f.Apply(t.Context())
		if len(d.Fired()) > 0 && err == nil {
			t.Errorf("%v: not told", d.Fault)
		}
		f.check(all, false)
		f.Disk = nil
		_, err = f.Apply(t.Context())
		f.must(err)
		f.check(all, true)
	})
	t.Logf("lost 0 / %d faults", points)
}

func TestEmpty(t *testing.T) {
	f := newFarm(t)
	if r, err := f.Apply(t.Context()); err != nil || r != (Removed{}) {
		t.Errorf("%+v %v", r, err)
	}
	none := Store{Home: home.Home{Dir: filepath.Join(f.Logs, "none")}, Policy: f.Policy}
	if _, err := none.Size(); err != nil {
		t.Error(err)
	}
}

// A copy stays while a kept journal names it, wherever in it, and goes with the
// last one that did.
func TestCopiesGoWithTheirJournals(t *testing.T) {
	f := newFarm(t)
	f.add(made{outcome: journal.Done, age: 50 * day, readable: true, before: true, both: true}, now.Add(-50*day))
	f.add(made{outcome: journal.Failed, age: 40 * day, readable: true, before: true, both: true}, now.Add(-40*day))
	f.add(made{outcome: journal.Done, age: time.Hour, readable: true, before: true, both: true}, now)
	dir := f.Home.Made()
	f.must(os.Mkdir(dir, 0o700))
	name := func(n int) string { return fmt.Sprintf("%064x", n) }
	for i, c := range f.cycles { // each names one of its own, and one with the next
		for _, n := range []int{i, i + 10, i + 11} {
			f.write(filepath.Join(dir, name(n)), "text", 60*day)
			path := f.Home.Journal(c.id)
			text, err := os.ReadFile(path)
			f.must(err)
			f.write(path, fmt.Sprintf(`{"event":"made","made":{"tools":%q}}`+"\n", name(n))+string(text), c.age)
		}
	}
	f.write(filepath.Join(dir, name(20)), "of this minute, not in a journal yet", 0)
	f.write(filepath.Join(dir, "note.txt"), "a person's", 99*day)
	f.write(filepath.Join(dir, "."+name(0)+".01234567.tmp"), "of a writer that died", 40*day)
	_, err := f.Apply(t.Context())
	f.must(err)
	entries, err := os.ReadDir(dir)
	f.must(err)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	kept := []string{name(1), name(2), name(11), name(12), name(13), name(20), "note.txt"}
	if !slices.Equal(left, kept) {
		t.Errorf("left %v\nwant %v", left, kept)
	}
}
