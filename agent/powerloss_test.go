package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/journal"
	"rouse/scratchpad"
)

// The power goes at every write of a cycle, and with it anything that was not
// made durable: the memory is old or new, what was acknowledged is there, and a
// call that had an effect is known to the journal.
func TestPowerLossAtEveryWrite(t *testing.T) {
	var total losses
	points := disktest.Sweep(t, []disktest.Fault{{Mode: disktest.CrashBefore}, {Mode: disktest.CrashHalf}}, func(f *disktest.Faulty) {
		total.run(t, f, newRig(t, "", oldState))
	})
	t.Logf("%d points", points)
	total.log(t)
}

// The same in a home without folders, as a clone has it, and with an error at
// every write before the power goes: an fsync that failed is not trusted.
func TestPowerLossOfANewHomeAndAfterErrors(t *testing.T) {
	var total losses
	const eio = syscall.EIO
	run := func(f *disktest.Faulty) {
		r := newRig(t, "", "")
		r.must(os.Remove(r.home.Memory()))
		r.must(os.Remove(r.home.Logs()))
		total.run(t, f, r)
	}
	run(&disktest.Faulty{})
	disktest.Sweep(t, []disktest.Fault{{Mode: disktest.CrashBefore}, {Mode: disktest.Before, Err: eio}, {Mode: disktest.After, Err: eio}}, run)
	total.log(t)
}

// What leaves the memory is not lost with the power, nor put away twice.
func TestPowerLossWhileTidying(t *testing.T) {
	points := 0
	disktest.Sweep(t, []disktest.Fault{{Mode: disktest.CrashBefore}, {Mode: disktest.CrashHalf}}, func(f *disktest.Faulty) {
		r := newRig(t, "", crowded())
		defer os.RemoveAll(filepath.Dir(r.home.Dir))
		power, err := disktest.NewPowerLoss(r.home.Dir)
		r.must(err)
		f.FS = power
		_, _ = r.tidyAgent(f, act("done", `{"summary":"seen"}`)).RunOnce(t.Context())
		for seed := range uint64(disktest.Outcomes + 2) {
			points++
			left := r.in(fmt.Sprintf("%s.%d", r.home.Dir, seed))
			r.must(os.Mkdir(left.home.Dir, 0o700))
			r.must(power.Crash(left.home.Dir, seed))
			left.now = left.now.Add(time.Minute)
			a := left.tidyAgent(unsynced{disk.OS{}}, act("done", `{"summary":"went on"}`))
			if report, err := a.RunOnce(t.Context()); err != nil || report.Exit != 0 {
				t.Fatalf("%v, seed %d: %+v, %v", f.Fault, seed, report, err)
			}
			left.checkTidy(t, fmt.Sprintf("%v, seed %d", f.Fault, seed), true)
			left.checkFolded(t, fmt.Sprintf("%v, seed %d", f.Fault, seed))
		}
	})
	t.Logf("finished tasks lost or doubled 0 / %d losses of power", points)
}

// losses counts what became of cycles that lost their power.
type losses struct{ points, acknowledged, effects, unknown, orphans int }

func (l *losses) log(t *testing.T) {
	t.Helper()
	t.Logf("torn 0 / %d losses of power; acknowledged-then-lost 0 / %d; effects without an intent 0 / %d, of unknown outcome %d; snapshots without a journal %d",
		l.points, l.acknowledged, l.effects, l.unknown, l.orphans)
	if l.acknowledged == 0 || l.effects == 0 || l.unknown == 0 {
		t.Error("some of it never happened")
	}
}

// run runs a cycle that meets the fault, then takes the power away, in several
// ways, and wakes again in what is left.
func (l *losses) run(t *testing.T, f *disktest.Faulty, r *rig) {
	defer os.RemoveAll(filepath.Dir(r.home.Dir))
	power, err := disktest.NewPowerLoss(r.home.Dir)
	r.must(err)
	f.FS = power
	a, _ := r.agent(f, whole...)
	a.Task = "look around"
	_, err = a.RunOnce(t.Context())
	saved := r.active()
	for seed := range uint64(disktest.Outcomes + 2) {
		left := r.in(fmt.Sprintf("%s.%d", r.home.Dir, seed))
		r.must(os.Mkdir(left.home.Dir, 0o700))
		r.must(power.Crash(left.home.Dir, seed))
		context := fmt.Sprintf("%v, seed %d", f.Fault, seed)
		if len(f.Fired()) == 0 {
			left.checkSettled(context) // all of it was acknowledged
		}
		l.check(t, left, err == nil, saved, context)
	}
}

func (l *losses) check(t *testing.T, r *rig, acknowledged bool, saved, context string) {
	t.Helper()
	l.points++
	if acknowledged {
		l.acknowledged++
		if r.active() != saved {
			t.Fatalf("%s: acknowledged, then lost: %q", context, r.active())
		}
	}
	old, _, err := r.home.Load()
	if err != nil {
		t.Fatalf("%s: torn: %v", context, err)
	}
	for _, label := range r.ran {
		l.effects++
		if !intended(r, label) {
			t.Fatalf("%s: call %s had its effect, and no journal has its intent", context, label)
		}
	}
	r.wakeAgain(context)
	l.checkTold(t, r, context)
	now := r.state(r.home.Active())
	if len(now.Notes()) < len(old.Notes()) {
		t.Fatalf("%s: notes became shorter", context)
	}
	if saved := len(r.ran) > 1; saved && !holds(now, "fact") {
		t.Fatalf("%s: what was before an effect is lost", context)
	}
	l.checkCycles(t, r, context)
}

func holds(s *scratchpad.State, key string) bool {
	_, ok := s.Value(key)
	return ok
}

// checkTold wants the notes to tell of each effect once.
func (l *losses) checkTold(t *testing.T, r *rig, context string) {
	t.Helper()
	notes := r.state(r.home.Active()).Notes()
	for _, label := range r.ran {
		done, unknown := told(notes, label)
		if done+unknown != 1 {
			t.Fatalf("%s: call %s is told %d times as done and %d times as unknown:%s", context, label, done, unknown, notes)
		}
		l.unknown += unknown
	}
}

// checkCycles wants every cycle that has a journal to be asleep, and counts the
// snapshots of those that lost theirs: they had done nothing.
func (l *losses) checkCycles(t *testing.T, r *rig, context string) {
	t.Helper()
	for _, id := range r.cycles() {
		if events := r.events(id); len(events) == 0 || events[len(events)-1].Event != "sleep" {
			t.Fatalf("%s: cycle %s never slept", context, id)
		}
	}
	entries, err := os.ReadDir(r.home.Memory())
	r.must(err)
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), "_before.yaml"); ok && !disk.Exists(r.home.Journal(id)) {
			l.orphans++
		}
	}
}

func intended(r *rig, label string) bool {
	for _, id := range r.cycles() {
		for _, e := range r.events(id) {
			if i, ok := e.Data.(*journal.Intent); ok && strings.Contains(string(i.Args), fmt.Sprintf("%q", label)) {
				return true
			}
		}
	}
	return false
}
