package retention

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// temp removes from the folder of temporary files what nobody has changed for a day.
// Links are not followed: what is in it was put there by tools.
func (s Store) temp(ctx context.Context, at time.Time, r *Removed) error {
	info, err := os.Lstat(s.Temp)
	if s.Temp == "" || errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	dir, err := os.OpenRoot(s.Temp)
	if err != nil {
		return err
	}
	defer dir.Close()
	return sweeping{ctx, at.Add(-interval), r}.folder(dir)
}

// sweeping removes what was not changed since a moment.
type sweeping struct {
	ctx    context.Context
	before time.Time
	*Removed
}

// folder looks at all that is in a folder. What cannot be removed keeps nothing else.
func (s sweeping) folder(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	for _, e := range entries {
		if s.ctx.Err() != nil {
			return err
		}
		var st unix.Stat_t
		if unix.Fstatat(int(f.Fd()), e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			err = errors.Join(err, s.entry(dir, e, st))
		}
	}
	return err
}

// entry removes a file, or a folder that is empty once what is in it was looked at.
func (s sweeping) entry(dir *os.Root, e fs.DirEntry, st unix.Stat_t) error {
	old := time.Unix(st.Mtim.Unix()).Before(s.before) && time.Unix(st.Ctim.Unix()).Before(s.before)
	if e.IsDir() {
		if old && st.Mode&0o700 != 0o700 {
			_ = dir.Chmod(e.Name(), 0o700) // package managers close theirs; what follows tells if that failed
		}
		sub, err := dir.OpenRoot(e.Name())
		if err != nil {
			return err
		}
		defer sub.Close()
		if err := s.folder(sub); err != nil {
			return err
		}
	}
	if !old {
		return nil
	}
	err := dir.Remove(e.Name())
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !e.IsDir() {
		s.Files, s.Bytes = s.Files+1, s.Bytes+st.Size
	}
	return err
}
