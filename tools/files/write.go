package files

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rouse/internal/disk"
	"rouse/tools"
)

//go:embed write_file.md
var writeText string

// maxAppend is the largest file that is appended to, in bytes: appending
// replaces the file as a whole, so that it is never half done.
const maxAppend = 64 << 20

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Append  bool   `json:"append,omitempty"`
}

func (f Folder) writeFile() tools.Tool {
	t := tools.New("write_file", writeText, f.write)
	t.Streams = []string{"content"}
	if len(f.Roots) > 0 {
		t.Beyond = f.beyond
	}
	return t
}

// beyond says whether a call writes beside the workspace, where others may look.
func (f Folder) beyond(args json.RawMessage) bool {
	var a writeArgs
	if json.Unmarshal(args, &a) != nil {
		return true
	}
	dir, _, err := f.locate(a.Path)
	return err == nil && dir != f.Workspace // else nothing is written
}

func (f Folder) write(_ context.Context, call tools.Call, a writeArgs) tools.Result {
	if strings.HasSuffix(a.Path, "/") {
		return fail("write", a.Path, errors.New("names a folder; write_file makes the folders on the way to a file"))
	}
	root, name, err := f.open(a.Path)
	if err != nil {
		return fail("write", a.Path, err)
	}
	defer root.Close()
	parent, err := f.parent(root, filepath.Dir(name))
	if err != nil {
		return fail("write", a.Path, err)
	}
	defer parent.Close()
	size, old, err := f.replace(parent, filepath.Base(name), call.Text("content", a.Content), a.Append)
	if err != nil {
		return fail("write", a.Path, err)
	}
	return tools.Result{
		OK:       true,
		Content:  fmt.Sprintf("wrote %d bytes to %s", size-old, quote(a.Path)),
		Metadata: map[string]any{"path": a.Path, "bytes": int(size - old), "size": int(size)},
	}
}

// replace writes the file and says how large it is then, and how much of that
// was there before.
func (f Folder) replace(root *os.Root, name string, data io.Reader, extend bool) (size, old int64, err error) {
	if err := f.Wall.writable(root, name); err != nil {
		return 0, 0, err
	}
	target := f.Wrap(disk.Root{R: root})
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		size, err = disk.ReplaceFrom(target, name, data, 0o644)
		return size, 0, err
	case err != nil:
		return 0, 0, err
	case !info.Mode().IsRegular():
		return 0, 0, notRegular(info.Mode(), "choose another path")
	}
	if extend {
		before, err := f.readSmall(root, name)
		if err != nil {
			return 0, 0, err
		}
		old, data = int64(len(before)), io.MultiReader(bytes.NewReader(before), data)
	}
	size, err = disk.ReplaceFrom(f.Wrap(exactMode{disk.Root{R: root}}), name, data, info.Mode().Perm())
	return size, old, err
}

// parent opens the folder dir, and makes it if need be. What is done in it then is
// done there, whatever its name is by now.
func (f Folder) parent(root *os.Root, dir string) (*os.Root, error) {
	parent, err := root.OpenRoot(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return parent, err
	}
	if err := f.makeParents(root, dir); err != nil {
		return nil, err
	}
	return root.OpenRoot(dir)
}

// makeParents makes the folder dir, and its name and those above it durable. The
// folder that is there already is held on to, and must not be behind the wall.
func (f Folder) makeParents(root *os.Root, dir string) error {
	top, rest := dir, "."
	base, err := root.OpenRoot(top)
	for errors.Is(err, fs.ErrNotExist) && top != "." {
		top, rest = filepath.Dir(top), filepath.Join(filepath.Base(top), rest)
		base, err = root.OpenRoot(top)
	}
	if err != nil {
		return err
	}
	defer base.Close()
	first, _, _ := strings.Cut(rest, "/")
	if err := f.Wall.writable(base, first); err != nil {
		return err
	}
	target := f.Wrap(disk.Root{R: base})
	if err := target.MkdirAll(rest, 0o755); err != nil {
		return err
	}
	for ; rest != "."; rest = filepath.Dir(rest) {
		if err := target.SyncDir(filepath.Dir(rest)); err != nil {
			return err
		}
	}
	return nil
}

func (f Folder) readSmall(root *os.Root, name string) (data []byte, err error) {
	file, info, err := f.openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Size() <= maxAppend {
		data, err = io.ReadAll(io.LimitReader(file, maxAppend+1))
	}
	if info.Size() > maxAppend || len(data) > maxAppend {
		err = fmt.Errorf("is larger than %d bytes, too large to append to; write another file", maxAppend)
	}
	return data, err
}

// exactMode gives a new file the mode asked for whatever the umask is, so that
// a replaced file keeps its own.
type exactMode struct{ disk.Root }

// OpenFile is [disk.Root.OpenFile], and sets the mode.
func (e exactMode) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	file, err := e.R.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	if err := file.Chmod(perm); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
