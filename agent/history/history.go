// Package history keeps versions of a folder: one content-addressed store of files,
// in a folder of its own.
//
// A version is a manifest, one line a file: path, mode, size, times, inode, and the
// SHA-256 of its content or where it leads. The contents that it brings are one pack
// beside it, each a zstd frame; those that an earlier version brought are named there.
// So a version costs two files and three fsyncs however much changed, and what did
// not change is never read again.
//
// A pack is durable before the manifest that names it, and the manifest is there
// whole or not at all: what a crash leaves is a pack that nobody names, which
// [Store.Drop] removes. Nothing is believed that its hash does not prove: a damaged
// manifest is passed over and named, a damaged content is an error.
//
// Whoever writes holds the lock of the home; readers need none.
package history

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rouse/internal/disk"
)

// Store is where the versions of one folder are.
type Store struct {
	Dir  string
	Disk disk.FS // nil is the machine's
	// Of names the folder, so that a version of another one is not taken for one of it.
	Of string
	// MaxFile is the size up to which a file is kept, and MaxBytes what all versions
	// may take, in bytes.
	MaxFile, MaxBytes int64
	// Skip, unless nil, says of a path that versions know nothing of it.
	Skip func(path string) bool
	// Follow lets the folder be one that a link leads to.
	Follow bool
	// From, unless nil, has the contents that [Store.Put] puts, instead of the packs.
	From func(Entry) (io.Reader, error)
	// Workspace, unless nil, stands before what is written into the folder itself.
	Workspace func(disk.FS) disk.FS

	cached *Version // that was read or made, which a cycle asks for twice
}

// Before and After name the versions that a cycle finds, before its first call with
// an effect, and leaves.
func Before(cycle string) string { return cycle + before }

// After is the one that it leaves.
func After(cycle string) string { return cycle + after }

const (
	before, after          = "_before", "_after"
	manifestName, packName = ".manifest", ".pack"
	headName               = "head" // of the newest version, and how much all take: a hint
)

// older orders versions by their time.
func older(a, b string) int {
	return cmp.Or(strings.Compare(CycleOf(a), CycleOf(b)), strings.Compare(b[len(CycleOf(b)):], a[len(CycleOf(a)):])) // _before, _after
}

// CycleOf is the cycle that a version is of.
func CycleOf(id string) string { return strings.TrimSuffix(strings.TrimSuffix(id, before), after) }

func (s Store) disk() disk.FS { return disk.Or(s.Disk) }

func (s Store) manifest(id string) string { return filepath.Join(s.Dir, id+manifestName) }

func (s Store) pack(id string) string { return filepath.Join(s.Dir, id+packName) }

// Versions are the ids of all versions, the oldest first, readable or not.
func (s Store) Versions() (ids []string, err error) {
	err = s.each(func(name string, _ fs.DirEntry) error {
		if id, ok := strings.CutSuffix(name, manifestName); ok {
			ids = append(ids, id)
		}
		return nil
	})
	slices.SortFunc(ids, older)
	return ids, err
}

func (s Store) each(visit func(name string, e fs.DirEntry) error) error {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		err = cmp.Or(err, visit(e.Name(), e))
	}
	return err
}

// ErrNone says that the versions do not go back so far, or that there are none.
var ErrNone = errors.New("the history has no version of the files from then")

// At is the newest version up to id: the files as they were then. Where the oldest
// one says that there was nothing before it, that is what was there.
func (s Store) At(id string) (*Version, error) {
	ids, err := s.Versions()
	if err != nil {
		return nil, err
	}
	i, found := slices.BinarySearchFunc(ids, id, older)
	switch {
	case found || i > 0:
		if !found {
			i--
		}
		return s.Read(ids[i])
	case len(ids) == 0:
		return nil, ErrNone
	}
	oldest, err := s.Read(ids[0])
	if err != nil || oldest.Parent != "" || !strings.HasSuffix(oldest.ID, after) {
		return nil, cmp.Or(err, fmt.Errorf("%w: the oldest is that of cycle %s", ErrNone, CycleOf(ids[0])))
	}
	return &Version{Of: oldest.Of}, nil
}

// newest is the newest version that can be read, nil for none, how many bytes all
// take, and what is damaged.
func (s *Store) newest() (v *Version, bytes int64, problems []string, err error) {
	if id, size, ok := s.head(); ok {
		if s.cached == nil || s.cached.ID != id {
			s.cached, err = s.read(id)
		}
		if err == nil {
			return s.cached, size, nil, nil
		}
		s.cached = nil
	}
	ids, err := s.Versions()
	if err != nil {
		return nil, 0, nil, err
	}
	for _, id := range slices.Backward(ids) {
		if v, err = s.read(id); err == nil {
			break
		}
		v, problems = nil, append(problems, err.Error())
	}
	bytes, err = s.Bytes()
	return v, bytes, problems, err
}

// head reads which version is the newest. It is a hint: nothing syncs it, and a
// version that it does not know is only one that the next is not compared with.
func (s Store) head() (id string, bytes int64, ok bool) {
	text, err := disk.ReadSmall(filepath.Join(s.Dir, headName), 1<<10)
	id, size, ok := strings.Cut(strings.TrimSpace(string(text)), " ")
	bytes, failed := strconv.ParseInt(size, 10, 64)
	return id, bytes, ok && err == nil && failed == nil && filepath.Base(id) == id
}

// Size is about how many bytes the versions take, at the price of reading one small file.
func (s Store) Size() int64 {
	_, bytes, _ := s.head()
	return bytes
}

func (s Store) putHead(id string, bytes int64) error {
	return disk.Overwrite(s.disk(), filepath.Join(s.Dir, headName), fmt.Appendf(nil, "%s %d\n", id, bytes), 0o600)
}

// Bytes is what the versions take on the disk.
func (s Store) Bytes() (sum int64, err error) {
	err = s.each(func(_ string, e fs.DirEntry) error {
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum, err
}

// CopyOrder orders paths so that in a store in dir contents come before the versions
// that name them: who copies them so has no version by half, whoever removes some.
func CopyOrder(dir, a, b string) int {
	last := func(path string) int {
		if filepath.Dir(path) == dir && strings.HasSuffix(path, manifestName) {
			return 1
		}
		return 0
	}
	return last(a) - last(b)
}

// laterSync leaves the name of a new pack to be made durable with that of its manifest.
type laterSync struct{ disk.FS }

// SyncDir does nothing.
func (laterSync) SyncDir(string) error { return nil }
