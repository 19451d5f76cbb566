package files

import (
	"context"
	_ "embed"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"rouse/internal/redact"
	"rouse/tools"
)

//go:embed read_file.md
var readText string

type readArgs struct {
	Path  string `json:"path"`
	Start int    `json:"start_line,omitempty"`
	Lines int    `json:"lines,omitempty"`
}

func (f Folder) readFile() tools.Tool {
	t := tools.New("read_file", readText, f.read)
	t.ReadOnly = true
	return t
}

func (f Folder) read(ctx context.Context, call tools.Call, a readArgs) tools.Result {
	root, name, err := f.open(a.Path)
	if err != nil {
		return fail("read", a.Path, err)
	}
	defer root.Close()
	file, info, err := f.openRegular(root, name)
	if err != nil {
		return fail("read", a.Path, err)
	}
	defer file.Close()
	path, err := where(file)
	if err != nil {
		return fail("read", a.Path, err)
	}
	stop := context.AfterFunc(ctx, func() { file.Close() }) // a read that hangs ends too
	defer stop()

	out := &lines{w: call.Output, from: int64(max(a.Start, 1)), count: int64(a.Lines)}
	got, err := tools.Copy(out, io.LimitReader(file, bound(info, f.Limit)), f.Limit)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if got.Truncated {
		redact.Cut(call.Output)
	}
	if err == nil {
		_, err = io.WriteString(call.Output, got.Note)
	}
	r := readResult(a, got)
	if err != nil {
		r = fail("read", a.Path, err)
	}
	r.Read = []string{path}
	return r
}

func readResult(a readArgs, got tools.Copied) tools.Result {
	if start := int64(max(a.Start, 1)); start > max(got.Lines, 1) {
		return tools.Fail("read %s: line %d is past the end; the file has %d lines", quote(a.Path), start, got.Lines)
	}
	meta := map[string]any{"path": a.Path, "bytes": got.Bytes, "encoding": got.Encoding, "total_lines": got.Lines}
	if got.Truncated {
		meta["truncated"] = true
	}
	return tools.Result{OK: true, Metadata: meta}
}

// Open opens a regular file that read_file may read.
func (f Folder) Open(path string) (*os.File, error) {
	root, name, err := f.open(path)
	if err == nil {
		defer root.Close()
		var file *os.File
		if file, _, err = f.openRegular(root, name); err == nil {
			return file, nil
		}
	}
	return nil, errors.New(explain(err))
}

// OpenAny opens any regular file; a relative path begins in the workspace.
func (f Folder) OpenAny(path string) (*os.File, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.Workspace, path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return Folder{Workspace: filepath.Dir(path)}.Open(filepath.Base(path))
}

// openRegular opens a regular file, or says what it is instead.
func (f Folder) openRegular(root *os.Root, name string) (*os.File, os.FileInfo, error) {
	const hint = "list_files shows what is there"
	info, err := root.Stat(name) // first, because opening a device can act on it
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, notRegular(info.Mode(), hint)
	}
	// Whatever the name is by now, opening does not wait.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err = file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(info.Mode(), hint)
	}
	if err == nil {
		err = f.Wall.readable(file)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// bound is up to where a file is read: its size, so that one that grows
// meanwhile comes to an end; a file that says 0, as those in /proc do, may hold
// more.
func bound(info os.FileInfo, limit int64) int64 {
	if info.Size() == 0 {
		return limit + 1
	}
	return info.Size()
}

// lines passes count lines on, from the line from, counted from 1; all that
// follow if count is 0.
type lines struct {
	w           io.Writer
	from, count int64
	at          int64 // line breaks seen
}

// Write never says that it wrote less than p without an error.
func (l *lines) Write(p []byte) (int, error) {
	if l.from == 1 && l.count == 0 {
		return l.w.Write(p)
	}
	from, to := -1, len(p)
	for i, c := range p {
		if from < 0 && l.at+1 >= l.from {
			from = i
		}
		if l.count > 0 && l.at+1-l.from >= l.count {
			to = i
			break
		}
		if c == '\n' {
			l.at++
		}
	}
	if from < 0 || from >= to {
		return len(p), nil
	}
	if _, err := l.w.Write(p[from:to]); err != nil {
		return 0, err
	}
	return len(p), nil
}
