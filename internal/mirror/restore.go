package mirror

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/jsonl"
)

// Restore writes lines, in their order, into the files of the home in dir, durably. It
// may be done again. A journal that came to its sleep ends before that, so that the cycle
// is settled: its files were not kept. A line that begins behind the end of its file is an
// error: what belongs before it is missing. No link is followed.
func Restore(dir string, lines []Line) error {
	for i, l := range lines {
		if slices.ContainsFunc(lines[i+1:], func(later Line) bool { return later.Whole && later.Path == l.Path }) {
			continue // else a second time it would find the shorter file
		}
		if err := l.restore(dir); err != nil {
			return fmt.Errorf("restore %s: %w", l.Path, err)
		}
	}
	for _, l := range lines {
		if err := unslept(filepath.Join(dir, l.Path)); err != nil {
			return fmt.Errorf("restore %s: %w", l.Path, err)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return disk.OS{}.SyncDir(home.Home{Dir: dir}.Logs())
}

func (l Line) restore(dir string) error {
	if err := (header{l.Path, l.At, l.Whole, int64(len(l.Data))}).check(); err != nil {
		return err
	}
	name, size := filepath.Join(dir, l.Path), int64(0)
	is, err := os.Lstat(filepath.Dir(name))
	if err == nil && !is.IsDir() {
		return errors.New("its folder is none, and no link is followed")
	}
	switch is, err = os.Lstat(name); {
	case err == nil && !is.Mode().IsRegular():
		return errors.New("it is no regular file, and no link is followed")
	case err == nil:
		size = is.Size()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	switch {
	case l.Whole:
		return disk.Replace(disk.OS{}, name, l.Data, 0o600)
	case l.At > size:
		return fmt.Errorf("a line stands at byte %d and the file has %d: what is between is missing", l.At, size)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(l.Data, l.At)
	return cmp.Or(err, f.Sync(), f.Close())
}

// unslept takes the event sleep from the end of a journal: the memory that was saved
// before it is lost, and is to be rebuilt.
func unslept(name string) error {
	var last []byte
	size, err := jsonl.Tail(name, 64<<10, func(lines []byte) bool {
		last = lines[bytes.LastIndexByte(bytes.TrimRight(lines, "\n"), '\n')+1:]
		return len(last) > 0
	})
	var e struct{ Event string }
	if err != nil || json.Unmarshal(last, &e) != nil || e.Event != "sleep" {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return cmp.Or(f.Truncate(size-int64(len(last))), f.Sync(), f.Close())
}
