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
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"rouse/agent/history"
	"rouse/internal/disk"
	"rouse/internal/erase"
	"rouse/scratchpad/origin"
)

// Bounds: of a ledger that is larger, in bytes, all that is known is that all carries
// what any of it did; of a folder no more files are looked at.
const (
	maxLedger = 4 << 20
	maxWalked = 20_000
)

// Ledger is the file that says what cycles left that carries text from outside.
type Ledger struct {
	Path string
	// Places are found when something has an origin, and once.
	Places func() Places
	// Unwatched says that the processes of tools can read what is private, and that
	// nobody could say whether they did.
	Unwatched bool
}

// Places are paths, absolute and without links.
type Places struct {
	Workspace string
	// Folders are those that the operator declared, and Beyond those beside the workspace
	// in which tools write; in Notebooks each notebook has one.
	Folders   []Folder
	Beyond    []string
	Notebooks string
}

// entries is what the file says.
type entries struct {
	V int `json:"v"`
	// Cycles are those that had text from outside, and Any is what anything may have.
	Cycles map[string]origin.Set `json:"cycles,omitempty"`
	Any    origin.Set            `json:"any,omitempty"`
	// Files are contents that carry it, each while it is what is there, by their paths
	// from the workspace.
	Files map[string][]content `json:"files,omitempty"`

	carriers []carrier // that are there
}

// content is of a file as the history has it, or, with kind whole, all of a folder.
type content struct {
	Kind string     `json:"kind"`
	Is   string     `json:"is,omitempty"`
	Size int64      `json:"size,omitempty"`
	Mod  int64      `json:"mod,omitempty"`
	From origin.Set `json:"from"`
}

const whole = "whole"

// carrier is what carries an origin now.
type carrier struct {
	path string
	from origin.Set
}

// load reads the file. One that cannot be read says the worst.
func (l Ledger) load() *entries {
	e := &entries{V: 1}
	data, err := os.ReadFile(l.Path)
	if err == nil {
		err = json.Unmarshal(data, e)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) || e.V != 1 {
		return &entries{V: 1, Any: origin.Set{"unknown", origin.Private}}
	}
	return e
}

// find finds what is still there.
func (l Ledger) find(e *entries) {
	if len(e.Any) > 0 {
		p := l.Places()
		for _, path := range append([]string{p.Workspace, p.Notebooks}, p.Beyond...) {
			e.carriers = append(e.carriers, carrier{path, e.Any})
		}
	}
	for name, list := range e.Files {
		path := filepath.Join(l.Places().Workspace, raw(name))
		for _, c := range list {
			if c.is(path) {
				e.carriers = append(e.carriers, carrier{path, c.From})
			}
		}
	}
}

// is says whether a content is at a path; it is read only where its time is another. What
// a folder says is its name.
func (c content) is(path string) bool {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return !errors.Is(err, fs.ErrNotExist)
	case c.Kind == whole:
		return !empty(path)
	case c.Kind == string(history.Folder):
		return empty(path)
	case c.Kind == string(history.Link):
		to, err := os.Readlink(path)
		return err != nil || kept(to) == c.Is
	case c.Kind != string(history.File) || info.Size() == c.Size && info.ModTime().UnixNano() == c.Mod:
		return true
	case info.Size() != c.Size || !info.Mode().IsRegular():
		return false
	}
	r, err := os.Open(path)
	if err != nil {
		return true
	}
	defer r.Close()
	h := sha256.New()
	_, err = io.Copy(h, r)
	return err != nil || fmt.Sprintf("%x", h.Sum(nil)) == c.Is
}

// Left is what a cycle leaves behind.
type Left struct {
	Cycle string
	From  origin.Set // that it had
	Shed  origin.Set // of what left the memory with it, of which it need not have seen all
	// Effects says that it may have changed files, Cells that it used notebooks, and Began
	// when it had done neither.
	Effects, Cells bool
	Began          time.Time
	// Versions gives the workspace before and after it, nil where that is not known.
	Versions func() (was, is *history.Version)
}

