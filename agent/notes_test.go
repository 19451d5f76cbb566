package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"rouse/internal/disk"
	"rouse/journal"
)

func TestTrim(t *testing.T) {
	notes := "by hand\n[TOOL] a\n[NOTE] n\n[TOOL] b\n[COMPLETED] c\n[LIMIT] l"
	tests := []struct {
		most          int
		left, dropped string
	}{
		{0, notes, ""},
		{len(notes), notes, ""},
		{len(notes) - 1, "by hand\n[NOTE] n\n[TOOL] b\n[COMPLETED] c\n[LIMIT] l", "[TOOL] a\n"},
		{len(notes) - 9, "by hand\n[NOTE] n\n[TOOL] b\n[COMPLETED] c\n[LIMIT] l", "[TOOL] a\n"},
		{len(notes) - 10, "by hand\n[NOTE] n\n[COMPLETED] c\n[LIMIT] l", "[TOOL] a\n[TOOL] b\n"},
		{31, "by hand\n[NOTE] n\n[COMPLETED] c", "[TOOL] a\n[TOOL] b\n[LIMIT] l"},
		{17, "by hand\n[NOTE] n", "[TOOL] a\n[TOOL] b\n[COMPLETED] c\n[LIMIT] l"},
		{9, "[NOTE] n", "by hand\n[TOOL] a\n[TOOL] b\n[COMPLETED] c\n[LIMIT] l"},
		{1, "", notes},
	}
	for _, tt := range tests {
		if left, dropped := trim(notes, tt.most); left != tt.left || dropped != tt.dropped {
			t.Errorf("to %d: %q and %q", tt.most, left, dropped)
		}
	}
}

// TestNotesStaySmall runs many cycles: the notes of the memory stay within their
// bound, and every line that was ever written is there or in the file of those
// that were dropped.
func TestNotesStaySmall(t *testing.T) {
	r := newRig(t, "", oldState)
	const cycles = 60
	for i := range cycles {
		a, _ := r.agent(disk.OS{}, act("effect", fmt.Sprintf(`{"label":"call %d, %s"}`, i, strings.Repeat("x", 200))), act("done", `{"summary":"seen"}`))
		a.NotesMax, a.Task = 4096, "look again"
		if _, err := a.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, _, err := r.home.Load()
		r.must(err)
		if len(s.Notes()) > a.NotesMax {
			t.Fatalf("cycle %d: %d bytes of notes", i, len(s.Notes()))
		}
	}
	s, _, err := r.home.Load()
	r.must(err)
	dropped, err := os.ReadFile(r.home.DroppedNotes())
	r.must(err)
	for i := range cycles {
		if n := strings.Count(s.Notes()+"\n"+string(dropped), fmt.Sprintf("[TOOL] effect({\"label\":\"call %d,", i)); n != 1 {
			t.Errorf("the line of call %d is there %d times", i, n)
		}
	}
}

// TestNotesThatCannotBeKept drops nothing.
func TestNotesThatCannotBeKept(t *testing.T) {
	r := newRig(t, "", oldState)
	r.must(os.Mkdir(r.home.DroppedNotes(), 0o700))
	a, _ := r.agent(disk.OS{}, act("effect", `{"label":"`+strings.Repeat("x", 300)+`"}`), act("done", `{"summary":"seen"}`))
	a.NotesMax = 64
	report, err := a.RunOnce(t.Context())
	r.must(err)
	s, _, err := r.home.Load()
	r.must(err)
	if report.Outcome != journal.Done || !strings.Contains(s.Notes(), "[TOOL] effect") {
		t.Errorf("%+v, notes %q", report, s.Notes())
	}
	text, err := os.ReadFile(r.home.Log(report.Cycle))
	if err != nil || !strings.Contains(string(text), "warn   keep the notes that are dropped: ") {
		t.Errorf("%v: %s", err, text)
	}
}
