package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rouse/agent/history"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/sweep"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/tools"
)

// night is a rig after two cycles, the second a bad one, and what was before that.
type night struct {
	*rig
	bad   string // the cycle
	files string
}

func badNight(t testing.TB, dir string) night {
	r := newRig(t, dir, oldState)
	r.file("mine", "of a person")
	r.file("sub/kept", "kept")
	n := night{rig: r}
	for _, replies := range [][]string{
		{write("report", "good"), slept},
		{write("mine", "spoilt"), act("effect", `{"label":"mail"}`), write("new/junk", "junk"), act("update_scratchpad", `{"goals":[]}`), slept},
	} {
		n.files = n.tree()
		report, err := r.keeping(unsynced{disk.OS{}}, replies...).RunOnce(t.Context())
		r.must(err)
		n.bad, r.now = report.Cycle, r.now.Add(time.Minute)
	}
	return n
}

// tree is the workspace in words.
func (r *rig) tree() string {
	var b strings.Builder
	root := filepath.Join(r.home.Dir, "workspace")
	r.must(filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			fmt.Fprintf(&b, "%s: %s\n", strings.TrimPrefix(path, root), r.read(path))
		}
		return err
	}))
	return b.String()
}

// asBefore wants the memory of before a cycle, but for the stamp and one line.
func (n night) asBefore(context string) {
	n.t.Helper()
	now, was := n.state(n.home.Active()), n.state(n.home.Before(n.bad))
	for _, d := range scratchpad.Diff(was, now) {
		if d.Key != "last_updated" && (d.Key != "notes" || strings.Count(now.Notes(), "[REWOUND]") != 1) {
			n.t.Fatalf("%s: the memory is not as before: %+v", context, d)
		}
	}
	if n.tree() != n.files {
		n.t.Fatalf("%s: the workspace is not as before:\n%s\nwant\n%s", context, n.tree(), n.files)
	}
}

func (n night) keeper(f disk.FS) *Keeper {
	a := n.keeping(f)
	if faulty, ok := f.(*disktest.Faulty); ok {
		a.History.Workspace = func(d disk.FS) disk.FS { return through{faulty, d} }
	}
	return &a.Keeper
}

// through counts the operations on the workspace with the others, by its own names.
type through struct {
	*disktest.Faulty
	below disk.FS
}

// Rename is the moment at which a file of the workspace is replaced.
func (w through) Rename(from, to string) error {
	gate := filepath.Join(os.TempDir(), "gate") // never there: what passes it says so
	if err := w.Faulty.Remove(gate); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return w.below.Rename(from, to)
}

func (w through) Remove(name string) error                     { return w.below.Remove(name) }
func (w through) MkdirAll(name string, perm os.FileMode) error { return w.below.MkdirAll(name, perm) }
func (w through) SyncDir(string) error                         { return nil }
func (w through) OpenFile(name string, flag int, perm os.FileMode) (disk.File, error) {
	return w.below.OpenFile(name, flag, perm)
}

// Memory and files go back, the rewind is a cycle that people see, and it is undone by
// another. The journal of what it rewound stays.
func TestRewind(t *testing.T) {
	n := badNight(t, "")
	worse, memory := n.tree(), n.active()
	k := n.keeper(unsynced{disk.OS{}})
	all := Rewind{Cycle: n.bad, Memory: true, Files: true}
	p, err := k.Rewind(all, false)
	if n.must(err); n.tree() != worse || n.active() != memory || len(n.cycles()) != 2 {
		t.Fatal("to show it changed something")
	}
	if len(p.Changes) != 3 || len(p.Keys) != 4 || len(p.Calls) != 1 || p.Calls[0].Tool != "effect" {
		t.Errorf("%+v", p)
	}
	p, err = k.Rewind(all, true)
	n.must(err)
	n.asBefore("rewound")
	list, err := Summaries(n.home, 1)
	n.must(err)
	if list[0].Cycle != p.Done || list[0].Rewound != n.bad || list[0].Outcome != journal.Done {
		t.Errorf("%+v", list[0])
	}
	n.checkSettled("rewound")
	if again, err := k.Rewind(Rewind{Cycle: n.bad, Files: true}, true); err != nil || again.Done != "" {
		t.Errorf("nothing is left to do, and %+v, %v", again, err)
	}
	undo, err := LastRewind(n.home)
	n.must(err)
	n.now = n.now.Add(time.Minute)
	_, err = k.Rewind(undo, true)
	n.must(err)
	if list, err := Summaries(n.home, 1); err != nil || list[0].Task != journal.TaskNone {
		t.Errorf("a rewind claims a task: %+v, %v", list, err)
	}
	if n.tree() != worse || !scratchpad.Equal(n.state(n.home.Active()), n.state(n.home.After(n.bad))) {
		t.Errorf("undone, it is\n%s\n%s\nand was\n%s", n.tree(), n.active(), worse)
	}
	n.now = n.now.Add(time.Minute)
	n.wakeAgain("after all that")
}

// A call that walls kept from all but the workspace did not go out, whatever walls stand
// when that is asked.
func TestConfinedCallsDidNotGoOut(t *testing.T) {
	r := newRig(t, "", oldState)
	a := r.keeping(unsynced{disk.OS{}}, act("effect", `{"label":"one"}`), slept)
	confined := a.Tools.All()
	for i := range confined {
		confined[i].Effect = "workspace"
	}
	var err error
	a.Tools, err = tools.NewSet(confined...)
	r.must(err)
	report, err := a.RunOnce(t.Context())
	r.must(err)
	if p, err := a.Rewind(Rewind{Cycle: report.Cycle, Memory: true}, false); err != nil || len(p.Calls) > 0 {
		t.Errorf("%+v, %v", p.Calls, err)
	}
	a = r.keeping(unsynced{disk.OS{}})
	if p, err := a.Rewind(Rewind{Cycle: report.Cycle, Memory: true}, false); err != nil || len(p.Calls) > 0 {
		t.Errorf("later: %+v, %v", p.Calls, err)
	}
}

