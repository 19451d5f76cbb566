package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/tools"
)

func TestMain(m *testing.M) { disktest.Main(m) }

// call runs a tool, and gives its content whichever way it came.
func call(t *testing.T, f Folder, tool string, args map[string]any) (tools.Result, string) {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range f.Tools() {
		if x.Name != tool {
			continue
		}
		if err := x.Check(raw); err != nil {
			t.Fatalf("%s %s: %v", tool, raw, err)
		}
		var out bytes.Buffer
		r := x.Run(context.Background(), tools.Call{Args: raw, Output: &out})
		if strings.ContainsAny(r.Error, "\n\r") || r.OK != (r.Error == "") {
			t.Errorf("%s %s: ok %v, error %q", tool, raw, r.OK, r.Error)
		}
		if s, ok := r.Content.(string); ok {
			return r, s
		}
		return r, out.String()
	}
	t.Fatalf("no tool %s", tool)
	return tools.Result{}, ""
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWriteThenRead(t *testing.T) {
	f := Folder{Workspace: filepath.Join(t.TempDir(), "made", "workspace")}
	if _, err := os.Stat(f.Workspace); err == nil {
		t.Fatal("the workspace is there before it is used")
	}
	text := "one\ntwo \x1b[31m é\r\n\tthree"
	r, _ := call(t, f, "write_file", map[string]any{"path": "a/b/c.txt", "content": text})
	want := map[string]any{"path": "a/b/c.txt", "bytes": len(text), "size": len(text)}
	if diff := cmp.Diff(want, r.Metadata); diff != "" || !r.OK {
		t.Errorf("write: %+v\n%s", r, diff)
	}
	r, got := call(t, f, "read_file", map[string]any{"path": "a/b/c.txt"})
	want = map[string]any{"path": "a/b/c.txt", "bytes": int64(len(text)), "encoding": "utf-8", "total_lines": int64(3)}
	if diff := cmp.Diff(want, r.Metadata); diff != "" || got != text {
		t.Errorf("read %q, want %q\n%s", got, text, diff)
	}
	call(t, f, "write_file", map[string]any{"path": "a/b/c.txt", "content": "!\n", "append": true})
	if got := content(t, filepath.Join(f.Workspace, "a/b/c.txt")); got != text+"!\n" {
		t.Errorf("appended: %q", got)
	}
	r, _ = call(t, f, "write_file", map[string]any{"path": "new.log", "content": "x", "append": true})
	if !r.OK || content(t, filepath.Join(f.Workspace, "new.log")) != "x" {
		t.Errorf("append to nothing: %+v", r)
	}
}

func TestReadLines(t *testing.T) {
	f := Folder{Workspace: t.TempDir()}
	put(t, filepath.Join(f.Workspace, "l"), "1\n2\n3\n4\n5")
	put(t, filepath.Join(f.Workspace, "empty"), "")
	for _, c := range []struct {
		path         string
		start, lines int
		want, err    string
	}{
		{"l", 0, 0, "1\n2\n3\n4\n5", ""},
		{"l", 1, 1, "1\n", ""},
		{"l", 2, 2, "2\n3\n", ""},
		{"l", 4, 0, "4\n5", ""},
		{"l", 5, 9, "5", ""},
		{"l", 5, math.MaxInt, "5", ""},
		{"l", 6, 1, "", `read "l": line 6 is past the end; the file has 5 lines`},
		{"l", -3, -1, "1\n2\n3\n4\n5", ""},
		{"empty", 1, 1, "", ""},
	} {
		r, got := call(t, f, "read_file", map[string]any{"path": c.path, "start_line": c.start, "lines": c.lines})
		if got != c.want || r.Error != c.err {
			t.Errorf("%s from %d, %d lines: %q, %q", c.path, c.start, c.lines, got, r.Error)
		}
	}
}

func TestReadBinary(t *testing.T) {
	f := Folder{Workspace: t.TempDir()}
	put(t, filepath.Join(f.Workspace, "p.png"), "\x89PNG\r\n\x1a\n\x00\x00")
	put(t, filepath.Join(f.Workspace, "bad"), "one\ncaf\xe9\nthree\n")
	for _, c := range []struct {
		path         string
		start, lines int
		want         string
	}{
		{"p.png", 0, 0, "\x89PNG\r\n\x1a\n\x00\x00"},
		{"bad", 0, 0, "one\ncaf\xe9\nthree\n"},
		{"bad", 2, 1, "caf\xe9\n"},
	} {
		r, got := call(t, f, "read_file", map[string]any{"path": c.path, "start_line": c.start, "lines": c.lines})
		if !r.OK || r.Metadata["encoding"] != "binary" || got != c.want {
			t.Errorf("%s: %q, %v", c.path, got, r.Metadata)
		}
	}
}

func TestMode(t *testing.T) {
	f := Folder{Workspace: t.TempDir()}
	for _, mode := range []os.FileMode{0o600, 0o755, 0o666, 0o644} {
		p := filepath.Join(f.Workspace, fmt.Sprintf("m%o", mode))
		put(t, p, "old")
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
		call(t, f, "write_file", map[string]any{"path": filepath.Base(p), "content": "new"})
		if info, err := os.Stat(p); err != nil || info.Mode() != mode || content(t, p) != "new" {
			t.Errorf("mode %v became %v, %v", mode, info.Mode(), err)
		}
	}
}

// Each write fails at each of its operations, and each time the old file is there.
func TestWriteFaults(t *testing.T) {
	cause := errors.New("no space left on device")
	for _, args := range []map[string]any{
		{"path": "d/f", "content": "new"},
		{"path": "d/f", "content": "new", "append": true},
		{"path": "x/y/f", "content": "new"},
	} {
		fired := 0
		for n := 1; ; n++ {
			ws := t.TempDir()
			put(t, filepath.Join(ws, "d/f"), "old")
			fault := &faulty{at: n, err: cause}
			f := Folder{Workspace: ws, Wrap: func(d disk.FS) disk.FS { fault.FS = d; return fault }}
			r, _ := call(t, f, "write_file", args)
			if fault.at > 0 { // the write met no fault
				if !r.OK {
					t.Errorf("%v: %s", args, r.Error)
				}
				break
			}
			fired++
			renamed := fault.renamed
			if r.OK || !strings.Contains(r.Error, cause.Error()) {
				t.Errorf("%v, fault %d: ok %v, %q", args, n, r.OK, r.Error)
			}
			if got := content(t, filepath.Join(ws, "d/f")); !renamed && got != "old" {
				t.Errorf("%v, fault %d: the file holds %q", args, n, got)
			}
		}
		if fired < 6 {
			t.Errorf("%v: only %d faults fired", args, fired)
		}
		t.Logf("%v: %d faults, old content lost 0", args, fired)
	}
}

// faulty fails at its at-th operation.
type faulty struct {
	disk.FS
	at      int
	err     error
	renamed bool
}

func (f *faulty) fail() error {
	if f.at--; f.at == 0 {
		return f.err
	}
	return nil
}

func (f *faulty) OpenFile(name string, flag int, perm os.FileMode) (disk.File, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	return faultyFile{file, f}, err
}

func (f *faulty) Rename(a, b string) error {
	if err := f.fail(); err != nil {
		return err
	}
	f.renamed = true
	return f.FS.Rename(a, b)
}

func (f *faulty) MkdirAll(name string, perm os.FileMode) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.FS.MkdirAll(name, perm)
}

func (f *faulty) SyncDir(name string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.FS.SyncDir(name)
}

type faultyFile struct {
	disk.File
	f *faulty
}

func (f faultyFile) Write(p []byte) (int, error) {
	if err := f.f.fail(); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

func (f faultyFile) Sync() error {
	if err := f.f.fail(); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f faultyFile) Close() error {
	err := f.File.Close()
	if e := f.f.fail(); e != nil {
		return e
	}
	return err
}
