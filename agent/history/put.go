package history

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"rouse/internal/disk"
)

// Plan says what it takes to make a folder as it was in a version: what is put, and
// what is left as it is since it could not be brought back, or was never kept.
func Plan(now, to *Version, paths []string) (put, left []Change) {
	for _, c := range Below(Diff(now, to), paths) {
		if c.Was != nil && c.Was.Kind == Out && !isTemp(c.Path) || c.Is != nil && c.Is.Kind == Out {
			left = append(left, c)
		} else {
			put = append(put, c)
		}
	}
	return put, left
}

// Unless leaves out of a plan what somebody changed since a version was made.
func Unless(put []Change, since *Version) (still, changed []Change) {
	was := cursor{lines: since.lines}
	for _, c := range put {
		_, from, to := was.seek([]byte(c.Path))
		w := entryOn(was.lines[from:to])
		if c.Was == nil || isTemp(c.Path) || w != nil && (w.Same(*c.Was) || w.Kind == Folder && c.Was.Kind == Folder) {
			still = append(still, c)
		} else {
			changed = append(changed, c)
		}
	}
	return still, changed
}

const tempName = ".rewind." // begins the names of files that are being put

func isTemp(p string) bool {
	return strings.HasPrefix(path.Base(p), tempName) && disk.IsTemp(path.Base(p))
}

// putting is a folder into which files are put.
type putting struct {
	*os.Root
	fs      disk.FS
	of      func(Entry) (io.Reader, error)
	touched map[string]fs.FileMode // folders, with the modes that they had
}

// Put carries out a plan. It may be killed at any point and be planned and done again;
// nothing that it does leads out of the folder, and each file is old or new, whole. At
// its end all is durable.
func (s Store) Put(root string, put []Change) error {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	p := &putting{Root: r, fs: disk.Root{R: r}, of: s.From, touched: map[string]fs.FileMode{}}
	if p.of == nil {
		contents := s.Contents()
		defer contents.Close()
		p.of = contents.Of
	}
	if s.Workspace != nil {
		p.fs = s.Workspace(p.fs)
	}
	for _, c := range slices.Backward(put) {
		if c.Was != nil && (c.Is == nil || c.Is.Kind != c.Was.Kind) {
			err = cmp.Or(err, p.remove(c))
		}
	}
	for _, c := range put {
		if c.Is != nil && err == nil {
			err = p.put(c)
		}
	}
	return p.end(put, err)
}

// end gives folders their modes, and makes durable what is in them.
func (p *putting) end(put []Change, err error) error {
	for dir, mode := range p.touched {
		if _, failed := p.Lstat(dir); failed != nil {
			continue // it went
		}
		err = cmp.Or(err, p.fs.SyncDir(dir))
		if mode&0o700 != 0o700 {
			err = cmp.Or(err, p.Chmod(dir, mode))
		}
	}
	for _, c := range slices.Backward(put) {
		if err == nil && c.Is != nil && c.Is.Kind == Folder {
			err = p.chmod(c.Path, c.Is.Mode)
		}
	}
	return err
}

// touch is about to change something in the folder of a path, which may be locked.
func (p *putting) touch(name string) string {
	dir := path.Dir(name)
	if _, ok := p.touched[dir]; ok {
		return dir
	}
	if info, err := p.Lstat(dir); err == nil && info.IsDir() {
		mode := info.Mode() &^ fs.ModeDir
		if p.touched[dir] = mode; mode&0o700 != 0o700 {
			_ = p.Chmod(dir, mode|0o700) // what follows says why it cannot be
		}
	}
	return dir
}

// remove removes a file, or a folder unless something is in it that was never kept.
func (p *putting) remove(c Change) error {
	p.touch(c.Path)
	err := p.fs.Remove(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case c.Was.Kind == Folder && c.Is == nil && (errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST)):
		return nil
	}
	return err
}

func (p *putting) put(c Change) error {
	e := *c.Is
	switch {
	case e.Kind == Folder && c.Was != nil && c.Was.Kind == Folder:
		return nil // its mode follows
	case e.Kind == Folder:
		p.touch(c.Path)
		return p.fs.MkdirAll(e.Path, 0o700)
	}
	tmp := path.Join(p.touch(c.Path), fmt.Sprintf("%s%08x.tmp", tempName, rand.Uint32()))
	if err := p.fs.MkdirAll(path.Dir(e.Path), 0o700); err != nil {
		return err
	}
	err := p.write(tmp, e)
	if err == nil {
		err = p.fs.Rename(tmp, e.Path)
	}
	if err != nil {
		_ = p.fs.Remove(tmp)
	}
	return err
}

// write makes a file beside the one that it is to replace.
func (p *putting) write(tmp string, e Entry) error {
	if e.Kind == Link {
		return p.Symlink(e.Is, tmp)
	}
	from, err := p.of(e)
	if err != nil {
		return err
	}
	w, err := p.fs.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, from)
	if err == nil {
		err = w.Sync()
	}
	if err = cmp.Or(err, w.Close()); err != nil {
		return err
	}
	mod := time.Unix(0, e.Mod)
	return cmp.Or(p.chmod(tmp, e.Mode), p.Chtimes(tmp, mod, mod))
}

func (p *putting) chmod(name string, mode uint32) error {
	m := fs.FileMode(mode & 0o777)
	for bit, is := range map[uint32]fs.FileMode{unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky} {
		if mode&bit != 0 {
			m |= is
		}
	}
	return p.Chmod(name, m)
}
