package home

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"rouse/internal/disk"
)

// Version is the version of homes that this program makes and understands. One
// without the file is of version 1; since version 2 journals have a key.
const Version = 2

// KeySize is the size of the journals' key, in bytes.
const KeySize = 32

// VersionFile holds the version of the home, one number.
func (h Home) VersionFile() string { return filepath.Join(h.Memory(), "version") }

// JournalKey keys the chain of the journals' lines.
func (h Home) JournalKey() string { return filepath.Join(h.Logs(), "journal.key") }

// Version reads the version of the home. A newer one than [Version] is refused, as
// is one that is no number, with a *[StateError].
func (h Home) Version() (int, error) {
	n, _, err := h.stand()
	return n, err
}

// stand reads the version of the home, and its name in the fleet that wakes it, if one does.
func (h Home) stand() (version int, fleet string, err error) {
	text, err := disk.ReadSmall(h.VersionFile(), 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return 1, "", nil
	}
	if err != nil {
		return 0, "", err
	}
	number, fleet, _ := strings.Cut(strings.TrimSpace(string(text)), inFleet)
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n < 1:
		return 0, "", &StateError{h.Rel(h.VersionFile()) + " holds no version; put back the number that was there: this rouse writes " + strconv.Itoa(Version)}
	case n > Version:
		return 0, "", &StateError{fmt.Sprintf("%s is a home of version %d, and this rouse knows versions up to %d: use the newer rouse", h.Dir, n, Version)}
	}
	return n, fleet, nil
}

// Raise brings a home up to [Version], in which nothing is left to settle, and
// gives the journals' key. It may be killed at any point and done again: the key
// is durable before the version says that there is one.
func (h Home) Raise(f disk.FS) (key []byte, err error) {
	if key, err = h.MakeKey(f); err != nil {
		return nil, err
	}
	return key, replace(f, h.VersionFile(), []byte(strconv.Itoa(Version)+"\n"))
}

// MakeKey reads the journals' key, and puts a new one there if there is none.
func (h Home) MakeKey(f disk.FS) ([]byte, error) {
	key, err := h.Key()
	if err != nil || key != nil {
		return key, err
	}
	key = NewKey()
	return key, h.PutKey(f, key)
}

// Key reads the journals' key; nil is for none, or one of another size.
func (h Home) Key() ([]byte, error) {
	key, err := os.ReadFile(h.JournalKey())
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(key) != KeySize {
		return nil, nil
	}
	return key, err
}

// NewKey is a key for journals that no home has yet.
func NewKey() []byte {
	key := make([]byte, KeySize)
	rand.Read(key)
	return key
}

// PutKey makes a key that of the journals, durably. What an earlier one sealed is
// not proven any more.
func (h Home) PutKey(f disk.FS, key []byte) error { return replace(f, h.JournalKey(), key) }

// replace also removes what a writer that died left of such a file.
func replace(f disk.FS, path string, data []byte) error {
	dir, base := filepath.Split(path)
	return cmp.Or(disk.Sweep(f, dir, base), disk.Replace(f, path, data, 0o600))
}
