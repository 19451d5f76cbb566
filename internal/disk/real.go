package disk

import (
	"cmp"
	"io/fs"
	"os"
)

// OS is the machine's file system.
type OS struct{}

// OpenFile is [os.OpenFile].
func (OS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Rename is [os.Rename].
func (OS) Rename(oldname, newname string) error { return os.Rename(oldname, newname) }

// Link is [os.Link].
func (OS) Link(oldname, newname string) error { return os.Link(oldname, newname) }

// Remove is [os.Remove].
func (OS) Remove(name string) error { return os.Remove(name) }

// MkdirAll is [os.MkdirAll].
func (OS) MkdirAll(name string, perm fs.FileMode) error { return os.MkdirAll(name, perm) }

// SyncDir opens the folder and syncs it.
func (OS) SyncDir(name string) error {
	d, err := os.Open(name)
	return syncAndClose(d, err)
}

// Root is a folder that no name can leave, whatever `..` and symbolic links it
// holds; see [os.Root].
type Root struct{ R *os.Root }

// OpenFile is [os.Root.OpenFile].
func (r Root) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := r.R.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Rename is [os.Root.Rename].
func (r Root) Rename(oldname, newname string) error { return r.R.Rename(oldname, newname) }

// Link is [os.Root.Link].
func (r Root) Link(oldname, newname string) error { return r.R.Link(oldname, newname) }

// Remove is [os.Root.Remove].
func (r Root) Remove(name string) error { return r.R.Remove(name) }

// MkdirAll is [os.Root.MkdirAll].
func (r Root) MkdirAll(name string, perm fs.FileMode) error { return r.R.MkdirAll(name, perm) }

// SyncDir opens the folder inside the root and syncs it.
func (r Root) SyncDir(name string) error {
	d, err := r.R.Open(name)
	return syncAndClose(d, err)
}

func syncAndClose(d *os.File, err error) error {
	if err != nil {
		return err
	}
	return cmp.Or(d.Sync(), d.Close())
}
