package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"rouse/internal/disk"
)

// lockWait is how long another install may take.
const lockWait = time.Minute

// lock is one a user: the crontab is read, changed and written as a whole.
func (j Job) lock() (unlock func(), err error) {
	dir, err := j.lockFolder()
	if err == nil {
		unlock, err = disk.Lock(context.Background(), filepath.Join(dir, "install.lock"), lockWait)
	}
	if errors.Is(err, disk.ErrHeld) {
		return nil, fmt.Errorf("another rouse install or uninstall holds %s; is one stopped?", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the installing: %w", err)
	}
	return unlock, nil
}

// lockFolder is where the user's programs keep what is none of theirs to see, or
// where that is not the user's, as under sudo, a folder among the temporary files.
func (j Job) lockFolder() (dir string, err error) {
	home := j.process.Getenv("HOME")
	if state := cmp.Or(j.process.Getenv("XDG_STATE_HOME"), filepath.Join(home, ".local", "state")); home != "" && own(home) {
		dir = filepath.Join(state, "rouse")
		if err = os.MkdirAll(dir, 0o700); err == nil && own(dir) {
			return dir, nil
		}
	}
	dir = filepath.Join("/tmp", fmt.Sprintf("rouse-%d", os.Geteuid()))
	if err = os.Mkdir(dir, 0o700); errors.Is(err, os.ErrExist) {
		err = nil
	}
	if err == nil && !own(dir) {
		err = fmt.Errorf("%s is another user's; remove it", dir)
	}
	return dir, err
}

// own says whether a folder, and no link to one, is this user's.
func own(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
