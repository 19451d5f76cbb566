package history

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxFiles = 200_000 // in the folder
	maxDepth = 200     // of folders in folders
)

// tick is how far the times of a file may lie before that of the clock, and coarse
// how far where a file system has whole seconds.
const (
	tick   = int64(20 * time.Millisecond)
	coarse = int64(2 * time.Second)
)

// scan is one look at a folder, beside the version before. What is as it was there is
// nothing but a part of its text, so that a look at files that did not change takes
// little more than asking for each.
type scan struct {
	root    string
	was     cursor
	since   int64           // when the version before was scanned
	lost    map[string]bool // its packs that are gone
	maxFile int64
	skip    func(path string) bool
	device  uint64
	telling bool // the times of a folder tell when names in it changed

	parts    []part // how the folder is
	files    int    // that are there
	removed  int    // that were, and are not
	unread   int    // whose content is to be read
	bytes    int64  // of these
	problems []string

	path, line, names []byte
}

// part is lines of the version before as they stand there, or an entry, with the line
// that the version before has of it, empty for none.
type part struct {
	from, to int
	now      *Entry
}

// look lists the folder, and which files are to be read as their content is not known
// from the version before, but for what is in packs that are lost.
func (s Store) look(root string, was *Version, lost map[string]bool) (*scan, error) {
	c := &scan{root: root, maxFile: s.MaxFile, skip: s.Skip, lost: lost, names: make([]byte, 32<<10)}
	if was != nil {
		c.was.lines = was.lines
		if was.Of == s.Of { // or its contents are known here too, and its files are not these
			c.since = was.Scanned
		}
	}
	flags := unix.O_NOFOLLOW
	if s.Follow {
		flags = 0
	}
	dir, err := openDir(unix.AT_FDCWD, root, flags)
	switch {
	case errors.Is(err, unix.ENOENT):
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil, errors.New("it is no folder but a link, or another file; history.workspace: on follows a link")
	case err != nil:
		return nil, err
	default:
		names, err := c.list(dir)
		if err = cmp.Or(err, c.begin(dir), c.folder(dir, names, 0), unix.Close(dir)); err != nil {
			return nil, err
		}
	}
	c.removed += count(c.was.lines[c.was.from:])
	return c, nil
}

// begin looks at the file system of the folder.
func (c *scan) begin(dir int) error {
	var st unix.Stat_t
	var fs unix.Statfs_t
	err := cmp.Or(unix.Fstat(dir, &st), unix.Fstatfs(dir, &fs))
	c.device = uint64(st.Dev)
	switch uint32(fs.Type) {
	case 0xef53, 0x58465342, 0x9123683e, 0x01021994: // ext, XFS, Btrfs, tmpfs
		c.telling = true
	}
	return err
}

func openDir(at int, name string, flags int) (fd int, err error) {
	return unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|flags, 0)
}

// list gives the names in a folder.
func (c *scan) list(dir int) (iter.Seq[string], error) {
	var names []string
	for {
		n, err := unix.ReadDirent(dir, c.names)
		if err != nil || n == 0 {
			slices.Sort(names)
			return slices.Values(names), err
		}
		_, _, names = unix.ParseDirent(c.names[:n], -1, names)
	}
}

// listed gives the names that the version before has in the folder of which the
// next line is.
func (c *scan) listed(yield func(string) bool) {
	for n := len(c.path); c.was.look() && bytes.HasPrefix(c.was.path, c.path[:n]); {
		name := string(c.was.path[n:])
		if strings.Contains(name, "/") { // of a folder that went meanwhile
			c.removed, c.was.from = c.removed+1, c.was.to
		} else if !yield(name) {
			return
		}
	}
}

// folder adds what is in an open folder.
func (c *scan) folder(dir int, names iter.Seq[string], depth int) (err error) {
	n := len(c.path)
	for name := range names {
		c.path = append(c.path[:n], name...)
		if err = c.file(dir, name, depth); err != nil {
			break
		}
	}
	c.path = c.path[:n]
	return err
}

// file adds what is called so in a folder, and if that is a folder, what is there.
func (c *scan) file(dir int, name string, depth int) error {
	if c.skip != nil && c.skip(string(c.path)) {
		return nil
	}
	passed, from, to := c.was.seek(c.path)
	c.removed += count(passed)
	if c.files++; c.files > maxFiles {
		return fmt.Errorf("it has more than %d files", maxFiles)
	}
	var st unix.Stat_t
	switch err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); {
	case errors.Is(err, unix.ENOENT):
		c.removed += count(c.was.lines[from:to]) // it went meanwhile
		return nil
	case err != nil: // its folder can be listed, and no more
		c.add(Entry{Kind: Out, Path: string(c.path), Is: unreadable(err)}, from, to)
		return nil
	}
	e := entryOf(&st)
	known := e.Kind != Link && e.Size <= c.maxFile && c.known(&e, c.was.lines[from:to])
	if known && e.Kind == File {
		c.same(from, to)
		return nil
	}
	e.Path = string(c.path)
	switch {
	case e.Kind == Folder && uint64(st.Dev) != c.device:
		e = out(e, "another file system")
	case e.Kind == Folder && depth == maxDepth:
		e = out(e, "too deep")
	case e.Kind == Folder:
		return c.below(dir, name, depth, e, from, to, known)
	case e.Kind == Link:
		e.Is = target(dir, name)
	case e.Kind == File && e.Size > c.maxFile:
		e = out(e, "too large")
	}
	c.add(e, from, to)
	return nil
}

