package notebook

import (
	"context"
	"errors"
	"fmt"

	"rouse/internal/disk"
)

const lockName = "lock"

// lock takes the lock of a notebook. What it returns gives it back.
func lock(name string) (unlock func(), err error) {
	unlock, err = disk.Lock(context.Background(), name, 0)
	if errors.Is(err, disk.ErrHeld) {
		return nil, errors.New("it is in use by another process; wait until that has ended")
	}
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	return unlock, nil
}
