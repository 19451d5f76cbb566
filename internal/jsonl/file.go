package jsonl

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"rouse/internal/disk"
)

// File is a file of lines that a process reads and adds to again and again. What it
// opens it keeps open; a file that another process has put into the place of this
// one is opened anew. Its fields are set once; then several goroutines may use it.
type File struct {
	FS   disk.FS
	Path string

	mu    sync.Mutex
	r     *os.File
	w     disk.File
	added fs.FileInfo // the file that w is
}

// Close closes what is open. The File may be used again.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.closeReader(), f.closeWriter())
}

func (f *File) closeReader() error {
	r := f.r
	if f.r = nil; r == nil {
		return nil
	}
	return r.Close()
}

func (f *File) closeWriter() error {
	w := f.w
	if f.w = nil; w == nil {
		return nil
	}
	return w.Close()
}

// Read calls do with the file as it is now; the error is [fs.ErrNotExist] where there
// is none. It waits for no FIFO.
func (f *File) Read(do func(r io.ReaderAt, info fs.FileInfo) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := f.reader()
	if err != nil {
		return err
	}
	return do(f.r, info)
}

// reader sees to it that r is open and is the file at Path.
func (f *File) reader() (fs.FileInfo, error) {
	info, err := os.Stat(f.Path)
	if err != nil {
		return nil, errors.Join(err, f.closeReader())
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file; move it away", f.Path)
	}
	if f.r != nil {
		if have, err := f.r.Stat(); err == nil && os.SameFile(have, info) {
			return have, nil
		}
		_ = f.closeReader()
	}
	if f.r, err = os.Open(f.Path); err != nil {
		return nil, err
	}
	return f.r.Stat()
}

// Append adds lines, as [Marshal] makes them, and makes the file where there is none;
// none follows half of another one. Durable are the lines, not the name of a new file.
func (f *File) Append(lines []byte, durable bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.torn() {
		lines = append([]byte{'\n'}, lines...)
	}
	err := f.writer()
	if err == nil {
		_, err = f.w.Write(lines)
	}
	if err == nil && durable {
		err = f.w.Sync()
	}
	if err != nil {
		err = errors.Join(err, f.closeWriter()) // nothing may be assumed of it
	}
	return err
}

// writer sees to it that w is open and is the file at Path.
func (f *File) writer() (err error) {
	if f.w != nil {
		if info, err := os.Stat(f.Path); err == nil && os.SameFile(info, f.added) {
			return nil
		}
		_ = f.closeWriter()
	}
	if f.w, err = f.FS.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		f.w = nil
		return err
	}
	f.added, err = os.Stat(f.Path)
	return err
}

// torn says whether the file ends inside a line. One that cannot be read may.
func (f *File) torn() bool {
	info, err := f.reader()
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	if info.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = f.r.ReadAt(last, info.Size()-1)
	return err != nil || last[0] != '\n'
}

// Tail gives the whole lines in the end of the file to enough, at first about so
// many bytes of them, until that is content or has seen all of the file. It gives
// the size of the file.
func (f *File) Tail(bytes int64, enough func(lines []byte) bool) (size int64, err error) {
	err = f.Read(func(r io.ReaderAt, info fs.FileInfo) error {
		size = info.Size()
		for ; ; bytes *= 4 {
			lines, err := end(r, size, bytes)
			if err != nil || enough(lines) || bytes >= size {
				return err
			}
		}
	})
	return size, err
}
