package disktest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// survive writes the files and folders of names to dir. What stands in a folder
// that is not there is lost with it. A file's data is chosen once, for all its
// names.
func survive(dir string, names map[string]*inode, data func(*inode) []byte) error {
	chosen := make(map[*inode][]byte)
	for _, key := range slices.Sorted(maps.Keys(names)) {
		node := names[key]
		path := filepath.Join(dir, key)
		switch {
		case key == ".":
			continue
		case names[filepath.Dir(key)] == nil:
			delete(names, key)
			continue
		case node.dir:
			if err := os.Mkdir(path, node.perm); err != nil {
				return err
			}
			continue
		}
		if _, ok := chosen[node]; !ok {
			chosen[node] = data(node)
		}
		if err := os.WriteFile(path, chosen[node], node.perm); err != nil {
			return err
		}
	}
	return nil
}
