package observationtest

import (
	"strings"
	"testing"
	"time"
)

// onlyOwnEntriesAreRead gives ids that a turn must not read, and wants the same
// answer to all.
func onlyOwnEntriesAreRead(t *testing.T, s Store) {
	put := func(turn, text string) string {
		e, _ := s.put(t, turn, []byte(text))
		return e.ID
	}
	must(t, s.Begin("over"))
	expired := put("over", "expired")
	must(t, s.End("over"))
	s.Pass(2 * time.Hour)
	must(t, s.Begin("other"))
	foreign, large := put("other", "of another turn"), put("other", strings.Repeat("large\n", 50_000))
	kept := put("other", "kept")
	must(t, s.Keep("other", kept, "a label", time.Hour))
	must(t, s.Begin("turn"))
	own := put("turn", "own")
	bad := []string{
		foreign, large, expired, "", "x", own[:15], own + "0", own + " ", strings.ToUpper(own) + "é", "0123456789abcdef", "' OR 1=1 --", "%",
		strings.Repeat("_", 16), own + "\x00", "../" + own, strings.Repeat("f", 1<<20), "0", "null", "1; DROP TABLE entries",
	}
	for _, id := range bad {
		_, err := s.Get("turn", id)
		wantNotFound(t, err)
		wantNotFound(t, s.Keep("turn", id, "mine", time.Hour))
	}
	for _, id := range []string{own, kept} {
		s.get(t, "turn", id)
	}
	must(t, s.Begin(""))
	_, err := s.Get("", foreign)
	wantNotFound(t, err)
	t.Logf("foreign reads 0 / %d ids, one answer", len(bad))
}

// entriesLiveAsLongAsTheirTurn lets time pass, and collects.
func entriesLiveAsLongAsTheirTurn(t *testing.T, s Store) {
	text := []byte(strings.Repeat("large\n", 50_000))
	must(t, s.Begin("turn"))
	small, _ := s.put(t, "turn", []byte("text"))
	large, _ := s.put(t, "turn", text)
	for range 30 {
		s.Pass(time.Hour)
		if st := s.collect(t); st != 0 {
			t.Fatalf("%d entries of a turn that runs went", st)
		}
		checkWhole(t, s.get(t, "turn", small.ID), []byte("text"))
		checkWhole(t, s.get(t, "turn", large.ID), text)
	}
	must(t, s.End("turn"))
	s.Pass(59 * time.Minute)
	if st := s.collect(t); st != 0 {
		t.Fatalf("%d entries went before their time", st)
	}
	s.get(t, "turn", large.ID)
	s.Pass(time.Minute)
	_, err := s.Get("turn", large.ID)
	wantNotFound(t, err)
	if st := s.collect(t); st != 2 {
		t.Fatalf("%d entries went after their time, want 2", st)
	}
}

func (s Store) collect(t testing.TB) int {
	t.Helper()
	st, err := s.Collect()
	must(t, err)
	return st.Entries
}

func keptEntriesAreSeenLater(t *testing.T, s Store) {
	text := []byte(strings.Repeat("large\n", 50_000))
	must(t, s.Begin("first"))
	e, _ := s.put(t, "first", text)
	if s.Keep("first", e.ID, " \n", time.Hour) == nil || s.Keep("first", e.ID, "label", 0) == nil {
		t.Error("kept without a label or a time")
	}
	must(t, s.Keep("first", e.ID, "the \n build log", 24*time.Hour))
	if list, err := s.Kept("first"); err != nil || len(list) != 0 {
		t.Errorf("a turn's own entry is among those of others: %v, %v", list, err)
	}
	must(t, s.End("first"))
	s.Pass(23 * time.Hour)
	s.collect(t)
	must(t, s.Begin("second"))
	list, err := s.Kept("second")
	must(t, err)
	if len(list) != 1 || list[0].ID != e.ID || list[0].Label != "the build log" || list[0].Bytes != e.Bytes {
		t.Fatalf("kept: %+v", list)
	}
	checkWhole(t, s.get(t, "second", e.ID), text)
	must(t, s.Keep("second", e.ID, "again", 2*time.Hour))
	s.Pass(90 * time.Minute)
	s.get(t, "second", e.ID)
	s.Pass(time.Hour)
	_, err = s.Get("second", e.ID)
	wantNotFound(t, err)
	if st := s.collect(t); st != 1 {
		t.Errorf("%d entries went, want 1", st)
	}
}
