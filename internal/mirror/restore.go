package mirror

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/jsonl"
)

// Restore writes lines, in their order, into the files of the home in dir, durably. It
// may be done again. A journal that came to its sleep ends before that, so that the cycle
// is settled: its files were not kept. A line that begins behind the end of its file is an error: what
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
	for _, l := range lines {
		if err := unslept(root, filepath.Join(dir, l.Path), l.Path); err != nil {
			return fmt.Errorf("restore %s: %w", l.Path, err)
		}
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

// Whole is what of a home in dir lines follow on: the ledgers and the newest journal as
// they are. A worker that goes on in a folder in which a cycle was killed, or a verb was
// run without a mirror, hands it on first: nobody has the ends of these files.
func Whole(dir string) (lines []Line, err error) {
	h := home.Home{Dir: dir}
	ids, err := h.Cycles(1)
	names := []string{h.Slots(), h.Spend()}
	for _, id := range ids {
		names = append(names, h.Journal(id))
	}
	for _, name := range names {
		data, failed := disk.ReadSmall(name, maxBytes)
		if failed == nil {
			lines = append(lines, Line{Path: filepath.ToSlash(h.Rel(name)), Whole: true, Data: data})
		} else if !errors.Is(failed, fs.ErrNotExist) {
			err = cmp.Or(err, fmt.Errorf("%s: %w", h.Rel(name), failed))
		}
	}
	return lines, err
}

// unslept takes the event sleep from the end of a journal: the memory that was saved
// before it is lost, and is to be rebuilt.
func unslept(root *os.Root, name, rel string) error {
	var last []byte
	var after int
	size, err := jsonl.Tail(name, 64<<10, func(lines []byte) bool {
		last = bytes.TrimRight(lines, "\n")
		after = len(lines) - len(last)
		last = last[bytes.LastIndexByte(last, '\n')+1:]
		return len(last) > 0
	})
	var e struct{ Event string }
	if err != nil || json.Unmarshal(last, &e) != nil || e.Event != "sleep" {
		return err
	}
	f, err := root.OpenFile(rel, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return cmp.Or(f.Truncate(size-int64(len(last)+after)), f.Sync(), f.Close())
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
