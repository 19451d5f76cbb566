package observation

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestView(t *testing.T) {
	data := numbered(20_000)
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, lend := range []func(*os.File, int64, int, func([]byte)) error{view, viewCopy} {
		for _, r := range [][2]int{{0, len(data)}, {1, 1}, {4095, 4098}, {4096, 8192}, {70_001, 70_007}, {len(data) - 1, len(data)}} {
			err := lend(f, int64(r[0]), r[1]-r[0], func(b []byte) {
				if !bytes.Equal(b, data[r[0]:r[1]]) {
					t.Errorf("bytes %d to %d are others", r[0], r[1])
				}
			})
			if err != nil {
				t.Error(r, err)
			}
		}
		if err := lend(f, 5, len(data), func([]byte) { t.Error("behind the end there are bytes") }); err == nil {
			t.Error("a view behind the end is no error")
		}
	}
}

// TestViewOfAFileThatIsCut cuts the file when it is mapped already.
func TestViewOfAFileThatIsCut(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, numbered(200_000), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = view(f, 0, 1<<20, func(b []byte) {
		if err := os.Truncate(name, 10); err != nil {
			t.Fatal(err)
		}
		if bytes.Count(b, []byte("line")) > 0 {
			t.Error("bytes are there that have no file")
		}
	})
	if err == nil || !strings.Contains(err.Error(), "cut") {
		t.Errorf("the error is %v", err)
	}
	if err := view(f, 0, 1<<20, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the error of a file that is too short is %v", err)
	}
}

// TestViewLetsPanicsPass is about those that are no faults.
func TestViewLetsPanicsPass(t *testing.T) {
	defer func() {
		if r := recover(); r != "ours" {
			t.Errorf("recovered %v", r)
		}
	}()
	err := catchFault(func() { panic("ours") })
	t.Error("went on with", err)
}

// TestGrepOfAFileThatIsCut damages the file of a raw content.
func TestGrepOfAFileThatIsCut(t *testing.T) {
	dir := t.TempDir()
	turn := begin(t, openStore(t, dir, Options{Codec: Raw}), "turn")
	c := get(t, turn, put(t, turn, numbered(500_000)).ID)
	files, err := filepath.Glob(filepath.Join(dir, contents, "*.raw"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.Truncate(files[0], 100_000); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"line 1000$", "(?i)LINE 1000$"} {
		if _, err := c.Grep(context.Background(), Query{Pattern: pattern}); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			t.Errorf("%s: the error is %v", pattern, err)
		}
	}
}
