package scratchpad

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"rouse/internal/disk"
)

// stampLayout is local time to the microsecond, as Python's isoformat writes it.
const stampLayout = "2006-01-02T15:04:05.000000"

// Snapshot writes the state to a new file, 0600, with last_updated as it is. It
// fails if the file exists.
func (s *State) Snapshot(f disk.FS, path string) error {
	text, err := s.Bytes()
	if err != nil {
		return fmt.Errorf("write %s: %v", path, err)
	}
	if err := disk.Create(f, path, text, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, cause(err))
	}
	return nil
}

// Save stamps last_updated with now and replaces the file, atomically; a state in
// which there is no room for the stamp is saved without. Of a symbolic link the target is replaced. An existing file keeps its permission
// bits, as far as the umask lets it; a new one is 0600. After an error the
// state is what it was.
func (s *State) Save(f disk.FS, path string, now time.Time) error {
	next := s.Clone()
	next.put("last_updated", now.Local().Format(stampLayout))
	text, err := next.Bytes()
	if errors.Is(err, ErrFull) {
		next = s.Clone()
		text, err = next.Bytes()
	}
	if err != nil {
		return fmt.Errorf("save %s: %v", path, err)
	}
	target, perm, err := resolve(path)
	if err != nil {
		return fmt.Errorf("save %s: %w", path, cause(err))
	}
	if err := disk.Replace(f, target, text, perm); err != nil {
		return fmt.Errorf("save %s: %w", path, cause(err))
	}
	*s = *next
	return nil
}

// resolve follows symbolic links and finds the permission bits to write with.
func resolve(path string) (string, fs.FileMode, error) {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) && !isLink(path) {
		return path, 0o600, nil
	}
	if err != nil {
		return "", 0, err
	}
	info, err := os.Stat(target)
	if err != nil {
		return "", 0, err
	}
	return target, info.Mode().Perm(), nil
}
