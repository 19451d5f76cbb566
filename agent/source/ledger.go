package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"rouse/agent/history"
	"rouse/internal/disk"
	"rouse/scratchpad/origin"
)

// Bounds of the ledger: beyond the first the whole workspace carries what its files did,
// and beyond the second the oldest cycles are one.
const (
	maxFiles  = 20_000
	maxCycles = 2000
	maxWalked = 20_000 // files of a folder that are looked at
)

// Ledger is the file that says what cycles left that carries text from outside.
type Ledger struct {
	Path string
	Disk disk.FS
	// Places are found when something has an origin, and once.
	Places func() Places
	// Unwatched says that the processes of tools can read what is private, and that
	// nobody could say whether they did.
	Unwatched bool
}

// Places are paths, absolute and without links.
type Places struct {
	Home, Workspace string
	// Folders are those that the operator declared, and Beyond those beside the workspace
	// in which tools write.
	Folders []Folder
	Beyond  []string
}

// entries is what the file says.
type entries struct {
	V int `json:"v"`
	// Cycles are those that had text from outside; those up to Last had at most Older.
	Cycles map[string]origin.Set `json:"cycles,omitempty"`
	Last   string                `json:"last,omitempty"`
	Older  origin.Set            `json:"older,omitempty"`
	// Files are contents that carry it, each while it is there, and Folders those of
	// which more is not known, by their paths in the home.
	Files     []file                `json:"files,omitempty"`
	Folders   map[string]origin.Set `json:"folders,omitempty"`
	Notebooks map[string]origin.Set `json:"notebooks,omitempty"`

	carriers []carrier // that are there
}

// file is a file of the workspace, as the history has it.
type file struct {
	Path string     `json:"path"`
	Kind string     `json:"kind"`
	Is   string     `json:"is,omitempty"`
	Size int64      `json:"size,omitempty"`
	Mod  int64      `json:"mod,omitempty"`
	From origin.Set `json:"from"`
}

// carrier is what carries an origin now.
type carrier struct {
	path string
	from origin.Set
}

// cycle are the origins of a cycle. What nobody could watch is not written down.
func (l Ledger) cycle(e *entries, id string) origin.Set {
	from := e.Cycles[id]
	if id <= e.Last {
		from = e.Older
	}
	if l.Unwatched {
		from = from.With(origin.Private)
	}
	return from
}

// load reads the file. One that cannot be read says the worst.
func (l Ledger) load() *entries {
	e := &entries{V: 1}
	data, err := os.ReadFile(l.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return e
	}
	if err == nil {
		err = json.Unmarshal(data, e)
	}
	if err != nil || e.V != 1 {
		lost := origin.Set{"unknown", origin.Private}
		*e = entries{V: 1, Last: "~", Older: lost, Folders: map[string]origin.Set{l.rel(l.Places().Workspace): lost}}
	}
	return e
}

// find finds what is still there.
func (l Ledger) find(e *entries) {
	for _, f := range e.Files {
		if l.still(f) {
			e.carriers = append(e.carriers, carrier{filepath.Join(l.Places().Workspace, f.Path), f.From})
		}
	}
	for path, from := range e.Folders {
		if path = l.abs(path); !empty(path) {
			e.carriers = append(e.carriers, carrier{path, from})
		}
	}
}

func (l Ledger) rel(path string) string {
	if rel, err := filepath.Rel(l.Places().Home, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func (l Ledger) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(l.Places().Home, path)
}

// still says whether a file is there with this content; it is read only where its time
// is another.
func (l Ledger) still(f file) bool {
	path := filepath.Join(l.Places().Workspace, f.Path)
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return !errors.Is(err, fs.ErrNotExist)
	case f.Kind == string(history.Link):
		to, err := os.Readlink(path)
		return err != nil || to == f.Is
	case f.Kind == string(history.Folder): // its name is what it says
		return empty(path)
	case f.Kind != string(history.File) || info.Size() == f.Size && info.ModTime().UnixNano() == f.Mod:
		return true
	case info.Size() != f.Size || !info.Mode().IsRegular():
		return false
	}
	r, err := os.Open(path)
	if err != nil {
		return true
	}
	defer r.Close()
	h := sha256.New()
	_, err = io.Copy(h, r)
	return err != nil || fmt.Sprintf("%x", h.Sum(nil)) == f.Is
}

// Left is what a cycle leaves behind.
type Left struct {
	Cycle string
	From  origin.Set // that it had
	// Effects says that it may have changed files, and Began when it had changed none.
	Effects bool
	Began   time.Time
	// Versions gives the workspace before and after it, nil where that is not known.
	Versions    func() (was, is *history.Version)
	Notebooks   []string // that it used
	NotebookDir string
}

