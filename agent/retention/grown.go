package retention

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rouse/home"
)

// maxGrown is the size from which a log that only grows is begun anew, in bytes.
const maxGrown = 4 << 20

// grown lists the logs that only grow: what the machine's scheduler caught, and
// the notes of proxies; and what was put aside of them. Who writes them opens
// them anew when it starts.
func (s Store) grown() ([]string, error) {
	entries, err := os.ReadDir(s.Home.Logs())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		if home.Grows(strings.TrimSuffix(e.Name(), home.Aside)) {
			list = append(list, filepath.Join(s.Home.Logs(), e.Name()))
		}
	}
	return list, nil
}

// turn begins anew the logs that have grown too large. The old one stays, with .1
// behind its name, until that happens again.
func (s Store) turn(r *Removed) error {
	list, err := s.grown()
	for _, path := range list {
		info, statErr := os.Lstat(path)
		if strings.HasSuffix(path, home.Aside) || statErr != nil || !info.Mode().IsRegular() || info.Size() < maxGrown {
			continue
		}
		old := path + home.Aside
		switch info, statErr := os.Lstat(old); {
		case statErr == nil && !info.Mode().IsRegular():
			continue
		case statErr == nil:
			r.Files, r.Bytes = r.Files+1, r.Bytes+info.Size()
		case !errors.Is(statErr, fs.ErrNotExist):
			continue
		}
		if renamed := s.disk().Rename(path, old); renamed != nil && err == nil {
			err = renamed
		}
	}
	return err
}

// index removes the index of a home in which nobody has searched for as long as
// cycles are kept: it has what those said that are gone.
func (s Store) index() error {
	info, err := os.Lstat(s.Home.Search())
	if err != nil || s.believed().Sub(info.ModTime()) < min(s.Policy.Keep, s.Policy.KeepFailed) {
		return nil
	}
	return s.Home.DropSearch(s.disk())
}
