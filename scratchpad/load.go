package scratchpad

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Load reads a state file. A symbolic link is followed. Only a file that is
// truly missing gives an error that is [fs.ErrNotExist]; a folder, FIFO, socket
// or device in its place is refused without waiting for it, and a file larger
// than [MaxBytes] before it is read. For what is wrong inside see [Parse].
func Load(path string) (*State, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil {
		err = checkFile(path, info)
	} else if errors.Is(err, fs.ErrNotExist) && isLink(path) {
		return nil, fmt.Errorf("read %s: a symbolic link to nothing", path)
	} else {
		err = fmt.Errorf("read %s: %w", path, cause(err))
	}
	if err != nil {
		return nil, err
	}
	// O_NONBLOCK: what was a file a moment ago may be a FIFO now.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, cause(err))
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, cause(err))
	}
	if err := checkFile(path, info); err != nil {
		return nil, err
	}
	var data bytes.Buffer
	data.Grow(int(info.Size()) + bytes.MinRead)
	if _, err := data.ReadFrom(io.LimitReader(f, MaxBytes+1)); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, cause(err))
	}
	return data.Bytes(), nil // of one that has grown too large meanwhile, Parse says so
}

func checkFile(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("read %s: %s, not a regular file", path, kind(info.Mode()))
	}
	if info.Size() > MaxBytes {
		return tooLarge(path, info.Size())
	}
	return nil
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// cause is err without the path that our own text names.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
