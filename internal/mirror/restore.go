package mirror

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"rouse/internal/disk"
)

// Restore writes lines, in their order, into the files of the home in dir, durably. It
// may be done again. A line that begins behind the end of its file is an error: what
// belongs before it is missing.
func Restore(dir string, lines []Line) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer root.Close()
	for i, l := range lines {
		over := func(later Line) bool { return later.Whole && later.Path == l.Path }
		if slices.ContainsFunc(lines[i+1:], over) {
			continue // else a second time it would find the shorter file
		}
		if err := l.restore(root); err != nil {
			return fmt.Errorf("restore %s: %w", l.Path, err)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return disk.Root{R: root}.SyncDir(path.Dir(lines[0].Path)) // the one folder of all
}

func (l Line) restore(root *os.Root) error {
	if err := (header{l.Path, l.At, l.Whole, int64(len(l.Data))}).check(); err != nil {
		return err
	}
	size, err := sizeOf(root, l.Path)
	switch {
	case err != nil:
		return err
	case l.Whole:
		return disk.Replace(disk.Root{R: root}, l.Path, l.Data, 0o600)
	case l.At > size:
		return fmt.Errorf("a line stands at byte %d and the file has %d: what is between is missing", l.At, size)
	}
	f, err := root.OpenFile(l.Path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(l.Data, l.At)
	return cmp.Or(err, f.Sync(), f.Close())
}

// sizeOf is the size of a regular file that no link leads to, 0 where there is none.
func sizeOf(root *os.Root, name string) (int64, error) {
	info, err := root.Lstat(path.Dir(name))
	if err == nil && !info.IsDir() {
		return 0, fmt.Errorf("%s is no folder, and no link is followed", path.Dir(name))
	}
	if err == nil {
		info, err = root.Lstat(name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err == nil && !info.Mode().IsRegular():
		return 0, errors.New("not a regular file, and no link is followed")
	case err != nil:
		return 0, err
	}
	return info.Size(), nil
}
