package disk_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"rouse/internal/disk"
)

// A lock is held once, whoever asks by whatever name of the file, and free again
// when it is given back; a program that calls flock(2) itself is kept out too.
func TestLock(t *testing.T) {
	file, dir := filepath.Join(t.TempDir(), "lock"), t.TempDir()
	for name, take := range map[string]func(time.Duration) (func(), error){
		file: func(d time.Duration) (func(), error) { return disk.Lock(context.Background(), file, d) },
		dir:  func(d time.Duration) (func(), error) { return disk.LockFolder(context.Background(), dir, d) },
	} {
		unlock, err := take(0)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
			t.Errorf("flock(2) beside the holder: %v", err)
		}
		if _, err := take(0); !errors.Is(err, disk.ErrHeld) {
			t.Errorf("a second holder: %v", err)
		}
		synctest.Test(t, func(*testing.T) {
			begun := time.Now()
			if _, err := take(time.Minute); !errors.Is(err, disk.ErrHeld) || time.Since(begun) != time.Minute {
				t.Errorf("waited %v: %v", time.Since(begun), err)
			}
			time.AfterFunc(time.Second, unlock)
			if again, err := take(disk.Patient); err != nil {
				t.Error(err)
			} else {
				again()
			}
		})
	}
}

// A child that is being started has the file of a lock for a moment: that keeps nobody out who
// comes once the lock was given back.
func TestLockGivenBackBesideACopy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	unlock, err := disk.Lock(t.Context(), file, 0)
	if err != nil {
		t.Fatal(err)
	}
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range fds {
		if to, _ := os.Readlink(fd); to == file {
			n, _ := strconv.Atoi(filepath.Base(fd))
			if n, err = syscall.Dup(n); err == nil {
				defer syscall.Close(n)
			}
		}
	}
	unlock()
	if unlock, err = disk.Lock(t.Context(), file, 0); err != nil {
		t.Fatal(err)
	}
	unlock()
}

// A lock whose file stays open locks as well, also when that file was removed.
func TestLocker(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.jsonl")
	ours, theirs := disk.Beside(file), disk.Beside(file)
	for _, between := range []func() error{
		func() error { return nil },
		func() error { return os.Remove(filepath.Join(filepath.Dir(file), "ledger.lock")) },
		func() error { return nil },
	} {
		unlock, err := ours.Lock(t.Context(), disk.Patient)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := theirs.Lock(t.Context(), 0); !errors.Is(err, disk.ErrHeld) {
			t.Errorf("a second holder: %v", err)
		}
		unlock()
		if unlock, err = theirs.Lock(t.Context(), disk.Patient); err != nil {
			t.Fatal(err)
		}
		unlock()
		if err := between(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLockEndsWithContext(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	unlock, err := disk.Lock(t.Context(), file, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := disk.Lock(ctx, file, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A folder that is missing is not made, least of all as a file; and a FIFO in the
// place of a lock file stops nobody.
func TestLockOfOddThings(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if _, err := disk.LockFolder(t.Context(), dir, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("it was made")
	}
	if err := syscall.Mkfifo(dir, 0o600); err != nil {
		t.Fatal(err)
	}
	unlock, err := disk.Lock(t.Context(), dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
