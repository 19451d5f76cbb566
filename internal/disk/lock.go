package disk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrHeld says that somebody else holds a lock, in this process or in another one.
var ErrHeld = errors.New("another process holds the lock")

// Patient waits for a lock as long as the context lives.
const Patient time.Duration = -1

// lockRetry is the time between two tries.
const lockRetry = 2 * time.Millisecond

// Locker is a lock that is taken again and again: its file stays open meanwhile. One
// goroutine at a time may use it.
type Locker struct {
	path string
	flag int
	file *os.File
}

// Beside is the lock whose file stands beside another one and has its name, with the
// extension lock.
func Beside(file string) *Locker {
	return &Locker{path: strings.TrimSuffix(file, filepath.Ext(file)) + ".lock", flag: os.O_RDWR | os.O_CREATE}
}

// Lock takes a lock file for itself, and makes it where there is none. It tries
// once, and then again until its patience is over, where the error is [ErrHeld],
// or the context ends. The kernel gives the lock back however this process dies,
// and children do not inherit it; so nobody removes the file.
func Lock(ctx context.Context, file string, patience time.Duration) (unlock func(), err error) {
	return (&Locker{path: file, flag: os.O_RDWR | os.O_CREATE}).once(ctx, patience)
}

// LockBeside is [Lock] for the file of [Beside].
func LockBeside(ctx context.Context, file string, patience time.Duration) (unlock func(), err error) {
	return Beside(file).once(ctx, patience)
}

// LockFolder is [Lock] for a folder that is its own lock, with no lock file to be
// left behind or deleted. The folder must exist.
func LockFolder(ctx context.Context, dir string, patience time.Duration) (unlock func(), err error) {
	return (&Locker{path: dir, flag: os.O_RDONLY}).once(ctx, patience)
}

func (l *Locker) once(ctx context.Context, patience time.Duration) (unlock func(), err error) {
	if _, err := l.Lock(ctx, patience); err != nil {
		l.close()
		return nil, err
	}
	return l.close, nil
}

// Lock is [Lock] for the lock's file.
func (l *Locker) Lock(ctx context.Context, patience time.Duration) (unlock func(), err error) {
	if patience > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeoutCause(ctx, patience, ErrHeld)
		defer cancel()
	}
	for {
		ok, err := l.try()
		switch {
		case err != nil:
			return nil, err
		case ok:
			return l.unlock, nil
		case patience == 0:
			return nil, ErrHeld
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lockRetry):
		}
	}
}

// try tries once. A file that somebody removed all the same locks nobody out.
func (l *Locker) try() (ok bool, err error) {
	if l.file == nil {
		if l.file, err = os.OpenFile(l.path, l.flag, 0o600); err != nil {
			l.file = nil
			return false, err
		}
	}
	switch err := unix.Flock(int(l.file.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, unix.EINTR):
		return false, nil
	case err != nil:
		return false, &os.PathError{Op: "lock", Path: l.path, Err: err}
	}
	have, err := l.file.Stat()
	if err != nil {
		return false, err
	}
	if now, err := os.Stat(l.path); err != nil || !os.SameFile(have, now) {
		l.close()
		return l.try()
	}
	return true, nil
}

func (l *Locker) unlock() { _ = unix.Flock(int(l.file.Fd()), unix.LOCK_UN) }

// close gives the lock back first: a child that is being started may have the file for a moment.
func (l *Locker) close() {
	if l.file != nil {
		l.unlock()
		l.file.Close()
	}
	l.file = nil
}
