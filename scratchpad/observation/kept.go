package observation

import (
	"os"
	"path/filepath"
)

// keptName is a file beside the database that is there once something was kept.
const keptName = database + ".kept"

// HasKept says whether anything was ever kept in the store in dir, at the price
// of one stat.
func HasKept(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, keptName))
	return err == nil
}

// markKept makes HasKept true, durably.
func (s *Store) markKept() error {
	if err := s.touch(filepath.Join(s.dir, keptName)); err != nil {
		return err
	}
	return s.opt.FS.SyncDir(s.dir)
}

// Exists says whether there is a store in dir, without opening it.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, database))
	return err == nil
}
