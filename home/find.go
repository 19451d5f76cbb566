package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Find lists the homes among folders and in them, sorted: one that is none may hold
// some directly.
func Find(dirs ...string) (homes []string, err error) {
	for _, dir := range dirs {
		if is(dir) {
			homes = append(homes, dir)
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			if p, ok := errors.AsType[*fs.PathError](err); ok {
				err = p.Err
			}
			return nil, fmt.Errorf("%s is no folder that can be read: %w", dir, err)
		}
		for _, e := range entries {
			if sub := filepath.Join(dir, e.Name()); is(sub) {
				homes = append(homes, sub)
			}
		}
	}
	slices.Sort(homes)
	return slices.Compact(homes), nil
}

func is(dir string) bool {
	h := Home{Dir: dir}
	_, err := os.Stat(h.Rules())
	return err == nil || h.lived()
}
