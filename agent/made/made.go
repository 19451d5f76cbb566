// Package made keeps copies of what cycles were made of: rules, configuration,
// tools. A copy's name is the SHA-256 of its text, so that what does not change
// lies there once, however many journals name it.
//
// Nothing is synced. A loss of power can take the copies of the last half minute,
// and a crash leave part of one; the journals name them still, [Copies.Read] says that they
// are gone, and the next cycle made of the same writes them again.
package made

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"rouse/internal/disk"
)

// Copies are the copies of a home.
type Copies struct {
	Dir  string
	Disk disk.FS // nil is the machine's
}

// Sum is the name of a text's copy.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Keep makes sure that there is a copy of each text; it writes nothing where
// there is one.
func (c Copies) Keep(texts ...string) (err error) {
	made := false
	for _, text := range texts {
		path := filepath.Join(c.Dir, Sum([]byte(text)))
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(text)) {
			continue
		}
		if !made {
			if err := c.disk().MkdirAll(c.Dir, 0o700); err != nil {
				return fmt.Errorf("keep copies: %w", err)
			}
			made = true
		}
		if failed := disk.Overwrite(c.disk(), path, []byte(text), 0o600); failed != nil && err == nil {
			err = fmt.Errorf("keep copies: %w", failed)
		}
	}
	return err
}

// Read gives the text of a copy, which is what it was or an error.
func (c Copies) Read(sum string) ([]byte, error) {
	if !isSum(sum) {
		return nil, fmt.Errorf("%.80q is not the name of a copy", sum)
	}
	text, err := os.ReadFile(filepath.Join(c.Dir, sum))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the copy %s is gone", sum)
	case err != nil:
		return nil, err
	case Sum(text) != sum:
		return nil, fmt.Errorf("the copy %s is damaged", sum)
	}
	return text, nil
}

// Old gives the names of the copies that were made before a time, and of what
// writers that died left.
func (c Copies) Old(before time.Time) (names []string, err error) {
	entries, err := os.ReadDir(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) && (isSum(e.Name()) || disk.IsTemp(e.Name())) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Remove removes copies, and gives how many bytes they had.
func (c Copies) Remove(names ...string) (bytes int64, err error) {
	for _, name := range names {
		path := filepath.Join(c.Dir, name)
		info, err := os.Lstat(path)
		if err == nil {
			err = c.disk().Remove(path)
		}
		if err != nil {
			return bytes, fmt.Errorf("remove copies: %w", err)
		}
		bytes += info.Size()
	}
	return bytes, nil
}

func isSum(name string) bool {
	raw, err := hex.DecodeString(name)
	return err == nil && len(raw) == sha256.Size
}

func (c Copies) disk() disk.FS { return disk.Or(c.Disk) }
