package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/sweep"
)

// Settling meets a fault at any of its writes, twice in a row, and then none: the
// end is the same, to the byte, as if there had been no fault.
func TestRecoveryMeetsFaultsTwice(t *testing.T) {
	base := t.TempDir()
	ops := countOps(t, filepath.Join(base, "count"))
	step := sweep.Of(19, 11, 1)
	interrupted, points := 0, 0
	for at := 9; at <= ops; at += step {
		dir := filepath.Join(base, fmt.Sprint(at))
		r := newRig(t, dir, oldState)
		a, _ := r.agent(&disktest.Faulty{FS: unsynced{disk.OS{}}, Fault: disktest.Fault{At: at, Mode: disktest.CrashHalf}}, whole...)
		_, _ = a.RunOnce(t.Context()) // what became of it is in the journal
		if len(r.cycles()) == 0 {
			continue // the home was still brought up
		}
		if events := r.events(r.cycles()[0]); len(events) > 0 && events[len(events)-1].Event == "sleep" {
			continue // there is nothing left to settle
		}
		interrupted++
		want := outcome(t, settled(t, r, dir+".want"))
		n := 0
		points += disktest.Sweep(t, recoveryFaults(), func(f *disktest.Faulty) {
			n++
			again := copied(r, fmt.Sprintf("%s.%d", dir, n))
			settleFaulty(t, again, f)
			settleFaulty(t, again, &disktest.Faulty{Fault: f.Fault})
			if got := outcome(t, settled(t, again, dir+".got")); got != want {
				t.Fatalf("crash at %d, then %v twice:\n%s\nwithout a fault:\n%s", at, f.Fault, got, want)
			}
			r.must(os.RemoveAll(again.home.Dir))
		})
	}
	t.Logf("other outcomes 0 / %d faults, each met twice, while %d interrupted cycles were settled", points, interrupted)
}

// A snapshot that is gone, as after a power cut, is no reason to forget a call
// whose outcome is unknown, also where active.yaml was edited since: the edit
// stays, and what the cycle noted is added to it, once, wherever that is
// interrupted.
func TestSettleAnEditWithoutSnapshot(t *testing.T) {
	r := newRig(t, "", oldState)
	a, m := r.agent(unsynced{disk.OS{}}, whole...)
	m.during = func(i int) {
		if i == 3 {
			panic("killed")
		}
	}
	crash(func() { a.RunOnce(t.Context()) })
	id := r.cycles()[0]
	r.must(os.Remove(r.home.Before(id)))
	const edit = "# mine\ncurrent_task: mine\nnotes: mine\n"
	r.must(os.WriteFile(r.home.Active(), []byte(edit), 0o600))
	points := disktest.Sweep(t, []disktest.Fault{{Mode: disktest.CrashBefore}, {Mode: disktest.CrashAfter}}, func(f *disktest.Faulty) {
		again := copied(r, r.home.Dir+".again")
		settleFaulty(t, again, f)
		a, _ := again.agent(unsynced{disk.OS{}})
		_, err := a.settle()
		r.must(err)
		text, notes := again.active(), again.state(again.home.Active()).Notes()
		if !strings.HasPrefix(text, "# mine\ncurrent_task: mine\n") || !strings.HasPrefix(notes, "mine\n[TOOL] effect") ||
			strings.Count(notes, "did b") != 1 || strings.Count(notes, "[INTERRUPTED] cycle "+id) != 1 {
			t.Fatalf("%v: %s", f.Fault, text)
		}
	})
	t.Logf("notes lost or doubled 0 / %d crashes", points)
}

// recoveryFaults are the crashes and what can come of one error, or all faults.
func recoveryFaults() []disktest.Fault {
	all := disktest.Faults()
	if sweep.Full() {
		return all
	}
	return append(all[:3:3], all[3], all[7]) // once before, once after
}

func countOps(t *testing.T, dir string) int {
	t.Helper()
	f := &disktest.Faulty{FS: unsynced{disk.OS{}}}
	a, _ := newRig(t, dir, oldState).agent(f, whole...)
	if report, err := a.RunOnce(t.Context()); err != nil || report.Exit != 0 {
		t.Fatal(report, err)
	}
	return len(f.Ops())
}

// copied is the rig with a copy of its home.
func copied(r *rig, dir string) *rig {
	r.t.Helper()
	c := r.in(dir)
	r.must(os.RemoveAll(dir))
	r.must(os.CopyFS(dir, os.DirFS(r.home.Dir)))
	return c
}

// settleFaulty settles on a disk that fails, and wants an error if it failed.
func settleFaulty(t *testing.T, r *rig, f *disktest.Faulty) {
	t.Helper()
	f.FS = unsynced{disk.OS{}}
	a, _ := r.agent(f)
	_, err := a.settle()
	for _, op := range f.Fired() {
		if err == nil && !strings.HasPrefix(op, "close ") {
			t.Fatalf("%v: settled in spite of %q", f.Fault, op)
		}
	}
}

// settled is a copy of the rig's home, settled on a healthy disk.
func settled(t *testing.T, r *rig, dir string) *rig {
	t.Helper()
	c := copied(r, dir)
	a, _ := c.agent(unsynced{disk.OS{}})
	_, err := a.settle()
	r.must(err)
	c.checkSettled("settled")
	return c
}

// outcome is the memory and its snapshots.
func outcome(t *testing.T, r *rig) string {
	t.Helper()
	var b strings.Builder
	names, err := filepath.Glob(filepath.Join(r.home.Memory(), "*"))
	r.must(err)
	for _, name := range names {
		fmt.Fprintf(&b, "--- %s\n%s", filepath.Base(name), r.read(name))
	}
	return b.String()
}
