package home

import (
	"context"
	"errors"
	"fmt"

	"rouse/internal/disk"
)

// ErrAwake says that another cycle of the home is awake.
var ErrAwake = errors.New("another cycle is awake")

// Lock takes the home for this process. The memory's folder is its own lock, so
// there is no lock file to be left behind or deleted; the kernel releases it
// however the holder dies, and children do not inherit it. Of a home that was in a
// fleet when it was opened nobody needs it here.
func (h Home) Lock() (unlock func(), err error) {
	if err := h.Wakes(); err != nil {
		return nil, err
	}
	unlock, err = disk.LockFolder(context.Background(), h.Memory(), 0)
	if errors.Is(err, disk.ErrHeld) {
		return nil, ErrAwake
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", h.Rel(h.Memory()), err)
	}
	return unlock, nil
}
