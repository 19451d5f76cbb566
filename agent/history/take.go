package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"rouse/internal/disk"
	"rouse/internal/text"
)

// Taken is what came of a look at a folder.
type Taken struct {
	// Version is how the folder is: the one that was made, or the newest that holds
	// still; nil where there is none, and nothing to be kept.
	Version *Version
	Made    bool
	Changed int   // files that are not as in the version before
	Bytes   int64 // that it took
	// Warnings say what a person should know: what is left out, what is damaged.
	Warnings []string
}

// Take makes a version of a folder, unless it is as in the newest one. Done again after
// a crash it gives the version that is there.
func (s *Store) Take(root, id string) (t Taken, err error) {
	was, size, problems, err := s.newest()
	t = Taken{Version: was, Warnings: problems}
	if err != nil || was != nil && was.ID == id {
		return t, err
	}
	began := time.Now().UnixNano() // by the clock that files have
	c, err := s.look(root, was, nil)
	if err != nil || c.changed() == 0 {
		return t, err // nothing did, as mostly
	}
	if lost := s.lost(was); len(lost) > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%s of the history are gone: what was in them is kept anew", text.Count(len(lost), "pack")))
		if c, err = s.look(root, was, lost); err != nil {
			return t, err
		}
	}
	if c.bytes > s.MaxBytes {
		return t, fmt.Errorf("%d MiB are new or changed, more than history.max_bytes", c.bytes>>20)
	}
	v := &Version{ID: id, Of: s.Of, Scanned: began}
	if was != nil {
		v.Parent = was.ID
	}
	if err := s.keep(c, v, &t, size); err != nil {
		return t, err
	}
	t.Warnings = append(t.Warnings, c.problems...)
	if t.Made {
		t.Warnings = append(t.Warnings, c.left()...)
	}
	return t, nil
}

// Look is how a folder is now, of which nothing is kept.
func (s *Store) Look(root string) (*Version, error) {
	was, _, _, err := s.newest()
	if err != nil {
		return nil, err
	}
	return s.LookSince(root, was)
}

// LookSince is [Store.Look] that reads what is not as in a version, nil for none.
func (s *Store) LookSince(root string, was *Version) (*Version, error) {
	began := time.Now().UnixNano()
	c, err := s.look(root, was, nil)
	if err != nil {
		return nil, err
	}
	if _, err := c.read(); err != nil {
		return nil, err
	}
	return &Version{Of: s.Of, Scanned: began, lines: c.lines()}, nil
}