// below adds a folder in a folder, and what is there. One that cannot be read is left out.
func (c *scan) below(dir int, name string, depth int, e Entry, from, to int, known bool) error {
	sub, err := openDir(dir, name, unix.O_NOFOLLOW)
	if err != nil {
		c.add(out(e, unreadable(err)), from, to)
		return nil
	}
	defer unix.Close(sub)
	names := iter.Seq[string](c.listed)
	if !known || !c.telling {
		if names, err = c.list(sub); err != nil {
			c.add(out(e, unreadable(err)), from, to)
			return nil
		}
	}
	c.add(e, from, to)
	c.path = append(c.path, '/')
	return c.folder(sub, names, depth+1)
}

// add adds an entry, with the line that it had.
func (c *scan) add(e Entry, from, to int) {
	if e.Kind == File {
		c.unread, c.bytes = c.unread+1, c.bytes+e.Size
	} else if c.line = e.appendLine(c.line[:0]); bytes.Equal(c.line, c.was.lines[from:to]) {
		c.same(from, to)
		return
	}
	c.parts = append(c.parts, part{from, to, &e})
}

func (c *scan) same(from, to int) {
	if last := len(c.parts) - 1; last >= 0 && c.parts[last].now == nil && c.parts[last].to == from {
		c.parts[last].to = to
		return
	}
	c.parts = append(c.parts, part{from, to, nil})
}

func unreadable(err error) string {
	if e, ok := errors.AsType[unix.Errno](err); ok {
		return e.Error()
	}
	return "unreadable"
}

func out(e Entry, why string) Entry {
	e.Kind, e.Is = Out, why
	return e
}

func target(dir int, name string) string {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

// entryOf is what stat says of a file.
func entryOf(st *unix.Stat_t) Entry {
	e := Entry{Mode: uint32(st.Mode) & 0o7777, Size: st.Size, Inode: st.Ino, Mod: st.Mtim.Nano(), Change: st.Ctim.Nano()}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		e.Kind = File
	case unix.S_IFDIR:
		e.Kind, e.Size = Folder, 0
	case unix.S_IFLNK:
		e.Kind = Link
	case unix.S_IFSOCK:
		e = out(e, "a socket")
	case unix.S_IFIFO:
		e = out(e, "a FIFO")
	default:
		e = out(e, "a device")
	}
	return e
}

// known says that the content of a file is that of its line in the version before, as
// nothing says that it changed: not so where it was written so shortly before that
// version was scanned that its time, which nobody can set, would not tell.
func (c *scan) known(e *Entry, line []byte) bool {
	margin := tick
	if e.Change%int64(time.Second) == 0 {
		margin = coarse
	}
	if c.line = e.appendHead(c.line[:0]); e.Change >= c.since-margin || !bytes.HasPrefix(line, c.line) {
		return false
	}
	if len(c.lost) == 0 {
		return true
	}
	_, in, _ := tail(line)
	return !c.lost[string(in)]
}

// cursor goes through the lines of a version.
type cursor struct {
	lines    []byte
	from, to int    // the line that is next, once it was looked at
	path     []byte // that it is of
}

// seek goes on to a path: it gives the lines that are before it, and where its own is, an
// empty one where there is none.
func (c *cursor) seek(path []byte) (passed []byte, from, to int) {
	start := c.from
	for c.look() {
		switch order := compare(c.path, path); {
		case order > 0:
			return c.lines[start:c.from], c.from, c.from
		case order == 0:
			from, c.from = c.from, c.to
			return c.lines[start:from], from, c.to
		}
		c.from = c.to
	}
	return c.lines[start:], c.to, c.to
}

// look looks at the next line, if there is one.
func (c *cursor) look() bool {
	if c.from < c.to || c.to == len(c.lines) {
		return c.from < c.to
	}
	c.to += bytes.IndexByte(c.lines[c.from:], '\n') + 1
	if _, _, c.path = tail(c.lines[c.from:c.to]); len(c.path) > 0 && c.path[0] == '"' {
		name, _ := readName(string(c.path)) // each line is one: its hash says so
		c.path = []byte(name)
	}
	return true
}

// compare orders paths as versions do: what is in a folder comes next to it.
func compare(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	switch {
	case n == len(a) || n < len(b) && a[n] == '/':
		return -1
	case n == len(b) || b[n] == '/':
		return 1
	}
	return cmp.Compare(a[n], b[n])
}

// count is how many lines there are.
func count(lines []byte) int { return bytes.Count(lines, []byte("\n")) }
