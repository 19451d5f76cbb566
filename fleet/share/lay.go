package share

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/scratchpad/observation"
)

// Tells is the order by which a home hears of what it may read.
func Tells(x store.Shared) []string {
	id := observation.SharedPrefix + x.ID
	return []string{"tell", "--", fmt.Sprintf("%s shares %s with you, %s of %d bytes: read it with scratchpad_read, or pass it on as {{%[2]s.content}}", x.Home, id, x.Note.Kind, x.Note.Bytes)}
}

// Lay makes the folder of a home what others share with it now. What is current stays as it
// is; of what could not be laid the error tells, and the rest can be read. Where nothing is
// shared it costs one question.
func Lay(ctx context.Context, s *store.Store, id int64, dir string) error {
	all, err := s.SharedWith(ctx, id)
	if err != nil {
		return err
	}
	folder := home.Home{Dir: dir}.Shared()
	info, gone := os.Lstat(folder)
	if gone != nil && len(all) == 0 {
		return nil
	}
	if gone == nil && !info.IsDir() { // a link would lead elsewhere
		err = os.Remove(folder)
	}
	if err = cmp.Or(err, os.MkdirAll(folder, 0o700)); err == nil {
		err = tidy(folder, all)
	}
	if err != nil {
		return err
	}
	for _, x := range all {
		if failed := lay(ctx, s, filepath.Join(folder, x.ID), x); failed != nil {
			err = errors.Join(err, fmt.Errorf("what %s shares as %s%s: %w", x.Home, observation.SharedPrefix, x.ID, disk.Full(failed, folder)))
		}
	}
	return err
}

// tidy removes what is not shared any more.
func tidy(folder string, all []store.Shared) error {
	shared := map[string]bool{}
	for _, x := range all {
		shared[x.ID] = true
	}
	names, err := os.ReadDir(folder)
	for _, e := range names {
		if !shared[strings.TrimSuffix(e.Name(), ".json")] {
			err = cmp.Or(err, os.RemoveAll(filepath.Join(folder, e.Name())))
		}
	}
	return err
}

// lay writes a content and then its note, unless they are there. The content has the time at
// which it was shared, so that one which was changed is laid anew.
func lay(ctx context.Context, s *store.Store, path string, x store.Shared) error {
	note, err := json.Marshal(x.Note)
	if err != nil {
		return err
	}
	info, gone := os.Lstat(path)
	if had, err := os.ReadFile(path + ".json"); err == nil && gone == nil && string(had) == string(note) && info.Size() == x.Note.Bytes && info.ModTime().Equal(x.Note.Made) {
		return nil
	}
	content, err := s.Content(ctx, x.Note.SHA256)
	if err == nil {
		_, err = disk.ReplaceFrom(disk.Unsynced{}, path, content, 0o400)
	}
	if err == nil {
		err = os.Chtimes(path, x.Note.Made, x.Note.Made)
	}
	if err != nil {
		return err
	}
	return disk.Replace(disk.Unsynced{}, path+".json", note, 0o600)
}
