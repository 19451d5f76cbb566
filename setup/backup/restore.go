package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"rouse/agent/approval"
	"rouse/home"
)

const nonBlock = syscall.O_NONBLOCK // nobody waits for a FIFO

// Restore makes a home of a backup, in a folder that is new or empty. All of it is
// checked before the folder gets its name: there is a whole home or none.
func Restore(from, dir string) (Head, error) {
	h, err := restore(from, dir)
	if err != nil {
		return h, fmt.Errorf("restore: %w", err)
	}
	return h, nil
}

func restore(from, dir string) (h Head, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return h, err
	}
	if entries, err := os.ReadDir(dir); len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return h, cmp.Or(err, fmt.Errorf("%s is not empty: name a new folder", dir))
	}
	f, err := os.Open(from)
	if err != nil {
		return h, err
	}
	defer f.Close()
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return h, err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".rouse-restore-")
	if err != nil {
		return h, err
	}
	defer os.RemoveAll(tmp)
	root, err := os.OpenRoot(tmp)
	if err != nil {
		return h, err
	}
	defer root.Close()
	r := &reader{root: root, sums: map[string]string{}}
	if err := r.all(bufio.NewReaderSize(f, 1<<20)); err != nil {
		return r.head, err
	}
	if err := again(home.Home{Dir: tmp}); err != nil {
		return r.head, err
	}
	syscall.Sync()
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r.head, err
	}
	return r.head, os.Rename(tmp, dir)
}

// again has all calls that wait for a person, or for a cycle, asked again: what became of
// them in the home that this is a copy of, nobody knows.
func again(h home.Home) error {
	asked := approval.File{Path: h.Approvals(), Lock: h.ApprovalsLock()}
	return asked.Withdraw("the home was restored from a backup, and it may have been carried out meanwhile")
}

// reader reads a backup into a folder that nothing leads out of.
type reader struct {
	root   *os.Root
	head   Head
	sums   map[string]string // "hash size" of each file
	later  []*tar.Header     // links, and folders whose mode is to be set, the outer first
	proven bool
}

var errDamaged = errors.New("the backup is damaged or not complete")

func (r *reader) all(from io.Reader) error {
	zip, err := gzip.NewReader(from)
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	in := tar.NewReader(zip)
	if err := r.begin(in); err != nil {
		return err
	}
	for {
		e, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
		if err := r.entry(e, in); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, zip); err != nil || !r.proven {
		return cmp.Or(err, errDamaged)
	}
	return r.end()
}

// begin reads what the backup is of.
func (r *reader) begin(in *tar.Reader) error {
	e, err := in.Next()
	if err != nil || e.Name != headName || e.Size > 1<<16 {
		return errors.New("it is no backup of a home")
	}
	text, err := io.ReadAll(in)
	if err == nil {
		err = json.Unmarshal(text, &r.head)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errDamaged, err)
	case r.head.Format > format || r.head.Home > home.Version:
		return fmt.Errorf("the backup is of rouse %s, which is newer: use that", r.head.Program)
	}
	return nil
}

func (r *reader) entry(e *tar.Header, in io.Reader) error {
	name := filepath.FromSlash(filepath.Clean(e.Name))
	if r.proven || !filepath.IsLocal(name) {
		return fmt.Errorf("%w: it has a file %q", errDamaged, e.Name)
	}
	e.Name = name
	switch {
	case name == sumsName:
		return r.check(in)
	case e.Typeflag == tar.TypeDir:
		r.later = append(r.later, e)
		return r.root.MkdirAll(name, 0o700)
	case e.Typeflag == tar.TypeSymlink:
		r.later = append(r.later, e)
		return nil
	case e.Typeflag == tar.TypeReg:
		return r.file(e, in)
	}
	return fmt.Errorf("%w: %q is no file", errDamaged, e.Name)
}

func (r *reader) file(e *tar.Header, in io.Reader) error {
	if err := r.root.MkdirAll(filepath.Dir(e.Name), 0o700); err != nil {
		return err
	}
	f, err := r.root.OpenFile(e.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(holes{f}, hash), in)
	if err == nil {
		err = f.Truncate(n)
	}
	err = cmp.Or(err, f.Close())
	if errors.As(err, new(*fs.PathError)) {
		return err // of the disk
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errDamaged, e.Name, err)
	}
	r.sums[filepath.ToSlash(e.Name)] = fmt.Sprintf("%x %d", hash.Sum(nil), n)
	if err := r.root.Chmod(e.Name, e.FileInfo().Mode()); err != nil {
		return err
	}
	return r.root.Chtimes(e.Name, e.ModTime, e.ModTime)
}

// holes writes a file, and goes past what is zero.
type holes struct{ f *os.File }

var zero [32 << 10]byte // of what [io.Copy] writes at once

func (h holes) Write(b []byte) (int, error) {
	if len(b) > len(zero) || !bytes.Equal(b, zero[:len(b)]) {
		return h.f.Write(b)
	}
	_, err := h.f.Seek(int64(len(b)), io.SeekCurrent)
	return len(b), err
}

// check compares all files with what the backup says that they are.
func (r *reader) check(in io.Reader) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	n := 0
	for line := range bytes.Lines(text) {
		var sum, name string
		var size int64
		if _, err := fmt.Sscanf(string(line), "%s %d %q\n", &sum, &size, &name); err != nil || r.sums[name] != fmt.Sprintf("%s %d", sum, size) {
			return fmt.Errorf("%w: %q is not what it was", errDamaged, name)
		}
		n++
	}
	if r.proven = n == len(r.sums); !r.proven {
		return fmt.Errorf("%w: it has %d files and knows %d", errDamaged, len(r.sums), n)
	}
	return nil
}

// end makes the links, and gives the folders their modes, the inner ones first.
func (r *reader) end() error {
	for _, e := range r.later {
		if e.Typeflag == tar.TypeSymlink {
			if err := r.root.Symlink(e.Linkname, e.Name); err != nil {
				return err
			}
		}
	}
	for i := len(r.later) - 1; i >= 0; i-- {
		if e := r.later[i]; e.Typeflag == tar.TypeDir {
			if err := r.root.Chmod(e.Name, e.FileInfo().Mode().Perm()); err != nil {
				return err
			}
		}
	}
	return nil
}
