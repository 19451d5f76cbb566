// Package backup writes a home into one file, and makes one of that file.
//
// The file is a compressed tar: first a line of JSON that says what it is, then the
// files of the home, last their hashes. No lock is taken, so that a backup neither
// waits for a cycle nor lets a slot be skipped. What a cycle writes is copied so that
// the copy is the home as a crash at one moment would have left it: the memory and the
// files of the newest cycle are read until nothing of them moved on meanwhile, and
// files of later cycles are not taken. The first wake in a restored home settles that
// cycle, as it would after a crash.
package backup

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
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
	"strings"
	"time"

	"rouse/agent/history"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/scratchpad/observation"
)

// format is the version of backups that this program writes and understands.
const format = 1

// Names in a backup of what is no file of the home.
const headName, sumsName = "rouse-backup.json", "rouse-backup.sums"

// Head says what a backup is of.
type Head struct {
	Format  int       `json:"format"`
	Program string    `json:"program"` // the version that wrote it
	Home    int       `json:"home"`    // the version of the home
	Time    time.Time `json:"time"`
	Cycle   string    `json:"cycle"` // the newest in it
}

// Report is what a backup has.
type Report struct {
	Head
	Files int
	Bytes int64 // of the backup
	// Skipped are the files that cannot be in one, such as sockets, and Torn those that
	// changed while they were copied.
	Skipped, Torn []string
}

// Write makes a backup of a home. The file must not be there yet, nor in the home.
func Write(h home.Home, to, program string, now time.Time) (Report, error) {
	return write(disk.OS{}, h, to, program, now)
}

func write(f disk.FS, h home.Home, to, program string, now time.Time) (r Report, err error) {
	if to, err = filepath.Abs(to); err != nil {
		return r, err
	}
	dir := home.Resolved(filepath.Dir(to))
	if rel, err := filepath.Rel(home.Resolved(h.Dir), dir); err == nil && filepath.IsLocal(rel) {
		return r, fmt.Errorf("%s is in the home itself: name a file elsewhere", to)
	}
	if disk.Exists(to) {
		return r, fmt.Errorf("%s is there already: name a new file", to)
	}
	version, err := h.Version()
	if err != nil {
		return r, err
	}
	w := &writer{home: h, report: &r}
	r.Head = Head{format, program, version, now, ""}
	if err := w.volatile(); err != nil {
		return r, fmt.Errorf("backup: %w", err)
	}
	r.Cycle = w.newest
	scratch, err := os.MkdirTemp(dir, ".rouse-backup-")
	if err != nil {
		return r, fmt.Errorf("backup: %w", err)
	}
	defer os.RemoveAll(scratch)
	w.scratch = scratch
	if err := disk.ReplaceBy(f, to, 0o600, w.write); err != nil {
		return r, fmt.Errorf("backup: %w", err)
	}
	info, err := os.Stat(to)
	if err == nil {
		r.Bytes = info.Size()
	}
	return r, err
}

// writer writes a backup.
type writer struct {
	home    home.Home
	report  *Report
	newest  string
	held    map[string]held // files as they were at one moment, by path
	scratch string

	tar  *tar.Writer
	sums bytes.Buffer
}

// held is a file that is held in memory.
type held struct {
	info fs.FileInfo
	data []byte
}

// write writes the backup.
func (w *writer) write(to io.Writer) error {
	zip, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return err
	}
	w.tar = tar.NewWriter(zip)
	head, err := json.Marshal(w.report.Head)
	if err == nil {
		err = w.text(headName, append(head, '\n'), nil)
	}
	if err == nil {
		err = w.all()
	}
	if err == nil {
		err = w.text(sumsName, w.sums.Bytes(), nil)
	}
	if err == nil {
		err = cmp.Or(w.tar.Close(), zip.Close())
	}
	return err
}

// tries is how often the home is looked at until nothing moves on meanwhile.
const tries = 50

