package observation

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rouse/internal/proc"
)

// TestOnlyOwnEntriesAreRead gives each id that a turn must not read, and wants
// the same answer to all.
func TestOnlyOwnEntriesAreRead(t *testing.T) {
	clock := newClock()
	s := openStore(t, "", Options{Now: clock.now})
	over := begin(t, s, "over")
	expired := put(t, over, []byte("expired")).ID
	if err := over.End(); err != nil {
		t.Fatal(err)
	}
	clock.pass(2 * time.Hour)
	other := begin(t, s, "other")
	foreign := put(t, other, []byte("of another turn")).ID
	large := put(t, other, numbered(100_000)).ID
	removed := put(t, other, []byte("removed")).ID
	if err := s.Remove(removed); err != nil {
		t.Fatal(err)
	}
	kept := put(t, other, []byte("kept")).ID
	if err := other.Keep(kept, "a label", time.Hour); err != nil {
		t.Fatal(err)
	}
	turn := begin(t, s, "turn")
	own := put(t, turn, []byte("own")).ID
	bad := []string{
		foreign, large, expired, removed, newID(), "", "x", own[:15], own + "0", strings.ToUpper(own) + "é", own + " ", "' OR 1=1 --",
		"%", "_______________", own + "\x00", "../" + own, strings.Repeat("f", 1<<20), "0", "null", "1; DROP TABLE entries",
	}
	for _, id := range bad {
		_, err := turn.Get(id)
		wantNotFound(t, err)
		wantNotFound(t, turn.Keep(id, "mine", time.Hour))
	}
	for _, id := range []string{own, kept} {
		get(t, turn, id)
	}
	if _, err := begin(t, s, "").Get(foreign); !errors.Is(err, ErrNotFound) {
		t.Errorf("a turn without a name reads another's: %v", err)
	}
	t.Logf("foreign reads 0 / %d ids, one answer", len(bad))
}

func TestOperatorReadsWhatHasNotExpired(t *testing.T) {
	clock := newClock()
	s := openStore(t, "", Options{Now: clock.now})
	turn := begin(t, s, "turn")
	e := put(t, turn, []byte("text"))
	if err := turn.End(); err != nil {
		t.Fatal(err)
	}
	c, err := s.Get(e.ID)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	clock.pass(time.Hour)
	_, err = s.Get(e.ID)
	wantNotFound(t, err)
	wantNotFound(t, s.Keep(e.ID, "label", time.Hour))
	wantNotFound(t, s.Remove("nothing"))
}

// TestEntriesLiveAsLongAsTheirTurn lets time pass, with GCs by another process's
// store.
func TestEntriesLiveAsLongAsTheirTurn(t *testing.T) {
	clock := newClock()
	dir := t.TempDir()
	s := openStore(t, dir, Options{Now: clock.now})
	gc := openStore(t, dir, Options{Now: clock.now})
	turn := begin(t, s, "turn")
	small, large := put(t, turn, []byte("text")).ID, put(t, turn, numbered(50_000)).ID
	for range 30 {
		clock.pass(time.Hour)
		if st := collect(t, gc); st.Entries+st.Orphans > 0 {
			t.Fatalf("a GC ate %+v of a turn that runs", st)
		}
		checkWhole(t, get(t, turn, small), []byte("text"))
		checkWhole(t, get(t, turn, large), numbered(50_000))
	}
	if err := turn.End(); err != nil {
		t.Fatal(err)
	}
	clock.pass(59 * time.Minute)
	if st := collect(t, gc); st.Entries > 0 {
		t.Fatalf("%+v went before the ttl", st)
	}
	clock.pass(time.Minute)
	if st := collect(t, gc); st.Entries != 2 || len(files(t, dir)) != 0 {
		t.Fatalf("after the ttl %+v went, and files %v are left", st, files(t, dir))
	}
	wantNotFound(t, notThere(turn, large))
	checkIntact(t, s)
}

func notThere(turn *Turn, id string) error {
	_, err := turn.Get(id)
	return err
}

