package scratchpad

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/internal/disk"
)

// brim is a state of exactly so many bytes, as a person may leave it.
func brim(t *testing.T, size int) *State {
	const head = "goals: []\ncurrent_task: null\npending_actions: []\ncompleted_tasks: []\nnotes: ''\nlast_updated: null\nbig: "
	return mustParse(t, head+strings.Repeat("x", size-len(head)-1)+"\n")
}

// A state that a person filled to the last byte can be made smaller, step by step,
// and saved though there is no room for the stamp.
func TestFullStateCanBeMadeSmaller(t *testing.T) {
	s := brim(t, MaxBytes)
	if err := s.Apply(Change{OpAppend, "notes", "more"}); !errors.Is(err, ErrFull) {
		t.Errorf("more: %v", err)
	}
	path := filepath.Join(t.TempDir(), "active.yaml")
	if err := s.Save(disk.OS{}, path, time.Now()); err != nil || s.LastUpdated() != "" {
		t.Errorf("saved as %q: %v", s.LastUpdated(), err)
	}
	big, _ := s.Value("big")
	mustApply(t, s, Change{OpSet, "big", big.(string)[100:]}) // and is above what Apply leaves free still
	mustApply(t, s, Change{OpSet, "big", "x"})
	if err := s.Save(disk.OS{}, path, time.Now()); err != nil || s.LastUpdated() == "" {
		t.Errorf("saved as %q: %v", s.LastUpdated(), err)
	}
	if _, err := Load(path); err != nil {
		t.Error(err)
	}
}

// Two sides that do not fit into one file conflict.
func TestMergeKeepsTheSizeLimit(t *testing.T) {
	base := mustParse(t, "notes: n\n")
	ours, theirs := base.Clone(), mustParse(t, "notes: n\nmine: "+strings.Repeat("m", 5<<20)+"\n")
	mustApply(t, ours, Change{OpSet, "big", strings.Repeat("x", 4<<20)})
	if merged, conflicts := Merge(base, ours, theirs); merged != nil || strings.Join(conflicts, " ") != "big" {
		t.Errorf("merged %v, conflicts %q", merged != nil, conflicts)
	}
}

func TestDrop(t *testing.T) {
	s := mustParse(t, "goals: [a]\ncompleted_tasks:\n  # first\n  - one\n  - {task: two}\n  - three # mine\n")
	for _, n := range []any{-1, 4, "x", nil, 1.5} {
		if err := s.Apply(Change{OpDrop, "completed_tasks", n}); err == nil {
			t.Errorf("took %v", n)
		}
	}
	if err := s.Apply(Change{OpDrop, "notes", 1}); err == nil {
		t.Error("took from a text")
	}
	mustApply(t, s, Change{OpDrop, "completed_tasks", 2})
	if got, want := mustBytes(t, s), "goals: [a]\ncompleted_tasks:\n  - three # mine\n"; !strings.HasPrefix(got, want) {
		t.Errorf("%s", got)
	}
	mustApply(t, s, Change{OpDrop, "completed_tasks", 1})
	if len(s.Completed()) != 0 {
		t.Errorf("%v is left", s.Completed())
	}
}
