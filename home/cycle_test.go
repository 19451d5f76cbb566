package home

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What cycles leave is known by its name and folder, and nothing else is taken for it.
func TestCycleFiles(t *testing.T) {
	h := Home{Dir: t.TempDir()}
	const id = "20260430_120000"
	ours := []string{h.Journal(id), h.Log(id), h.Before(id), h.After(id), h.Unproven(id)}
	for _, path := range append(slices.Clone(ours),
		h.Reset(id), h.Active(), h.Slots(), filepath.Join(h.Logs(), id+"_before.yaml"), filepath.Join(h.Memory(), "cycle_"+id+".log"),
		filepath.Join(h.Logs(), "cycle_"+id+".jsonl.bak"), filepath.Join(h.Logs(), "cycle_"+id+"_before.yaml"), filepath.Join(h.Logs(), "cycle_2026043a_120000.log")) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	if err := h.CycleFiles(func(cycle string, kind Kind) { got = append(got, h.Left(kind, cycle)) }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	slices.Sort(ours)
	if !slices.Equal(got, ours) {
		t.Errorf("%q, want %q", got, ours)
	}
	if err := (Home{Dir: filepath.Join(h.Dir, "none")}).CycleFiles(nil); err != nil {
		t.Error(err)
	}
}

// Of a folder that takes the kernel several answers no name is lost.
func TestCycleFilesOfMany(t *testing.T) {
	h, begun := Home{Dir: t.TempDir()}, time.Date(2026, 4, 30, 12, 0, 0, 0, time.UTC)
	empty := filepath.Join(h.Dir, "empty")
	if err := errors.Join(os.Mkdir(h.Logs(), 0o700), os.WriteFile(empty, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	const cycles = 1500
	for i := range cycles {
		id := begun.Add(time.Duration(i) * time.Second).Format(CycleForm)
		for _, path := range []string{h.Journal(id), h.Log(id), filepath.Join(h.Logs(), strings.Repeat("x", 1+i%40)+id)} {
			if err := os.Link(empty, path); err != nil { // quicker than a file each
				t.Fatal(err)
			}
		}
	}
	found := map[Kind]int{}
	if err := h.CycleFiles(func(_ string, kind Kind) { found[kind]++ }); err != nil || found[JournalFile] != cycles || found[LogFile] != cycles {
		t.Errorf("%v of %d each: %v", found, cycles, err)
	}
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"cycle_20260430_120000.jsonl", "20260430_120000_after.yaml", "active.yaml"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if id, kind, ok := parse([]byte(name)); ok && filepath.Base(Home{Dir: "h"}.Left(kind, string(id))) != name {
			t.Errorf("%q is taken for %s of %s", name, kind, id)
		}
	})
}
