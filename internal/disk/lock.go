package disk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// ErrHeld says that somebody else holds a lock, in this process or in another one.
var ErrHeld = errors.New("another process holds the lock")

// Patient waits for a lock as long as the context lives.
const Patient time.Duration = -1

// lockRetry is the time between two tries.
const lockRetry = 2 * time.Millisecond

// Lock takes a lock file for itself, and makes it where there is none. It tries
// once, and then again until its patience is over, where the error is [ErrHeld],
// or the context ends. The kernel gives the lock back however this process dies,
// and children do not inherit it; so nobody removes the file.
func Lock(ctx context.Context, file string, patience time.Duration) (unlock func(), err error) {
	return take(ctx, flock.New(file, flock.SetFlag(os.O_RDWR|os.O_CREATE)), patience)
}

// LockBeside is [Lock] for a lock file that stands beside a file and has its name,
// with the extension lock.
func LockBeside(ctx context.Context, file string, patience time.Duration) (unlock func(), err error) {
	return Lock(ctx, strings.TrimSuffix(file, filepath.Ext(file))+".lock", patience)
}

// LockFolder is [Lock] for a folder that is its own lock, with no lock file to be
// left behind or deleted. The folder must exist.
func LockFolder(ctx context.Context, dir string, patience time.Duration) (unlock func(), err error) {
	return take(ctx, flock.New(dir, flock.SetFlag(os.O_RDONLY)), patience)
}

func take(ctx context.Context, l *flock.Flock, patience time.Duration) (unlock func(), err error) {
	ok, err := l.TryLock()
	if !ok && err == nil && patience != 0 {
		if patience > 0 {
			var cancel func()
			ctx, cancel = context.WithTimeoutCause(ctx, patience, ErrHeld)
			defer cancel()
		}
		if ok, err = l.TryLockContext(ctx, lockRetry); ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	switch {
	case ok:
		return func() { l.Unlock() }, nil
	case err == nil:
		err = ErrHeld
	}
	return nil, err
}
