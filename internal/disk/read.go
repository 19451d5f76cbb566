package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// ReadSmall reads a regular file of at most limit bytes. What is another kind of file,
// such as a FIFO, is an error and not waited for.
func ReadSmall(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > limit:
		return nil, fmt.Errorf("%d bytes, the limit is %d", info.Size(), limit)
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return data[:n], err
}

// Exists says whether there is anything at a path, be it a link to nothing.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Stamp tells, for little, one version of a file from another. It is zero where
// there is none.
type Stamp struct {
	Size int64
	Mod  time.Time
}

// StampOf is the stamp of the file at path.
func StampOf(path string) Stamp {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}
	}
	return Stamp{info.Size(), info.ModTime()}
}
