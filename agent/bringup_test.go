package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/journal"
)

// oldHome is a home of version 1 as the rouse of that time left it: one cycle
// slept, the newest was killed in the middle of a call.
func oldHome(t *testing.T) (r *rig, newest string) {
	t.Helper()
	r = newRig(t, "", "")
	archive, err := txtar.ParseFile(filepath.Join("testdata", "home1.txtar"))
	r.must(err)
	for _, f := range archive.Files {
		r.must(os.WriteFile(filepath.Join(r.home.Dir, f.Name), f.Data, 0o600))
	}
	ids := r.cycles()
	return r, ids[len(ids)-1]
}

// checkRaised wants a home brought up without loss.
func (r *rig) checkRaised(id, context string) {
	r.t.Helper()
	notes := r.state(r.home.Active()).Notes() + "\n" + r.read(r.home.DroppedNotes())
	for _, text := range []string{`echo({"message":"first"})`, "[COMPLETED] update_scratchpad", `echo({"message":"second"})`,
		"[INTERRUPTED] cycle " + id + " ended without sleeping; outcome unknown, it may have run and is not repeated: step 2 shell("} {
		if strings.Count(notes, text) != 1 {
			r.t.Errorf("%s: the notes say %d times %s:%s", context, strings.Count(notes, text), text, notes)
		}
	}
	if text := r.active(); !strings.HasPrefix(text, "# what a person wrote\ngoals: [ \"see the house\" ]  # always\n") {
		r.t.Errorf("%s: %s", context, text)
	}
	key, err := r.home.Key()
	v, verr := r.home.Version()
	if err != nil || verr != nil || len(key) != home.KeySize || v != home.Version {
		r.t.Fatalf("%s: version %d (%v), a key of %d bytes (%v)", context, v, verr, len(key), err)
	}
	if s := r.slept(id); s.Unproven != 0 {
		r.t.Errorf("%s: settled by the new rules: %+v", context, s)
	}
	ids := r.cycles()
	for l, err := range journal.Check(r.home.Journal(ids[len(ids)-1]), journal.NewChain(key, ids[len(ids)-1])) {
		if err != nil || l.Doubt != "" {
			r.t.Fatalf("%s: the newest journal: line %d %s, %v", context, l.Number, l.Doubt, err)
		}
	}
}

// A home of version 1 loses nothing when it is brought up, wherever that is killed
// or fails, and whatever of it a loss of power leaves.
func TestOldHomeIsBroughtUp(t *testing.T) {
	points := disktest.Sweep(t, recoveryFaults(), func(f *disktest.Faulty) {
		r, id := oldHome(t)
		r.now = r.now.AddDate(1, 0, 0) // after the cycles of the old rouse
		f.FS = unsynced{disk.OS{}}
		a, _ := r.agent(f, act("done", `{"summary":"went on"}`))
		_, err := a.RunOnce(t.Context())
		if len(f.Fired()) == 0 && err != nil {
			t.Fatal(err)
		}
		r.wakeAgain(f.Fault.String())
		r.checkRaised(id, f.Fault.String())
		r.checkSettled(f.Fault.String())
		if left, _ := filepath.Glob(filepath.Join(r.home.Logs(), ".*.tmp")); len(left) > 0 {
			t.Errorf("%v: left: %q", f.Fault, left)
		}
		r.must(os.RemoveAll(filepath.Dir(r.home.Dir)))
	})
	t.Logf("homes not brought up, or with a loss 0 / %d points", points)
}

// The same where the power goes at each write.
func TestOldHomeThroughPowerLoss(t *testing.T) {
	points := disktest.Sweep(t, []disktest.Fault{{Mode: disktest.CrashBefore}, {Mode: disktest.CrashHalf}}, func(f *disktest.Faulty) {
		r, id := oldHome(t)
		defer os.RemoveAll(filepath.Dir(r.home.Dir))
		r.now = r.now.AddDate(1, 0, 0)
		power, err := disktest.NewPowerLoss(r.home.Dir)
		r.must(err)
		f.FS = power
		a, _ := r.agent(f, act("done", `{"summary":"went on"}`))
		_, _ = a.RunOnce(t.Context())
		for seed := range uint64(disktest.Outcomes) {
			left := r.in(filepath.Join(filepath.Dir(r.home.Dir), "left"))
			r.must(os.RemoveAll(left.home.Dir))
			r.must(os.Mkdir(left.home.Dir, 0o700))
			r.must(power.Crash(left.home.Dir, seed))
			left.wakeAgain(f.Fault.String())
			left.checkRaised(id, f.Fault.String())
		}
	})
	t.Logf("homes not brought up, or with a loss 0 / %d points", points)
}

// A home of a newer rouse is refused in a word, and nothing of it changes.
func TestNewerHomeIsRefused(t *testing.T) {
	r, _ := oldHome(t)
	r.must(os.WriteFile(r.home.VersionFile(), []byte("3\n"), 0o600))
	before := outcome(t, r)
	if _, err := home.Open(r.home.Dir); err == nil || !strings.Contains(err.Error(), "use the newer rouse") {
		t.Errorf("open: %v", err)
	}
	a, _ := r.agent(nil)
	if _, err := a.RunOnce(t.Context()); err == nil {
		t.Error("it woke")
	}
	if outcome(t, r) != before || len(r.cycles()) != 2 {
		t.Error("it changed")
	}
}

// A memory that cannot be read leaves the home as it is, also one that is to be
// brought up or has lost its key.
func TestUnreadableMemoryGetsNoKey(t *testing.T) {
	for _, damage := range []string{"bring up", "key"} {
		r, _, _ := interrupted(t)
		r.must(os.Remove(r.home.JournalKey()))
		if damage == "bring up" {
			r, _ = oldHome(t)
		}
		r.must(os.WriteFile(r.home.Active(), []byte("goals: be good\n"), 0o600))
		a, _ := r.agent(nil)
		if _, err := a.RunOnce(t.Context()); err == nil || disk.Exists(r.home.JournalKey()) {
			t.Errorf("%s: %v, a key is there: %v", damage, err, disk.Exists(r.home.JournalKey()))
		}
	}
}
