package history

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	if gone := s.gone(was); len(gone) > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%s of the history are gone: what was in them is kept anew", text.Count(len(gone), "pack")))
		if c, err = s.look(root, was, gone); err != nil {
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
	if err := s.keep(root, c, v, &t, size); err != nil {
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
	c, err := s.look(root, was, nil)
	if err != nil {
		return nil, err
	}
	if len(c.unread) > 0 {
		r, err := os.OpenRoot(root)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		if _, err = c.hash(r); err != nil {
			return nil, err
		}
	}
	return &Version{Of: s.Of, Entries: c.there()}, nil
}

// hash reads what is to be read, and gives what of it is not in the store.
func (c *scan) hash(r *os.Root) (fresh []*Entry, err error) {
	in := map[string]string{} // the pack of each content
	for _, e := range c.old {
		if e.Kind == File {
			in[e.Is] = e.In
		}
	}
	for _, i := range c.unread {
		e := &c.entries[i]
		if err := c.steady(r, e, sumOf); err != nil {
			return nil, err
		}
		if e.In = in[e.Is]; e.Kind == File && e.In == "" {
			fresh = append(fresh, e)
		}
	}
	return fresh, nil
}

// there are the entries of what did not go meanwhile.
func (c *scan) there() (list []Entry) {
	for _, e := range c.entries {
		if e.Kind != 0 {
			list = append(list, e)
		}
	}
	return list
}

// changed counts what is not as in the version before, what is to be read too.
func (c *scan) changed() (n int) {
	if c.same == len(c.entries) && c.same == len(c.old) {
		return 0
	}
	gone := len(c.old)
	c.next = 0
	for _, e := range c.entries {
		if e.Kind == 0 {
			continue
		}
		was := c.was(e.Path)
		if was.Kind != 0 {
			gone--
		}
		if was != e {
			n++
		}
	}
	return n + gone
}

// gone are the packs of a version that are not there.
func (s Store) gone(v *Version) map[string]bool {
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
func (s *Store) keep(root string, c *scan, v *Version, t *Taken, size int64) error {
	r, err := os.OpenRoot(root)
	if err != nil && len(c.unread) > 0 {
		return err
	}
	if err == nil {
		defer r.Close()
	}
	fresh, err := c.hash(r)
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
		if t.Bytes, err = s.writePack(v.ID, func(p *packer) error { return c.pack(r, p, v.ID, fresh) }); err != nil {
			return err
		}
	}
	v.Entries = c.there()
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
func (c *scan) pack(r *os.Root, p *packer, id string, fresh []*Entry) error {
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
		from := &source{f: f}
		now, err := statOf(f, e.Path)
		if err == nil && now.Kind == File && now.Size <= c.maxFile {
			now.Is, err = read(from)
		}
		after, failed := statOf(f, e.Path)
		f.Close()
		switch {
		case from.err != nil || failed != nil:
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
	return entryOf(path, &st), err
}

// source tells an error of the file from one of who reads it.
type source struct {
	f   *os.File
	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.f.Read(b)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// named is how many files a warning names.
const named = 5

// left says what is left out that was not left out before.
func (c *scan) left() []string {
	var list []string
	n := 0
	for _, e := range c.entries {
		if was := c.was(e.Path); e.Kind != Out || was.Kind == Out && was.Is == e.Is {
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
