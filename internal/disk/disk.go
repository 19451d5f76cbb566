// Package disk is the seam through which Rouse writes its own files.
//
// Every file that Rouse itself writes (memory, snapshots, journals, what a file
// tool was asked to write) goes through [FS], so that a test can make the Nth
// operation fail, stop or be forgotten, as SQLite tests its own I/O layer
// (https://www.sqlite.org/testing.html#i_o_error_testing). Reading needs no seam.
//
// [Replace] and [Create] are the ways in which a whole file comes to be; both
// are all or nothing through a crash and through power loss. Their nil means
// durable; an error means old or new, but whole.
package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// FS is the set of operations that our writes are made of, each of which can fail by
// itself; so they are many. [OS] and [Root] are the real ones.
type FS interface {
	// OpenFile opens a file for writing, as [os.OpenFile] does.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Rename(oldname, newname string) error
	// Link makes a second name for a file; it fails if newname exists.
	Link(oldname, newname string) error
	Remove(name string) error
	MkdirAll(name string, perm fs.FileMode) error
	// SyncDir makes the names in a folder durable.
	SyncDir(name string) error
}

// File is an open file of an [FS].
type File interface {
	io.WriteCloser
	// Sync makes what was written durable. After an error nothing may be
	// assumed of the file: the kernel marks failed pages clean.
	Sync() error
}

// Or is f; nil is the machine's.
func Or(f FS) FS {
	if f == nil {
		return OS{}
	}
	return f
}

// Replace makes name hold data, atomically and durably: after a crash at any
// point it holds either what it held before or data, whole. It writes a
// temporary file in the same folder, syncs it, renames it, and syncs the folder.
func Replace(f FS, name string, data []byte, perm fs.FileMode) error {
	return ReplaceBy(f, name, perm, writing(data))
}

// ReplaceFrom is [Replace] for data of any size, in constant memory. It gives
// the number of bytes written.
func ReplaceFrom(f FS, name string, data io.Reader, perm fs.FileMode) (n int64, err error) {
	err = ReplaceBy(f, name, perm, func(w io.Writer) error {
		n, err = io.Copy(w, data)
		return err
	})
	return n, err
}

// ReplaceBy is [Replace] for what fill writes.
func ReplaceBy(f FS, name string, perm fs.FileMode, fill func(io.Writer) error) error {
	return commit(f, name, fill, perm, f.Rename)
}

// Create is [Replace] for a name that must not exist yet: it never overwrites,
// and fails with an error that is [fs.ErrExist] instead.
func Create(f FS, name string, data []byte, perm fs.FileMode) error {
	return commit(f, name, writing(data), perm, func(tmp, name string) error {
		if err := f.Link(tmp, name); err != nil {
			return err
		}
		return f.Remove(tmp)
	})
}

func writing(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

func commit(f FS, name string, fill func(io.Writer) error, perm fs.FileMode, publish func(tmp, name string) error) error {
	tmp := tempName(name)
	err := writeSynced(f, tmp, fill, perm)
	if err == nil {
		err = publish(tmp, name)
	}
	if err != nil {
		f.Remove(tmp)
		return err
	}
	return f.SyncDir(filepath.Dir(name))
}

func writeSynced(f FS, name string, fill func(io.Writer) error, perm fs.FileMode) error {
	w, err := f.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	err = fill(w)
	if err == nil {
		err = w.Sync()
	}
	return cmp.Or(err, w.Close())
}

// tempName names a temporary file beside name; [IsTemp] knows it again.
func tempName(name string) string {
	dir, base := filepath.Split(name)
	return filepath.Join(dir, fmt.Sprintf(".%s.%08x.tmp", base, rand.Uint32()))
}

// Overwrite writes a file anew where it stands. Nothing is synced, and a crash may
// leave half of it: it is for what may as well be lost.
func Overwrite(f FS, name string, data []byte, perm fs.FileMode) error {
	file, err := f.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return cmp.Or(err, file.Close())
}

// Sweep removes from a folder the temporary files that writers who died left of a
// file; without its name, of all files.
func Sweep(f FS, dir, name string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if IsTemp(e.Name()) && (name == "" || strings.HasPrefix(e.Name(), "."+name+".")) {
			err = cmp.Or(err, f.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// IsTemp reports whether base is the name of a temporary file of [Replace] or
// [Create]; one that is still there belongs to a writer that died.
func IsTemp(base string) bool {
	ok, _ := filepath.Match(".?*.????????.tmp", base)
	return ok
}
