package observation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rouse/internal/disk/disktest"
	"rouse/internal/proc"
)

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

func TestOrphansAreCollected(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	alive := begin(t, s, "alive")
	over := begin(t, s, "over")
	entry := put(t, over, numbered(50_000))
	w := alive.Create(Origin{})
	w.Write(numbered(500_000)) // its file is there
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
	var log bytes.Buffer
	s := openStore(t, dir, Options{Now: clock.now, MaxBytes: 1 << 20, Codec: Raw, Say: func(text string) { fmt.Fprintln(&log, text) }})
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
	if n := strings.Count(log.String(), "the oldest observations were removed"); n != 2 {
		t.Errorf("what had to go was said %d times, want 2:\n%s", n, log.String())
	}
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

// TestKeptIsFound: whatever fails, nothing is kept of which no later cycle learns.
func TestKeptIsFound(t *testing.T) {
	disktest.Sweep(t, faults(), func(f *disktest.Faulty) {
		dir := t.TempDir()
		s := openStore(t, dir, Options{})
		id := put(t, begin(t, s, "turn"), []byte("a")).ID
		s.opt.FS = f
		err := s.Keep(id, "kept", time.Hour)
		list, errList := s.List(Filter{Kept: true})
		if errList != nil {
			t.Fatal(errList)
		}
		if len(list) > 0 && !HasKept(dir) || (len(list) > 0) != (err == nil) {
			t.Errorf("%v: %d kept, found %v: %v", f.Fault, len(list), HasKept(dir), err)
		}
	})
}

func TestTurnBeginsOnce(t *testing.T) {
	s := openStore(t, "", Options{})
	begin(t, s, "turn")
	if _, err := s.Begin("turn", proc.Self()); err == nil {
		t.Error("a turn began twice")
	}
}

func TestSpanOfEachMode(t *testing.T) {
	turn := begin(t, openStore(t, "", Options{}), "turn")
	text := get(t, turn, put(t, turn, bytes.Repeat([]byte("é\n"), 3000)).ID)
	binary := get(t, turn, put(t, turn, []byte("\x00\xff\n\n")).ID)
	tests := []struct {
		c             *Content
		mode          string
		n, start, end int64
		unit          Unit
		from, to      int64
	}{
		{text, "", 0, 0, 0, Chars, 0, 2000},
		{text, "head", 5, 0, 0, Chars, 0, 5},
		{text, "tail", 0, 0, 0, Chars, 4000, 6000},
		{text, "tail", 9000, 0, 0, Chars, 0, 6000},
		{text, "range", 0, 7, 0, Chars, 7, 2007},
		{text, "range", 3, 7, 0, Chars, 7, 10},
		{text, "range", 3, 7, 8, Chars, 7, 8},
		{text, "lines", 0, 0, 0, Lines, 1, 101},
		{text, "lines", 0, 9, 11, Lines, 9, 11},
		{text, "full", 0, 0, 0, Chars, 0, 6000},
		{binary, "head", 0, 0, 0, Bytes, 0, 2000},
		{binary, "full", 0, 0, 0, Bytes, 0, 4},
		{binary, "lines", 0, 2, 3, Lines, 2, 3},
	}
	for _, tt := range tests {
		u, from, to, err := tt.c.Span(tt.mode, tt.n, tt.start, tt.end)
		if u != tt.unit || from != tt.from || to != tt.to || err != nil {
			t.Errorf("%s, %d, %d to %d: %s %d to %d, %v; want %s %d to %d", tt.mode, tt.n, tt.start, tt.end, u, from, to, err, tt.unit, tt.from, tt.to)
		}
	}
	if _, _, _, err := text.Span("all", 0, 0, 0); err == nil {
		t.Error("a mode that is none has a span")
	}
}
