package disk

import "io/fs"

// Unsynced is the machine's disk for files that are removed again: nothing is made durable.
type Unsynced struct{ OS }

type unsyncedFile struct{ File }

// Sync does nothing.
func (unsyncedFile) Sync() error { return nil }

// SyncDir does nothing.
func (Unsynced) SyncDir(string) error { return nil }

// OpenFile opens a file for writing.
func (u Unsynced) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := u.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}
