package notebook

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

const lockName = "lock"

// lock takes the lock of a notebook, which the kernel lets go when this process
// ends, however it ends. What it returns gives it back.
func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errors.New("it is in use by another process; wait until that has ended")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