// While a cycle is awake nothing is put back; without versions only the memory is.
func TestRewindCannot(t *testing.T) {
	n := badNight(t, "")
	unlock, err := n.home.Lock()
	n.must(err)
	if _, err := n.keeper(nil).Rewind(Rewind{Cycle: n.bad, Memory: true}, true); !errors.Is(err, home.ErrAwake) {
		t.Error(err)
	}
	unlock()
	k := n.keeper(unsynced{disk.OS{}})
	n.must(history.Store{Dir: n.home.History()}.Clear())
	if _, err := k.Rewind(Rewind{Cycle: n.bad, Memory: true, Files: true}, true); err == nil || !strings.Contains(err.Error(), "--memory puts the memory back alone") || len(n.cycles()) != 2 {
		t.Error(err)
	}
	n.must(os.RemoveAll(k.Workspace))
	if p, err := k.Rewind(Rewind{Cycle: n.bad, Memory: true, Files: true}, false); err != nil || p.Files {
		t.Errorf("of a workspace that never had a file: %v", err)
	}
	n.file("mine", "of a person")
	k.History = nil
	if _, err := k.Rewind(Rewind{Cycle: n.bad, Memory: true}, true); err != nil {
		t.Error(err)
	}
	n.files = n.tree()
	n.asBefore("the memory alone")
}

// Whatever fails or wherever it dies: after the next wake memory and files are both as
// they were before, or both as they were.
func TestEveryFaultOfARewind(t *testing.T) {
	base, runs, done := t.TempDir(), 0, 0
	few := sweep.Of(faults(), faults()[:5], faults()) // each run is three cycles
	points := disktest.Sweep(t, few, func(f *disktest.Faulty) {
		runs++
		n := badNight(t, filepath.Join(base, fmt.Sprint(runs)))
		defer os.RemoveAll(n.home.Dir)
		worse, goals := n.tree(), len(n.state(n.home.Active()).Goals())
		f.FS = unsynced{disk.OS{}}
		_, err := n.keeper(f).Rewind(Rewind{Cycle: n.bad, Memory: true, Files: true}, true)
		context := fmt.Sprintf("%v at %q: %v", f.Fault, f.Fired(), err)
		if err == nil {
			n.asBefore(context)
		}
		n.now = n.now.Add(time.Minute)
		if runs%2 == 0 { // a person edits before anything is settled
			n.must(os.WriteFile(n.home.Active(), []byte(n.active()+"mine: edited\n"), 0o600))
		}
		a := n.keeping(unsynced{disk.OS{}}, act("list_files", `{}`), slept)
		if report, err := a.RunOnce(t.Context()); err != nil || report.Exit != 0 {
			t.Fatalf("%s: the next wake: %+v, %v", context, report, err)
		}
		n.checkSettled(context)
		for _, id := range n.cycles() {
			if disk.Exists(n.home.Unproven(id)) {
				t.Fatalf("%s: cycle %s has two states as which it ended", context, id)
			}
		}
		if runs%2 == 0 && !holds(n.state(n.home.Active()), "mine") {
			t.Fatalf("%s: the edit is lost:\n%s", context, n.active())
		}
		back := n.tree() == n.files
		if !back && n.tree() != worse && f.Fault.Mode.Crash() {
			t.Fatalf("%s: the workspace is neither old nor new:\n%s", context, n.tree())
		}
		if now := n.state(n.home.Active()); f.Fault.Mode.Crash() && back != (len(now.Goals()) > goals) {
			t.Fatalf("%s: files are back %v, the memory is not so:\n%s", context, back, n.active())
		}
		if back {
			done++
		}
		if temps, _ := filepath.Glob(filepath.Join(n.home.Dir, "workspace", "*", ".rewind*")); len(temps) > 0 {
			t.Fatalf("%s: %q are left", context, temps)
		}
	})
	t.Logf("torn 0 / %d faults; put back all the same %d", points, done)
}

// What a person changed between the death of a rewind and the next wake stays.
func TestEditedWhileARewindWasDead(t *testing.T) {
	n := badNight(t, "")
	f := &disktest.Faulty{FS: unsynced{disk.OS{}}, Fault: disktest.Fault{Mode: disktest.CrashBefore}}
	for f.Fault.At = 1; ; f.Fault.At++ {
		ops := f.Ops()
		if len(ops) > 0 && strings.HasSuffix(ops[len(ops)-1], "gate") {
			break
		}
		if f.Fault.At > 500 {
			t.Fatal("it never came to the workspace")
		}
		n = badNight(t, "")
		f = &disktest.Faulty{FS: f.FS, Fault: f.Fault}
		_, _ = n.keeper(f).Rewind(Rewind{Cycle: n.bad, Memory: true, Files: true}, true)
	}
	n.file("mine", "edited by a person since")
	n.now = n.now.Add(time.Minute)
	_, err := n.keeping(unsynced{disk.OS{}}, slept).RunOnce(t.Context())
	n.must(err)
	if !strings.Contains(n.tree(), "edited by a person since") || strings.Contains(n.tree(), "junk") {
		t.Error(n.tree())
	}
	_, warnings := n.kept(n.cycles()[2])
	if !slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, "mine was changed while") }) {
		t.Errorf("%q", warnings)
	}
}