func collect(t testing.TB, s *Store) Stats {
	t.Helper()
	st, err := s.GC(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func TestTurnOfADeadProcessEnds(t *testing.T) {
	clock := newClock()
	s := openStore(t, "", Options{Now: clock.now})
	dead := proc.Self()
	dead.Start++
	turn, err := s.Begin("dead", dead)
	if err != nil {
		t.Fatal(err)
	}
	put(t, turn, []byte("text"))
	if st := collect(t, s); st.Entries > 0 {
		t.Error("it went at once")
	}
	clock.pass(time.Hour)
	if st := collect(t, s); st.Entries != 1 {
		t.Error("it stayed after the ttl")
	}
}

func TestKeptEntriesAreSeenLater(t *testing.T) {
	clock := newClock()
	s := openStore(t, "", Options{Now: clock.now})
	first := begin(t, s, "first")
	e := put(t, first, numbered(50_000))
	for _, bad := range []func() error{
		func() error { return first.Keep(e.ID, " \n", time.Hour) },
		func() error { return first.Keep(e.ID, "label", 0) },
	} {
		if bad() == nil {
			t.Error("kept without a label or a time")
		}
	}
	if err := first.Keep(e.ID, "the \n build log", 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	if list := kept(t, first); len(list) != 0 {
		t.Errorf("a turn's own entry is among those of others: %v", list)
	}
	if err := first.End(); err != nil {
		t.Fatal(err)
	}
	clock.pass(23 * time.Hour)
	collect(t, s)
	second := begin(t, s, "second")
	if list := kept(t, second); len(list) != 1 || list[0].ID != e.ID || list[0].Label != "the build log" || list[0].Bytes != e.Bytes {
		t.Fatalf("kept: %+v", list)
	}
	checkWhole(t, get(t, second, e.ID), numbered(50_000))
	if err := second.Keep(e.ID, "again", 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	clock.pass(90 * time.Minute)
	get(t, second, e.ID)
	clock.pass(time.Hour)
	wantNotFound(t, notThere(second, e.ID))
	if st := collect(t, s); st.Entries != 1 {
		t.Errorf("%+v went", st)
	}
}

func kept(t *testing.T, turn *Turn) []Entry {
	t.Helper()
	list, err := turn.Kept()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestOrphansAreCollected(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	alive := begin(t, s, "alive")
	over := begin(t, s, "over")
	entry := put(t, over, numbered(50_000))
	w := alive.Create(Origin{})
	w.Write(numbered(500_000))
	w.work.Wait() // its file is there
	writing := files(t, dir)
	if err := over.End(); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{"2-0123456789abcdef.zst", "99-0123456789abcdef.zst", "stray", "2-" + entry.ID + ".raw"} {
		if err := os.WriteFile(filepath.Join(dir, contents, name), []byte("data"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if st := collect(t, s); st.Orphans != 0 {
		t.Errorf("%d files went that were just written", st.Orphans)
	}
	for _, name := range files(t, dir) {
		if err := os.Chtimes(filepath.Join(dir, contents, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if st := collect(t, s); st.Orphans != 4 {
		t.Errorf("%d orphans went, want 4", st.Orphans)
	}
	left := files(t, dir)
	slices.Sort(writing)
	slices.Sort(left)
	if !slices.Equal(left, writing) {
		t.Errorf("left are %v, want the files of the entry and the writer, %v", left, writing)
	}
	e, err := w.Commit(nil)
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, get(t, alive, e.ID), numbered(500_000))
}

func TestGCIsBoundedInTime(t *testing.T) {
	clock := newClock()
	s := openStore(t, "", Options{Now: clock.now})
	turn := begin(t, s, "turn")
	put(t, turn, []byte("text"))
	if err := turn.End(); err != nil {
		t.Fatal(err)
	}
	clock.pass(2 * time.Hour)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	st, err := s.GC(ctx)
	if err != nil || !st.More || st.Entries != 0 {
		t.Errorf("%+v, %v", st, err)
	}
	if st := collect(t, s); st.More || st.Entries != 1 {
		t.Errorf("then %+v", st)
	}
}

func TestDueIsOnceInATTL(t *testing.T) {
	clock := newClock()
	dir := t.TempDir()
	due := func() bool { return Due(dir, time.Hour, clock.Time) }
	if due() {
		t.Error("due without a store")
	}
	if _, err := os.Stat(filepath.Join(dir, database)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("asking made a store")
	}
	s := openStore(t, dir, Options{Now: clock.now})
	if due() {
		t.Error("due as it begins")
	}
	clock.pass(time.Hour)
	if !due() {
		t.Error("not due after the ttl")
	}
	collect(t, s)
	if due() {
		t.Error("due right after a GC")
	}
}

func TestOldestGoWhenTheStoreIsFull(t *testing.T) {
	clock := newClock()
	dir := t.TempDir()
	s := openStore(t, dir, Options{Now: clock.now, MaxBytes: 1 << 20, Codec: Raw})
	mib := func(n int) []byte { return []byte(strings.Repeat("x", n<<20/10)) } // tenths
	over := begin(t, s, "over")
	keep := put(t, over, mib(2)).ID
	clock.pass(time.Second)
	oldest := put(t, over, mib(2)).ID
	clock.pass(time.Second)
	newest := put(t, over, mib(2)).ID
	if err := over.Keep(keep, "kept", time.Hour); err != nil {
		t.Fatal(err)
	}
	turn := begin(t, s, "turn")
	put(t, turn, mib(3))
	if _, err := tryPut(turn, mib(3)); err == nil || !strings.Contains(err.Error(), "limit of 1048576 bytes") {
		t.Fatalf("over the limit, and nothing may go: %v", err)
	}
	if err := over.End(); err != nil {
		t.Fatal(err)
	}
	put(t, turn, mib(3))
	for id, there := range map[string]bool{keep: true, oldest: false, newest: true} {
		if _, err := s.Get(id); (err == nil) != there {
			t.Errorf("%s: %v", id, err)
		}
	}
	put(t, turn, mib(3))
	wantNotFound(t, func() error { _, err := s.Get(keep); return err }())
	if _, err := tryPut(turn, mib(11)); err == nil {
		t.Error("a content larger than the store went in")
	}
	if n := len(files(t, dir)); n != 3 {
		t.Errorf("%d files, want the 3 of the turn", n)
	}
	checkUsed(t, s)
}

// checkUsed wants the sum that the store keeps to be that of its entries.
func checkUsed(t testing.TB, s *Store) {
	t.Helper()
	var kept, sum int64
	if err := s.db.QueryRow(`SELECT (SELECT bytes FROM used), (SELECT coalesce(sum(stored_bytes), 0) FROM entries)`).Scan(&kept, &sum); err != nil {
		t.Fatal(err)
	}
	if kept != sum {
		t.Errorf("the store takes its contents for %d bytes, they are %d", kept, sum)
	}
}

func TestList(t *testing.T) {
	clock := newClock()
	s := openStore(t, "", Options{Now: clock.now})
	first, second := begin(t, s, "first"), begin(t, s, "second")
	a := put(t, first, []byte("a")).ID
	clock.pass(time.Second)
	b := put(t, second, []byte("b")).ID
	if err := s.Keep(a, "kept", time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := second.End(); err != nil {
		t.Fatal(err)
	}
	clock.pass(2 * time.Hour)
	tests := []struct {
		filter Filter
		want   []string
	}{
		{Filter{}, []string{a}},
		{Filter{Expired: true}, []string{b, a}},
		{Filter{Expired: true, Turn: "second"}, []string{b}},
		{Filter{Turn: "second"}, nil},
		{Filter{Kept: true}, []string{a}},
		{Filter{Expired: true, Kept: true, Turn: "second"}, nil},
	}
	for _, tt := range tests {
		list, err := s.List(tt.filter)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range list {
			got = append(got, e.ID)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %v, want %v", tt.filter, got, tt.want)
		}
	}
}

func TestTurnBeginsOnce(t *testing.T) {
	s := openStore(t, "", Options{})
	begin(t, s, "turn")
	if _, err := s.Begin("turn", proc.Self()); err == nil {
		t.Error("a turn began twice")
	}
}