// errMoving says that it always did.
var errMoving = errors.New("the memory changed again and again while it was read: try again")

// volatile reads the memory, the files of the newest cycle and the small ones beside
// them as they are at one moment.
func (w *writer) volatile() error {
	h := w.home
	for range tries {
		newest, err := h.Newest()
		if err != nil {
			return err
		}
		before, err := h.Hash()
		if err != nil {
			return err
		}
		w.newest, w.held = newest, map[string]held{}
		if err := w.hold(); err != nil {
			return err
		}
		now, err := h.Newest()
		if err != nil {
			return err
		}
		if after, err := h.Hash(); err == nil && before == after && now == newest {
			return nil
		}
	}
	return errMoving
}

// maxHeld is the size up to which a file is held, in bytes.
const maxHeld = 64 << 20

// hold reads what changes while a cycle runs, its journal before its memory: a journal
// that says more than the memory has would be believed.
func (w *writer) hold() error {
	var paths []string
	if w.newest != "" {
		for _, kind := range []home.Kind{home.JournalFile, home.LogFile, home.BeforeFile, home.AfterFile, home.FullFile, home.LostFile, home.UnprovenFile} {
			paths = append(paths, w.home.Left(kind, w.newest))
		}
	}
	for _, dir := range []string{w.home.Memory(), w.home.Logs()} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if info, err := e.Info(); err == nil && w.moves(path, info) && home.CycleOf(e.Name()) == "" {
				paths = append(paths, path)
			}
		}
	}
	for _, path := range paths {
		info, err := os.Lstat(path)
		var data []byte
		if err == nil {
			data, err = os.ReadFile(path)
		}
		if err == nil {
			w.held[path] = held{info, data}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// moves says that a file is one of those that are held: of the newest cycle, or of none.
func (w *writer) moves(path string, info fs.FileInfo) bool {
	dir, id := filepath.Dir(path), home.CycleOf(filepath.Base(path))
	return (dir == w.home.Memory() || dir == w.home.Logs()) && (id == "" || id == w.newest) && info.Mode().IsRegular() && info.Size() <= maxHeld && !w.skip(path)
}

// skip says that a file has no place in a backup: it is of a cycle that began later, of a
// writer that is at work, of a database that is copied another way, or an index that is made anew.
func (w *writer) skip(path string) bool {
	base := filepath.Base(path)
	if disk.IsTemp(base) || home.CycleOf(base) > w.newest || slices.Contains(w.home.SearchFiles(), path) {
		return true
	}
	return filepath.Dir(path) == w.home.Memory() && slices.Contains(observation.DatabaseFiles(), base)
}

// all writes the files of the home.
func (w *writer) all() error {
	if err := w.observations(); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(w.held)) {
		if err := w.text(w.home.Rel(path), w.held[path].data, w.held[path].info); err != nil {
			return err
		}
	}
	paths, err := w.paths(w.home.Dir)
	if err != nil {
		return err
	}
	// A version is removed before what it names, so what it names is copied first.
	slices.SortStableFunc(paths, func(a, b string) int { return history.CopyOrder(w.home.History(), a, b) })
	for _, path := range paths {
		if err := w.add(path); err != nil {
			return err
		}
	}
	return nil
}

// paths lists the files below a folder. The agent's own folders may be links.
func (w *writer) paths(dir string) (paths []string, err error) {
	err = filepath.WalkDir(dir+"/", func(path string, d fs.DirEntry, err error) error {
		path = filepath.Clean(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && path == w.home.Dir:
			return nil
		case errors.Is(err, fs.ErrPermission) && path != w.home.Dir:
			w.report.Skipped = append(w.report.Skipped, w.home.Rel(path)+"/")
			return nil
		case err != nil:
			return err
		case d.Type()&fs.ModeSymlink != 0 && (path == w.home.Memory() || path == w.home.Logs()):
			below, err := w.paths(path)
			paths = append(paths, below...)
			return err
		case d.IsDir() && filepath.Dir(filepath.Dir(path)) == w.home.Notebooks() && strings.HasPrefix(d.Name(), "venv"):
			return fs.SkipDir // it is made again of what the notebook has installed
		case !w.skip(path):
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}

// observations writes the database of the observations, of which the rest are files.
func (w *writer) observations() error {
	if !observation.Exists(w.home.Memory()) {
		return nil
	}
	name := observation.DatabaseFiles()[0]
	copied := filepath.Join(w.scratch, name)
	if err := observation.Copy(w.home.Memory(), copied); err != nil {
		return err
	}
	return w.file(filepath.Join(w.home.Memory(), name), copied)
}

// add writes a file that is not held. One that would be, and came later, is left out.
func (w *writer) add(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // it went
	case err != nil && !errors.Is(err, fs.ErrPermission):
		return err
	case err != nil:
	case w.moves(path, info):
		return nil
	case info.Mode().IsRegular():
		return w.file(path, path)
	case info.IsDir() || info.Mode()&fs.ModeSymlink != 0:
		return w.special(path, info)
	}
	w.report.Skipped = append(w.report.Skipped, w.home.Rel(path))
	return nil
}

// special writes a folder or a link.
func (w *writer) special(path string, info fs.FileInfo) error {
	to := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		var err error
		if to, err = os.Readlink(path); err != nil {
			return err
		}
	}
	head, err := tar.FileInfoHeader(info, to)
	if err != nil {
		return err
	}
	return w.header(head, w.home.Rel(path))
}

func (w *writer) header(head *tar.Header, name string) error {
	head.Name, head.Format = filepath.ToSlash(name), tar.FormatPAX
	head.Uid, head.Gid, head.Uname, head.Gname = 0, 0, "", ""
	head.AccessTime, head.ChangeTime = time.Time{}, time.Time{}
	return w.tar.WriteHeader(head)
}

// text writes a file that is in memory; one of our own has no info.
func (w *writer) text(name string, data []byte, info fs.FileInfo) error {
	head := &tar.Header{Typeflag: tar.TypeReg, Mode: 0o600, ModTime: w.report.Time}
	if info != nil {
		head.Mode, head.ModTime = int64(info.Mode().Perm()), info.ModTime()
	}
	head.Size = int64(len(data))
	if err := w.header(head, name); err != nil {
		return err
	}
	w.sum(name, sha256.Sum256(data), int64(len(data)))
	_, err := w.tar.Write(data)
	return err
}

func (w *writer) sum(name string, sum [32]byte, size int64) {
	if name != headName && name != sumsName {
		w.report.Files++
		fmt.Fprintf(&w.sums, "%x %d %q\n", sum, size, filepath.ToSlash(name))
	}
}

// file writes what is at one path as the file of another. Of one that grows meanwhile
// the rest is left out; one that shrinks ends in zeroes. Both are told.
func (w *writer) file(path, from string) error {
	f, err := os.OpenFile(from, os.O_RDONLY|nonBlock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, fs.ErrPermission) {
		w.report.Skipped = append(w.report.Skipped, w.home.Rel(path))
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	head, err := tar.FileInfoHeader(info, "")
	if err != nil {
		return err
	}
	if err := w.header(head, w.home.Rel(path)); err != nil {
		return err
	}
	hash := sha256.New()
	out := io.MultiWriter(w.tar, hash)
	n, err := io.Copy(out, io.LimitReader(f, info.Size()))
	if err == nil {
		_, err = io.CopyN(out, zeroes{}, info.Size()-n)
	}
	if now, failed := f.Stat(); failed == nil && (now.Size() != info.Size() || now.ModTime() != info.ModTime()) {
		w.report.Torn = append(w.report.Torn, w.home.Rel(path))
	}
	w.sum(w.home.Rel(path), [32]byte(hash.Sum(nil)), info.Size())
	return err
}

// zeroes is a source without end.
type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
