package home

import (
	"errors"
	"fmt"
	"os"

	"github.com/gofrs/flock"
)

// ErrAwake says that another cycle of the home is awake.
var ErrAwake = errors.New("another cycle is awake")

// Lock takes the home for this process. The memory's folder is its own lock, so
// there is no lock file to be left behind or deleted; the kernel releases it
// however the holder dies, and children do not inherit it.
func (h Home) Lock() (unlock func(), err error) {
	l := flock.New(h.Memory(), flock.SetFlag(os.O_RDONLY))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", h.Rel(h.Memory()), err)
	}
	if !ok {
		return nil, ErrAwake
	}
	return func() { l.Unlock() }, nil
}