// Leave writes down what a cycle leaves that carries an origin. It may be done again.
func (l Ledger) Leave(c Left) error {
	if len(c.From) == 0 && (!c.Effects || !disk.Exists(l.Path)) {
		return nil
	}
	e := l.load()
	was, _ := json.Marshal(e)
	if len(c.From.Outside()) > 0 || len(c.From) > 0 && !l.Unwatched {
		put(&e.Cycles, c.Cycle, c.From)
	}
	for _, name := range c.Notebooks {
		if len(c.From) > 0 {
			put(&e.Notebooks, name, c.From)
		}
	}
	maps.DeleteFunc(e.Notebooks, func(name string, _ origin.Set) bool { return !disk.Exists(filepath.Join(c.NotebookDir, name)) })
	if c.Effects {
		l.files(e, c)
	}
	e.bound(l.rel(l.Places().Workspace))
	data, err := json.Marshal(e)
	if err != nil || bytes.Equal(data, was) {
		return err
	}
	return disk.Replace(disk.Or(l.Disk), l.Path, append(data, '\n'), 0o600)
}

func put(m *map[string]origin.Set, key string, from origin.Set) {
	if *m == nil {
		*m = map[string]origin.Set{}
	}
	(*m)[key] = (*m)[key].With(from...)
}

// files takes in what a cycle changed. Where that is not known it is all, and what was
// changed carries on what it was.
func (l Ledger) files(e *entries, c Left) {
	maps.DeleteFunc(e.Folders, func(path string, _ origin.Set) bool { return empty(l.abs(path)) })
	if was, is := c.Versions(); was != nil && is != nil {
		e.changed(c.From, was, is)
	} else {
		from := c.From
		for _, f := range e.Files {
			from = from.With(f.From...)
		}
		if len(from) > 0 {
			put(&e.Folders, l.rel(l.Places().Workspace), from)
		}
	}
	for _, dir := range l.Places().Beyond {
		if len(c.From) > 0 && touched(dir, c.Began) {
			put(&e.Folders, l.rel(dir), c.From)
		}
	}
}

// changed takes in the files of the workspace that are not as they were.
func (e *entries) changed(had origin.Set, was, is *history.Version) {
	known := map[string][]int{}
	for i, f := range e.Files {
		known[f.Path] = append(known[f.Path], i)
	}
	for _, change := range append(history.Diff(was, is), unkept(was, is)...) {
		is, from := change.Is, had
		if is == nil {
			continue
		}
		same := -1
		for _, i := range known[is.Path] {
			f := e.Files[i]
			if change.Was != nil && f.Is == change.Was.Is {
				from = from.With(f.From...)
			}
			if f.Is == is.Is && f.Kind == string(is.Kind) {
				same = i
			}
		}
		switch {
		case len(from) == 0:
		case same >= 0:
			e.Files[same].From = e.Files[same].From.With(from...)
			e.Files[same].Size, e.Files[same].Mod = is.Size, is.Mod
		default:
			e.Files = append(e.Files, file{is.Path, string(is.Kind), is.Is, is.Size, is.Mod, from})
		}
	}
}

// unkept are the files that versions list and do not keep, and that are not as they were
// or may not be.
func unkept(was, is *history.Version) (list []history.Change) {
	before := map[string]history.Entry{}
	for e := range was.All() {
		if e.Kind == history.Out {
			before[e.Path] = e
		}
	}
	for e := range is.All() {
		if w, ok := before[e.Path]; e.Kind == history.Out && (!ok || w.Change != e.Change || e.Size == 0) {
			list = append(list, history.Change{Path: e.Path, Was: &w, Is: &e})
		}
	}
	return list
}

// touched says whether anything in a folder changed since, by the times that no program
// can set.
func touched(dir string, since time.Time) bool {
	seen, found := 0, false
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if seen++; path != dir && err == nil && unix.Lstat(path, &st) == nil {
			found = st.Ctim.Nano() >= since.UnixNano()
		}
		if found = found || seen > maxWalked; found {
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// bound keeps the ledger small.
func (e *entries) bound(workspace string) {
	if len(e.Files) > maxFiles {
		for _, f := range e.Files {
			put(&e.Folders, workspace, f.From)
		}
		e.Files = nil
	}
	if len(e.Cycles) <= maxCycles+maxCycles/10 {
		return
	}
	ids := slices.Sorted(maps.Keys(e.Cycles))
	for _, id := range ids[:len(ids)-maxCycles] {
		e.Last, e.Older = id, e.Older.With(e.Cycles[id]...)
		delete(e.Cycles, id)
	}
}
