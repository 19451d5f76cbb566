package observation

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rouse/internal/proc"
)

// clock is a time that a test sets.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func (c *clock) pass(d time.Duration) { c.Time = c.Add(d) }

func newClock() *clock { return &clock{time.Now().Truncate(time.Millisecond)} }

// openStore opens a store in dir, a fresh folder if it is "".
func openStore(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func begin(t testing.TB, s *Store, id string) *Turn {
	t.Helper()
	turn, err := s.Begin(id, proc.Self())
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// put stores data in odd pieces.
func put(t testing.TB, turn *Turn, data []byte) Entry {
	t.Helper()
	e, err := tryPut(turn, data)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func tryPut(turn *Turn, data []byte) (Entry, error) {
	w := turn.Create(Origin{Step: 1, Executor: "shell"})
	for n := 1; len(data) > 0; n = n*3%100_003 + 1 {
		k := min(n, len(data))
		w.Write(data[:k])
		data = data[k:]
	}
	return w.Commit(nil)
}

func get(t testing.TB, turn *Turn, id string) *Content {
	t.Helper()
	c, err := turn.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// checkWhole wants an entry to hold data.
func checkWhole(t testing.TB, c *Content, data []byte) {
	t.Helper()
	got, err := io.ReadAll(c.Reader())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, data) {
		t.Fatalf("%d bytes came back as %d others", len(data), len(got))
	}
}

// checkIntact wants the database to be whole.
func checkIntact(t testing.TB, s *Store) {
	t.Helper()
	var word string
	if err := s.db.QueryRow(`PRAGMA integrity_check`).Scan(&word); err != nil || word != "ok" {
		t.Fatalf("integrity check: %s, %v", word, err)
	}
}

// files lists the files of contents.
func files(t testing.TB, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(dir, contents))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range list {
		if f.Name() != lastGC {
			names = append(names, f.Name())
		}
	}
	return names
}

func wantNotFound(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, ErrNotFound) || err.Error() != ErrNotFound.Error() {
		t.Fatalf("the error is %v, want %v", err, ErrNotFound)
	}
}
