package observation

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
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

// sample is a content to test with.
type sample struct {
	name string
	data []byte
}

// samples are contents of all sorts, some with chunks that end at odd places.
func samples() []sample {
	line := "a line of text, number 17\n"
	list := []sample{
		{"empty", nil},
		{"one byte", []byte("x")},
		{"only a newline", []byte("\n")},
		{"newlines", bytes.Repeat([]byte("\n"), 70_000)},
		{"no final newline", []byte("one\ntwo")},
		{"crlf", []byte(strings.Repeat("a line\r\n", 9_000))},
		{"carriage returns", []byte(strings.Repeat("a\rb\r\r\n\r", 12_000))},
		{"text", []byte(strings.Repeat(line, 6_000))},
		{"a chunk", bytes.Repeat([]byte("y"), chunkSize)},
		{"a chunk and a byte", bytes.Repeat([]byte("y"), chunkSize+1)},
		{"a chunk, newline at its end", append(bytes.Repeat([]byte("y"), chunkSize-1), '\n')},
		{"two chunks", append(append(bytes.Repeat([]byte("y"), chunkSize-1), '\n'), bytes.Repeat([]byte("z"), chunkSize)...)},
		{"a block", []byte(strings.Repeat(strings.Repeat("y", 63)+"\n", blockSize/64))},
		{"a long line", bytes.Repeat([]byte("0123456789"), 110_000)},
		{"long lines", []byte(strings.Repeat(strings.Repeat("long é ", 20_000)+"\r\nshort\n", 4))},
		{"chinese", []byte(strings.Repeat("一二三四五六七八九十", 6_000))},
		{"emoji", []byte(strings.Repeat("a😀é\n", 12_000))},
		{"invalid", []byte(strings.Repeat("ok \xff\xe2\x82 \x80\n", 9_000))},
		{"cut rune at the end", []byte(strings.Repeat("é", 50_000) + "\xe2\x82")},
	}
	for seed := range uint64(4) {
		list = append(list, sample{"random " + string('0'+rune(seed)), randomText(seed, 200_000)})
	}
	return list
}

// randomText is about n bytes of any characters, some of them none.
func randomText(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b []byte
	for len(b) < n {
		switch r.IntN(12) {
		case 0:
			b = append(b, '\n')
		case 1:
			b = append(b, "\r\n"...)
		case 2:
			b = append(b, byte(r.IntN(256)))
		case 3:
			b = append(b, string(rune(r.IntN(0x10ffff)))...)
		case 4:
			b = append(b, bytes.Repeat([]byte{'a' + byte(r.IntN(26))}, r.IntN(200_000)>>r.IntN(18))...)
		default:
			b = append(b, "error in the 42nd word "[:r.IntN(24)]...)
		}
	}
	return b
}
