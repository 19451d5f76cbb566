package notify

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/journal"
)

// Where the disk is full, or nothing can be kept, people are told all the same: once
// for each cause, anew after a cycle that ended well, and of the end.
func TestToldWithoutAState(t *testing.T) {
	for _, broken := range []string{"full", "logs gone"} {
		r := newRig(t, Sink{Command: []string{"sh", "-c", "cat >>told.jsonl"}})
		full := &disktest.Full{FS: disk.OS{}, Is: true}
		era, tmp := "", t.TempDir()
		r.Disk, r.Once = full, Once{Dirs: []string{filepath.Dir(r.Path), tmp}, Name: "said_", Disk: full, Era: func() string { return era }}
		if broken != "full" {
			r.Path = filepath.Join(r.Home, "none", "notify.json")
			r.Once.Dirs[0] = filepath.Dir(r.Path)
		}
		fail := func(why string) {
			_ = r.Cycle(t.Context(), Outcome{Outcome: journal.Failed, Error: why})
			_ = r.Deliver(t.Context())
		}
		for i := range 3 {
			fail(fmt.Sprintf("the disk is full, %d bytes", i))
		}
		fail("the rules are gone")
		fail("the disk is full, 4 bytes")
		era = "20260101_000000"
		fail("the disk is full, 5 bytes")
		want := []string{
			"failed: no cycle can begin: the disk is full, 0 bytes", "failed: no cycle can begin: the rules are gone",
			"failed: no cycle can begin: the disk is full, 5 bytes",
		}
		full.Is = false
		if broken == "full" {
			r.must(r.Cycle(t.Context(), Outcome{Cycle: "7", Outcome: journal.Done}))
			r.must(r.Cycle(t.Context(), Outcome{Cycle: "8", Outcome: journal.Done}))
			r.must(r.Deliver(t.Context()))
			got := r.told()
			if n := len(got); n != 4 || !strings.HasPrefix(got[n-1], "recovered: cycle 7 is done") {
				t.Errorf("in the end: %q", got)
			}
		}
		if diff := cmp.Diff(want, r.told()[:3]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", broken, diff)
		}
	}
}

// A sink that fails is asked again at the next occasion.
func TestToldWithoutAStateAgain(t *testing.T) {
	r := newRig(t, Sink{Command: []string{"sh", "-c", "test -e ready && cat >>told.jsonl"}})
	r.Disk = &disktest.Full{FS: disk.OS{}, Is: true}
	r.Once = Once{Dirs: []string{t.TempDir()}, Name: "said_"}
	for i := range 4 {
		if i == 2 {
			r.must(os.WriteFile(filepath.Join(r.Home, "ready"), nil, 0o600))
		}
		_ = r.Tell(t.Context(), Missed, "slots", "a slot was missed")
	}
	if got := r.told(); len(got) != 1 {
		t.Errorf("told %q", got)
	}
}

// What is remembered is bounded, and what another user left silences nobody.
func TestOnceIsBounded(t *testing.T) {
	o := Once{Dirs: []string{t.TempDir()}, Name: "said_"}
	for i := range 100 {
		o.Say(strings.Repeat("x", i))
	}
	if list, _ := os.ReadDir(o.Dirs[0]); len(list) > mostSaid {
		t.Errorf("%d files", len(list))
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(o.Dirs[0], o.name("mine"))); err != nil {
		t.Fatal(err)
	}
	if o.Said("mine") {
		t.Error("a link counts")
	}
}
