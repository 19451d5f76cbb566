// Package files holds the tools that read, write and list files inside the
// workspace.
//
// Every name is looked up by [os.Root], one component at a time from an open
// folder, so that neither `..`, nor a symbolic link, nor a folder that somebody
// swaps for a link in the middle of a call leads outside, and the magic links
// of /proc do not either. Only regular files are read and replaced: a FIFO, a
// device or a socket is refused without waiting for it.
//
// Two things are not enforced, because no name shows them: a hard link inside
// the workspace to a file outside is read like any other file (writing replaces
// the name and leaves the other file alone), and what is mounted inside the
// workspace belongs to it. Making either needs more than these tools. The agent's
// own files are behind a [Wall], which knows them also by such names.
package files

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"rouse/internal/disk"
	"rouse/internal/text"
	"rouse/tools"
)

// DefaultLimit is how many bytes of one file read_file passes on: 1 GiB.
const DefaultLimit = 1 << 30

// maxPath is the longest path accepted, in bytes: Linux's PATH_MAX.
const maxPath = 4096

// Folder is where the file tools work.
type Folder struct {
	// Workspace is an absolute path: where relative paths begin. It is made
	// when a tool is first used.
	Workspace string
	// Roots are absolute paths of further folders, used by absolute paths.
	Roots []string
	// Wall stands around the agent's own files, wherever the workspace and the
	// roots are.
	Wall Wall
	// Limit is how many bytes of one file are passed on; 0 is [DefaultLimit].
	Limit int64
	// Wrap, unless nil, stands between write_file and the disk, so that a test
	// can make the disk fail.
	Wrap func(disk.FS) disk.FS
}

// Tools are read_file, write_file and list_files.
func (f Folder) Tools() []tools.Tool {
	f.Limit = cmp.Or(f.Limit, DefaultLimit)
	if f.Wrap == nil {
		f.Wrap = func(d disk.FS) disk.FS { return d }
	}
	return []tools.Tool{f.readFile(), f.writeFile(), f.listFiles()}
}

// open finds the root that path is in and its cleaned name there, and makes the
// workspace if need be. The caller closes the root.
func (f Folder) open(path string) (*os.Root, string, error) {
	if err := checkPath(path); err != nil {
		return nil, "", err
	}
	dir, name, err := f.locate(path)
	if err != nil {
		return nil, "", err
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) && dir == f.Workspace {
		if err := f.Wrap(disk.OS{}).MkdirAll(dir, 0o700); err != nil {
			return nil, "", err
		}
		root, err = os.OpenRoot(dir)
	}
	return root, name, err
}

func checkPath(path string) error {
	switch {
	case path == "":
		return errors.New("the path is empty")
	case len(path) > maxPath:
		return fmt.Errorf("the path is longer than %d bytes", maxPath)
	case strings.IndexByte(path, 0) >= 0:
		return errors.New("a path cannot hold a NUL")
	}
	return nil
}

// locate names the folder that path is in, and its name there. It only chooses:
// [os.Root] is what confines.
func (f Folder) locate(path string) (dir, name string, err error) {
	if !filepath.IsAbs(path) {
		return f.Workspace, filepath.Clean(path), nil
	}
	for _, dir := range append([]string{f.Workspace}, f.Roots...) {
		for _, base := range spellings(dir) {
			if rel, err := filepath.Rel(base, path); err == nil && filepath.IsLocal(rel) {
				return dir, rel, nil
			}
		}
	}
	return "", "", f.outside()
}

// spellings are a folder's path as configured and as the system spells it.
func spellings(dir string) []string {
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		return []string{dir, real}
	}
	return []string{dir}
}

func (f Folder) outside() error {
	if len(f.Roots) == 0 {
		return errors.New("outside the workspace; use a path relative to it")
	}
	return fmt.Errorf("outside the workspace and outside %s; use a path relative to the workspace",
		strings.Join(f.Roots, ", "))
}

// fail words err for the model: in one line, with the path as it wrote it.
func fail(verb, path string, err error) tools.Result {
	return tools.Fail("%s %s: %s", verb, quote(path), explain(err))
}

// explain says what went wrong without the paths of this machine, and how to
// mend it where that is known.
func explain(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file or folder; list_files shows what is there"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied to the user that the agent runs as"
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	}
	for name := (*fs.PathError)(nil); errors.As(err, &name); {
		err = name.Err
	}
	// The error of os.Root has no exported name.
	if strings.Contains(err.Error(), "escapes from parent") {
		return "leads outside the workspace, by .. or by a symbolic link"
	}
	return err.Error()
}

// quote shows a path on one line, cut to 200 bytes or so.
func quote(path string) string {
	return strconv.Quote(text.CutBytes(path, 200))
}

// kind says what a file is that is not a regular one.
func kind(m fs.FileMode) string {
	switch m.Type() {
	case fs.ModeDir:
		return "folder"
	case fs.ModeSymlink:
		return "link"
	case fs.ModeNamedPipe:
		return "FIFO"
	case fs.ModeSocket:
		return "socket"
	case 0:
		return "file"
	}
	return "device"
}

// notRegular is the error for a file that cannot be read or replaced.
func notRegular(m fs.FileMode, hint string) error {
	if m.IsDir() {
		return errors.New("is a folder; " + hint)
	}
	return fmt.Errorf("is a %s, not a regular file; %s", kind(m), hint)
}
