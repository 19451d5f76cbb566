package disktest

import (
	"io/fs"
	"syscall"

	"rouse/internal/disk"
)

// Full is a disk that is full while Is says so: it takes names, and no bytes.
type Full struct {
	disk.FS
	Is bool
}

type fullFile struct {
	disk.File
	on *Full
}

// OpenFile opens a file.
func (f *Full) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	file, err := f.FS.OpenFile(name, flag, perm)
	return fullFile{file, f}, err
}

// Write fails on a full disk.
func (f fullFile) Write(p []byte) (int, error) {
	if f.on.Is {
		return 0, &fs.PathError{Op: "write", Path: "full", Err: syscall.ENOSPC}
	}
	return f.File.Write(p)
}