// Leave writes down what a cycle leaves that carries an origin. It may be done again.
func (l Ledger) Leave(f disk.FS, c Left) error {
	if l.Unwatched { // then the memory has it that something private was read, and files need not
		c.From, c.Shed = c.From.Outside(), c.Shed.Outside()
	}
	can := c.From.With(c.Shed...)
	if len(can) == 0 && (!c.Effects || !disk.Exists(l.Path)) {
		return nil
	}
	e := l.load()
	before, _ := json.Marshal(e)
	if len(can) > 0 {
		if e.Cycles == nil {
			e.Cycles = map[string]origin.Set{}
		}
		e.Cycles[c.Cycle] = can
	}
	if c.Effects {
		l.effects(e, c)
	}
	if data, err := json.Marshal(e); err != nil || bytes.Equal(data, before) {
		return err
	}
	return l.save(f, e)
}

// Rename takes in what contents are from now on, as a value is taken out of them: these
// carry what they did.
func (l Ledger) Rename(f disk.FS, sums erase.Sums) error {
	e, renamed := l.load(), false
	for path, list := range e.Files {
		for _, c := range list {
			if now, ok := sums[c.Is]; ok {
				c.Is, c.Size, renamed = now.Sum, now.Size, true
				e.add(raw(path), c)
			}
		}
	}
	if !renamed {
		return nil
	}
	return l.save(f, e)
}

func (l Ledger) save(f disk.FS, e *entries) error {
	data, err := json.Marshal(e)
	if len(data) > maxLedger {
		data, err = json.Marshal(entries{V: 1, Any: e.all()})
	}
	if err != nil {
		return err
	}
	return disk.Replace(f, l.Path, append(data, '\n'), 0o600)
}

// effects takes in what a cycle changed. Where that is not known it is all.
func (l Ledger) effects(e *entries, c Left) {
	p := l.Places()
	maps.DeleteFunc(e.Files, func(name string, list []content) bool {
		return list[0].Kind == whole && !list[0].is(filepath.Join(p.Workspace, raw(name)))
	})
	if was, is := c.Versions(); was != nil && is != nil {
		e.changed(c.From, was, is)
	} else {
		e.add(".", content{Kind: whole, From: c.From.With(e.all()...)})
	}
	beyond := p.Beyond
	if c.Cells {
		notebooks, _ := filepath.Glob(filepath.Join(p.Notebooks, "*"))
		beyond = append(notebooks, beyond...)
	}
	for _, dir := range beyond {
		if rel, err := filepath.Rel(p.Workspace, dir); err == nil && len(c.From) > 0 && touched(dir, c.Began) {
			e.add(rel, content{Kind: whole, From: c.From})
		}
	}
}

// changed takes in the files of the workspace that are not as they were, and of those
// that the history does not keep all. What was changed carries on what it was.
func (e *entries) changed(had origin.Set, was, is *history.Version) {
	for _, change := range history.Diff(was, is) {
		from := had
		for _, c := range e.Files[kept(change.Path)] {
			if change.Was != nil && c.Is == kept(change.Was.Is) {
				from = from.With(c.From...)
			}
		}
		if now := change.Is; now != nil {
			e.add(now.Path, content{string(now.Kind), kept(now.Is), now.Size, now.Mod, from})
		}
	}
	for now := range is.All() {
		if now.Kind == history.Out {
			e.add(now.Path, content{Kind: string(now.Kind), Is: now.Is, From: had})
		}
	}
}

// add adds a content, or to what is known of it.
func (e *entries) add(path string, c content) {
	if len(c.From) == 0 {
		return
	}
	path = kept(path)
	list := e.Files[path]
	for i, known := range list {
		if known.Kind == c.Kind && known.Is == c.Is {
			c.From = known.From.With(c.From...)
			list[i] = c
			return
		}
	}
	if e.Files == nil {
		e.Files = map[string][]content{}
	}
	e.Files[path] = append(list, c)
}

// kept is a name of a file as JSON keeps it, which has no bytes that are no text, and raw
// is one that was.
func kept(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return "\x00" + strconv.Quote(name)
}

func raw(name string) string {
	if quoted, ok := strings.CutPrefix(name, "\x00"); ok {
		name, _ = strconv.Unquote(quoted)
	}
	return name
}

// all are the origins of all that is known.
func (e *entries) all() origin.Set {
	from := e.Any
	for _, list := range e.Files {
		for _, c := range list {
			from = from.With(c.From...)
		}
	}
	for _, c := range e.Cycles {
		from = from.With(c...)
	}
	return from
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
