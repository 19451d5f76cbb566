package home

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"rouse/internal/disk"
	"rouse/scratchpad"
)

// MakeFolders makes the folders that a home needs and a clone may lack, durably:
// what is saved in a folder is lost with it.
func (h Home) MakeFolders(f disk.FS) error {
	made := false
	for _, dir := range []string{h.Memory(), h.Logs()} {
		if disk.Exists(dir) {
			continue
		}
		if err := f.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		made = true
	}
	if !made {
		return nil
	}
	return f.SyncDir(h.Dir)
}

// Load reads the state, and the SHA-256 of its file, "" where there is none: then
// the state is the initial one.
func (h Home) Load() (*scratchpad.State, string, error) {
	s, err := h.LoadFile(h.Active())
	if err == nil {
		return s, s.Hash(), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	s, err = h.LoadFile(h.Initial())
	if errors.Is(err, fs.ErrNotExist) {
		return scratchpad.New(), "", nil
	}
	return s, "", err
}

// Hash is the SHA-256 of active.yaml, "" where there is none. An error is for
// what no state was read from.
func (h Home) Hash() (string, error) {
	text, err := disk.ReadSmall(h.Active(), scratchpad.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return fmt.Sprintf("%x", sha256.Sum256(text)), err
}

// nearlyFull is the size from which a memory has little room left, in bytes.
const nearlyFull = scratchpad.MaxBytes / 4 * 3

// Room says that the memory comes near the size from which nothing can be added.
func (h Home) Room() error {
	info, err := os.Stat(h.Active())
	if err != nil || info.Size() < nearlyFull {
		return nil
	}
	return fmt.Errorf("the memory, %s, has %.1f of at most %d MiB, beyond which nothing can be added: shorten it, or tell the agent to",
		h.Rel(h.Active()), float64(info.Size())/(1<<20), scratchpad.MaxBytes>>20)
}

// StateError says that a file of the memory cannot be used, and why. It is left
// as it is, for the operator to mend.
type StateError struct{ msg string }

func (e *StateError) Error() string { return e.msg }

// LoadFile reads a state file of the home. The error is [fs.ErrNotExist] or a
// *[StateError], which names the file as a person would.
func (h Home) LoadFile(path string) (*scratchpad.State, error) {
	s, err := scratchpad.Load(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	return nil, &StateError{strings.ReplaceAll(err.Error(), path, h.Rel(path))}
}
