package home

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// protect closes one file to others. It is held on to while that is done, so that
// nobody can put a link in its place; a file that its owner cannot read, or one
// that opening would wait for, is opened by nobody else either.
func protect(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("protect: %w", &os.PathError{Op: "open", Path: path, Err: err})
	}
	defer unix.Close(fd)
	var s unix.Stat_t
	if err = unix.Fstat(fd, &s); err == nil {
		err = unix.Fchmod(fd, uint32(s.Mode)&0o700)
	}
	if err != nil {
		return fmt.Errorf("protect: %w", &os.PathError{Op: "chmod", Path: path, Err: err})
	}
	return nil
}
