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

// MetBy stands between the cause and what met it, which differs from time to time.
const MetBy = "; met by: "

// Error is the mend, and what could not be written.
func (e *FullError) Error() string {
	return fmt.Sprintf("the disk is full: free space on that of %s, and the next cycle goes on%s%v", e.dir, MetBy, e.err)
}

// Unwrap is what could not be written.
func (e *FullError) Unwrap() error { return e.err }
