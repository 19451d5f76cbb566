package files

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse/tools"
)

// A file that grows as fast as it is read comes to an end: at the size it had.
func TestReadGrowing(t *testing.T) {
	f := Folder{Workspace: t.TempDir()}
	p := filepath.Join(f.Workspace, "log")
	put(t, p, strings.Repeat("line\n", 100<<10))
	log, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	read := 0
	out := writerFunc(func(b []byte) (int, error) {
		read += len(b)
		return log.Write(b)
	})
	r := f.Tools()[0].Run(context.Background(), tools.Call{Args: json.RawMessage(`{"path":"log"}`), Output: out})
	if !r.OK || read != 500<<10 || r.Metadata["truncated"] != nil {
		t.Errorf("%+v: %d bytes", r, read)
	}
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

func TestReadSparse(t *testing.T) {
	f := Folder{Workspace: t.TempDir(), Limit: 1 << 20}
	file, err := os.Create(filepath.Join(f.Workspace, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(1 << 40); err != nil {
		t.Skip("no file of 1 TiB here: ", err)
	}
	r, got := call(t, f, "read_file", map[string]any{"path": "sparse"})
	if !r.OK || r.Metadata["truncated"] != true || len(got) != 1<<20 || r.Metadata["encoding"] != "binary" {
		t.Errorf("%+v, %d bytes", r, len(got))
	}
	if r, _ := call(t, f, "write_file", map[string]any{"path": "sparse", "content": "x", "append": true}); r.OK ||
		!strings.Contains(r.Error, "too large to append") {
		t.Errorf("append: %+v", r)
	}
}

func TestReadLimit(t *testing.T) {
	f := Folder{Workspace: t.TempDir(), Limit: 4}
	put(t, filepath.Join(f.Workspace, "f"), "abcdef")
	r, got := call(t, f, "read_file", map[string]any{"path": "f"})
	if !r.OK || got != "abcd\n[CUT after 4 bytes]" || r.Metadata["truncated"] != true {
		t.Errorf("%+v, %q", r, got)
	}
}

func TestList(t *testing.T) {
	f := Folder{Workspace: t.TempDir()}
	for _, name := range []string{"b.txt", "a/z.txt", "a/b/c.md", "a.txt", "sp ace", " lead", "new\nfile 12 forged.txt",
		"bidi\u202egnp", "zero\u200bwidth", `"quoted"`, "esc\x1b[2J", "bad\xff", "x -> y"} {
		put(t, filepath.Join(f.Workspace, name), "12345")
	}
	if err := os.Symlink("b.txt\nforged", filepath.Join(f.Workspace, "ln")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args map[string]any
		want []string
	}{
		{map[string]any{}, []string{
			`file 5 " lead"`, `file 5 "\"quoted\""`, `folder - a/`, `file 5 a.txt`, `file 5 b.txt`, `file 5 "bad\xff"`,
			`file 5 "bidi\u202egnp"`, `file 5 "esc\x1b[2J"`, `link - ln -> "b.txt\nforged"`,
			`file 5 "new\nfile 12 forged.txt"`, `file 5 sp ace`, `file 5 "x -> y"`, `file 5 "zero\u200bwidth"`}},
		{map[string]any{"path": "a", "recursive": true}, []string{`folder - b/`, `file 5 b/c.md`, `file 5 z.txt`}},
		{map[string]any{"pattern": "?.txt", "recursive": true}, []string{`file 5 a/z.txt`, `file 5 a.txt`, `file 5 b.txt`}},
		{map[string]any{"pattern": "*.no"}, []string{`[nothing]`}},
	} {
		r, got := call(t, f, "list_files", c.args)
		var lines []string
		for l := range strings.Lines(got) {
			kind, rest, _ := strings.Cut(strings.TrimSuffix(l, "\n"), " ")
			lines = append(lines, strings.TrimSpace(kind+" "+strings.TrimLeft(rest, " ")))
		}
		if !r.OK || strings.Join(lines, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%v: %s\n%s\nwant\n%s", c.args, r.Error, strings.Join(lines, "\n"), strings.Join(c.want, "\n"))
		}
	}
	for args, want := range map[string]string{
		`{"path":"none"}`: "no such", `{"path":"b.txt"}`: "not a directory", `{"pattern":"["}`: "the pattern",
	} {
		r := f.Tools()[2].Run(context.Background(), tools.Call{Args: json.RawMessage(args), Output: io.Discard})
		if r.OK || !strings.Contains(r.Error, want) {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

func TestListIsBounded(t *testing.T) {
	f := Folder{Workspace: t.TempDir()}
	first := filepath.Join(f.Workspace, "f02199")
	if err := os.WriteFile(first, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 2199 {
		if err := os.Link(first, filepath.Join(f.Workspace, fmt.Sprintf("f%05d", 2198-i))); err != nil { // quicker than a file each
			t.Fatal(err)
		}
	}
	r, got := call(t, f, "list_files", map[string]any{})
	if strings.Count(got, "\n") != 1001 || !strings.HasSuffix(got, " f00999\n[1200 more; name a folder below or a pattern to see them]\n") ||
		!strings.Contains(got, " f00000\n") || r.Metadata["entries"] != 2200 {
		t.Errorf("%v, end %q", r.Metadata, got[max(0, len(got)-100):])
	}
}
