package jsonl_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/jsonl"
)

type value struct{ N int }

func read(t *testing.T, path string) (got []int) {
	t.Helper()
	for v, err := range jsonl.Read[value](path) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v.N)
	}
	return got
}

func add(f disk.FS, path string, n int) error {
	lines, err := jsonl.Marshal(value{n})
	if err != nil {
		return err
	}
	return jsonl.Append(f, path, lines, true)
}

// Whatever a writer that died left at the end, the next line stands by itself.
func TestTornEnds(t *testing.T) {
	for _, before := range []string{"", `{"N":1}` + "\n", `{"N":1}`, `{"N":`, "\xff\x00", "\n\n", `{"N":1}` + "\n" + `{"N":2`} {
		path := filepath.Join(t.TempDir(), "f.jsonl")
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{8, 9} {
			if err := add(disk.OS{}, path, n); err != nil {
				t.Fatal(err)
			}
		}
		var want []int
		if strings.HasPrefix(before, `{"N":1}`) {
			want = []int{1}
		}
		if got := read(t, path); !slices.Equal(got, append(want, 8, 9)) {
			t.Errorf("after %q: %v", before, got)
		}
	}
}

// At each fault what was acknowledged is read, and nothing else but the one line
// that was not, also by a writer that goes on.
func TestFaults(t *testing.T) {
	points := disktest.Sweep(t, disktest.Faults(), func(f *disktest.Faulty) {
		path := filepath.Join(t.TempDir(), "f.jsonl")
		w := jsonl.File{FS: f, Path: path}
		defer w.Close()
		var acknowledged []int
		for n := range 5 {
			lines, err := jsonl.Marshal(value{n}, value{10 * n})
			if err != nil {
				t.Fatal(err)
			}
			if w.Append(lines, false) == nil {
				acknowledged = append(acknowledged, n, 10*n)
			}
		}
		got := read(t, path)
		for _, n := range acknowledged {
			if !slices.Contains(got, n) {
				t.Errorf("%v: %d is lost, %v are there", f.Fault, n, got)
			}
		}
		if len(got) > 10 {
			t.Errorf("%v: %v", f.Fault, got)
		}
	})
	t.Logf("lost 0 / %d faults", points)
}

func TestReadOddFiles(t *testing.T) {
	dir := t.TempDir()
	if got := read(t, filepath.Join(dir, "none")); got != nil {
		t.Error(got)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range jsonl.Read[value](fifo) {
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Error(err)
		}
	}
}

// Tail begins at a line, and reads on until it is told that it is enough.
func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.jsonl")
	var text strings.Builder
	for n := range 1000 {
		fmt.Fprintf(&text, "{\"N\":%d}\n", n)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, first := range []int{999, 990, 500, 1, 0, -1} {
		asked, found := 0, false
		size, err := jsonl.Tail(path, 25, func(lines []byte) bool {
			asked++
			for v := range jsonl.Values[value](strings.NewReader(string(lines))) {
				found = found || v.N == first
			}
			if !strings.HasPrefix(string(lines), `{"N":`) {
				t.Errorf("begins in a line: %.10q", lines)
			}
			return found
		})
		if err != nil || int(size) != text.Len() || found != (first >= 0) || asked > 8 {
			t.Errorf("%d: found %v after %d, %v", first, found, asked, err)
		}
	}
}