// read reads what is to be read, and gives what of it is not in the store.
func (c *scan) read() (fresh []*Entry, err error) {
	if c.unread == 0 {
		return nil, nil
	}
	r, err := os.OpenRoot(c.root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	in := map[string]string{} // the pack of each content
	for _, p := range c.parts {
		if p.now == nil || p.now.Kind != File {
			continue
		}
		if err := c.steady(r, p.now, sumOf); err != nil {
			return nil, err
		}
		if p.now.Kind == File {
			fresh, in[p.now.Is] = append(fresh, p.now), ""
		}
	}
	for line := range bytes.Lines(c.was.lines) {
		is, pack, _ := tail(line)
		if _, wanted := in[string(is)]; wanted && line[0] == byte(File) && !c.lost[string(pack)] {
			in[string(is)] = string(pack)
		}
	}
	return slices.DeleteFunc(fresh, func(e *Entry) bool {
		e.In = in[e.Is]
		return e.In != ""
	}), nil
}

// lines are what a version has of the folder, but for what went meanwhile.
func (c *scan) lines() []byte {
	b := make([]byte, 0, len(c.was.lines)+200*len(c.parts))
	for _, p := range c.parts {
		switch {
		case p.now == nil:
			b = append(b, c.was.lines[p.from:p.to]...)
		case p.now.Kind != 0:
			b = p.now.appendLine(b)
		}
	}
	return b
}

// changed counts what is not as in the version before, what is to be read too. A folder
// is the same whatever is put into it.
func (c *scan) changed() int {
	n := c.removed
	for _, p := range c.parts {
		if p.now == nil {
			continue
		}
		if c.line = c.line[:0]; p.now.Kind != 0 {
			c.line = p.now.appendLine(c.line)
		}
		was := c.was.lines[p.from:p.to]
		if p.now.Kind == Folder && bytes.HasPrefix(was, c.line[:3+bytes.IndexByte(c.line[2:], '\t')]) {
			continue // of the same mode
		}
		if !bytes.Equal(c.line, was) {
			n++
		}
	}
	return n
}

// lost are the packs of a version that are not there.
func (s Store) lost(v *Version) map[string]bool {
	list := map[string]bool{}
	if v == nil {
		return list
	}
	for _, id := range v.packs() {
		if !disk.Exists(s.pack(id)) {
			list[id] = true
		}
	}
	return list
}

// keep reads what is to be read, and writes the version if it is another.
func (s *Store) keep(c *scan, v *Version, t *Taken, size int64) error {
	fresh, err := c.read()
	if err != nil {
		return err
	}
	if t.Changed = c.changed(); t.Changed == 0 {
		return nil
	}
	if err := s.makeFolder(); err != nil {
		return err
	}
	if len(fresh) > 0 {
		if t.Bytes, err = s.writePack(laterSync{s.disk()}, v.ID, func(p *packer) error { return c.pack(p, v.ID, fresh) }); err != nil {
			return err
		}
	}
	v.lines = c.lines()
	if err := s.putHead(v.ID, size+t.Bytes); err != nil {
		return err
	}
	n, err := s.write(v)
	if err != nil {
		return err
	}
	t.Version, t.Made, t.Bytes, s.cached = v, true, t.Bytes+n, v
	if size += t.Bytes; size > s.MaxBytes {
		return s.shrink()
	}
	return s.putHead(v.ID, size)
}

// pack puts the contents that are new into a pack, each once.
func (c *scan) pack(p *packer, id string, fresh []*Entry) error {
	r, err := os.OpenRoot(c.root)
	if err != nil {
		return err
	}
	defer r.Close()
	in := map[string]bool{}
	for _, e := range fresh {
		if in[e.Is] {
			e.In = id
			continue
		}
		if err := c.steady(r, e, p.add); err != nil {
			return err
		}
		if e.Kind == File {
			in[e.Is], e.In = true, id
		}
	}
	return nil
}

func (s Store) makeFolder() error {
	if disk.Exists(s.Dir) {
		return nil
	}
	if err := s.disk().MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	return s.disk().SyncDir(filepath.Dir(s.Dir))
}

func sumOf(r io.Reader) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil)), err
}

// tries is how often a file is read that changes meanwhile.
const tries = 3

// steady reads a file, again if it changes meanwhile, and makes of the entry what was
// read. One that went has no kind then, one that cannot be read is left out.
func (c *scan) steady(root *os.Root, e *Entry, read func(io.Reader) (string, error)) error {
	var bad *os.PathError
	for try := 1; ; try++ {
		f, err := root.OpenFile(filepath.FromSlash(e.Path), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
		if errors.Is(err, os.ErrNotExist) {
			e.Kind = 0
			return nil
		}
		if err != nil {
			*e = out(*e, unreadable(err))
			return nil
		}
		now, err := statOf(f, e.Path)
		if err == nil && now.Kind == File && now.Size <= c.maxFile {
			now.Is, err = read(f)
		}
		after, failed := statOf(f, e.Path)
		f.Close()
		switch {
		case failed != nil, errors.As(err, &bad) && bad.Op == "read":
			*e = out(now, "unreadable")
			return nil
		case err != nil:
			return err // of the store
		case now.Kind != File:
			*e = out(now, "it is no file any more")
			return nil
		case now.Size > c.maxFile:
			*e = out(now, "too large")
			return nil
		}
		*e = now
		after.Is = now.Is
		if after == now {
			return nil
		}
		if try == tries {
			c.problems = append(c.problems, fmt.Sprintf("%s changed while it was read, %d times: the version has it as it was read last", text.Quoted(e.Path), tries))
			return nil
		}
	}
}

func statOf(f *os.File, path string) (Entry, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	e := entryOf(&st)
	e.Path = path
	return e, err
}

// named is how many files a warning names.
const named = 5

// left says what is left out that was not left out before.
func (c *scan) left() []string {
	var list []string
	n := 0
	for _, p := range c.parts {
		e := p.now
		if e == nil || e.Kind != Out {
			continue
		}
		if was, err := parseEntry(c.was.lines[p.from:p.to]); err == nil && was.Kind == Out && was.Is == e.Is {
			continue
		}
		if n++; n <= named {
			list = append(list, fmt.Sprintf("%s (%s, %d bytes)", text.Quoted(e.Path), e.Is, e.Size))
		}
	}
	if n == 0 {
		return nil
	}
	more := ""
	if n > named {
		more = fmt.Sprintf(" and %d more", n-named)
	}
	return []string{"the history leaves out " + text.Join(list, ", ", func(s string) string { return s }) + more}
}
