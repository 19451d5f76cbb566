package disk

import (
	"errors"
	"fmt"
	"syscall"
)

// FullError says that a disk is full, and how to mend it.
type FullError struct {
	dir string
	err error
}

// Full is err, as a *[FullError] where it says that the disk of a folder is full.
func Full(err error, dir string) error {
	if errors.As(err, new(*FullError)) || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return &FullError{dir, err}
}

// Error leaves out what was to be written, so that the same cause has the same words.
func (e *FullError) Error() string {
	return fmt.Sprintf("the disk is full: free space on that of %s, and the next cycle goes on", e.dir)
}

// Unwrap is what could not be written.
func (e *FullError) Unwrap() error { return e.err }
