package observation

import (
	"strings"
	"testing"
	"time"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// onlyOwnEntriesAreRead gives ids that a turn must not read, and wants the same
// answer to all.
func onlyOwnEntriesAreRead(t *testing.T, s *Store, now *clock) {
	text := func(turn *Turn, text string) string { return put(t, turn, []byte(text)).ID }
	over := begin(t, s, "over")
	expired := text(over, "expired")
	must(t, over.End())
	now.pass(2 * time.Hour)
	other := begin(t, s, "other")
	foreign, large := text(other, "of another turn"), text(other, strings.Repeat("large\n", 50_000))
	kept := text(other, "kept")
	must(t, other.Keep(kept, "a label", time.Hour))
	turn := begin(t, s, "turn")
	own := text(turn, "own")
	bad := []string{
		foreign, large, expired, "", "x", own[:15], own + "0", own + " ", strings.ToUpper(own) + "é", "0123456789abcdef", "' OR 1=1 --", "%",
		strings.Repeat("_", 16), own + "\x00", "../" + own, strings.Repeat("f", 1<<20), "0", "null", "1; DROP TABLE entries",
	}
	for _, id := range bad {
		_, err := turn.Get(id)
		wantNotFound(t, err)
		wantNotFound(t, turn.Keep(id, "mine", time.Hour))
	}
	for _, id := range []string{own, kept} {
		get(t, turn, id)
	}
	_, err := begin(t, s, "").Get(foreign)
	wantNotFound(t, err)
	t.Logf("foreign reads 0 / %d ids, one answer", len(bad))
}

// entriesLiveAsLongAsTheirTurn lets time pass, and collects.
func entriesLiveAsLongAsTheirTurn(t *testing.T, s *Store, now *clock) {
	text := []byte(strings.Repeat("large\n", 50_000))
	turn := begin(t, s, "turn")
	small, large := put(t, turn, []byte("text")), put(t, turn, text)
	for range 30 {
		now.pass(time.Hour)
		if st := collect(t, s).Entries; st != 0 {
			t.Fatalf("%d entries of a turn that runs went", st)
		}
		checkWhole(t, get(t, turn, small.ID), []byte("text"))
		checkWhole(t, get(t, turn, large.ID), text)
	}
	must(t, turn.End())
	now.pass(59 * time.Minute)
	if st := collect(t, s).Entries; st != 0 {
		t.Fatalf("%d entries went before their time", st)
	}
	get(t, turn, large.ID)
	now.pass(time.Minute)
	_, err := turn.Get(large.ID)
	wantNotFound(t, err)
	if st := collect(t, s).Entries; st != 2 {
		t.Fatalf("%d entries went after their time, want 2", st)
	}
}

func keptEntriesAreSeenLater(t *testing.T, s *Store, now *clock) {
	text := []byte(strings.Repeat("large\n", 50_000))
	first := begin(t, s, "first")
	e := put(t, first, text)
	if first.Keep(e.ID, " \n", time.Hour) == nil || first.Keep(e.ID, "label", 0) == nil {
		t.Error("kept without a label or a time")
	}
	must(t, first.Keep(e.ID, "the \n build log", 24*time.Hour))
	if list, err := first.Kept(); err != nil || len(list) != 0 {
		t.Errorf("a turn's own entry is among those of others: %v, %v", list, err)
	}
	must(t, first.End())
	now.pass(23 * time.Hour)
	collect(t, s)
	second := begin(t, s, "second")
	list, err := second.Kept()
	must(t, err)
	if len(list) != 1 || list[0].ID != e.ID || list[0].Label != "the build log" || list[0].Bytes != e.Bytes {
		t.Fatalf("kept: %+v", list)
	}
	checkWhole(t, get(t, second, e.ID), text)
	must(t, second.Keep(e.ID, "again", 2*time.Hour))
	now.pass(90 * time.Minute)
	get(t, second, e.ID)
	now.pass(time.Hour)
	_, err = second.Get(e.ID)
	wantNotFound(t, err)
	if st := collect(t, s).Entries; st != 1 {
		t.Errorf("%d entries went, want 1", st)
	}
}
