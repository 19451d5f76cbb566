package history

import (
	"errors"
	"fmt"
	"os"
	"slices"
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

// scan is one look at a folder.
type scan struct {
	old      []Entry          // of the version before, without those whose content is gone
	next     int              // of old, which the next entry mostly is
	byPath   map[string]Entry // old, once it is not
	since    int64            // when that version was scanned
	maxFile  int64
	device   uint64
	entries  []Entry
	unread   []int // of entries: the files whose content is to be read
	bytes    int64 // of these
	same     int   // entries that are as in the version before
	problems []string
}

// look lists the folder, and which files are to be read as their content is not
// known from the version before.
func (s Store) look(root string, was *Version, gone map[string]bool) (*scan, error) {
	c := &scan{maxFile: s.MaxFile}
	if was != nil {
		c.since, c.old = was.Scanned, was.Entries
		if was.Of != s.Of {
			c.since = 0 // its contents are known here too, and its files are not these
		}
		if len(gone) > 0 {
			c.old = slices.DeleteFunc(slices.Clone(c.old), func(e Entry) bool { return gone[e.In] })
		}
		c.entries = make([]Entry, 0, len(c.old)+16)
	}
	flags := unix.O_NOFOLLOW
	if s.Follow {
		flags = 0
	}
	dir, err := openDir(unix.AT_FDCWD, root, flags)
	switch {
	case errors.Is(err, unix.ENOENT):
		return c, nil
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil, errors.New("it is no folder but a link, or another file; history.workspace: on follows a link")
	case err != nil:
		return nil, err
	}
	defer dir.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return nil, err
	}
	c.device = uint64(st.Dev)
	if err := c.folder(dir, "", 0); err != nil {
		return nil, err
	}
	for i, e := range c.entries {
		if e.Kind == File && e.Is == "" {
			c.unread, c.bytes = append(c.unread, i), c.bytes+e.Size
		}
	}
	return c, nil
}

func openDir(at int, name string, flags int) (*os.File, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// folder lists what is in an open folder, and in the folders there.
func (c *scan) folder(dir *os.File, path string, depth int) error {
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if len(c.entries) >= maxFiles {
			return fmt.Errorf("it has more than %d files", maxFiles)
		}
		var st unix.Stat_t
		if err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			continue // it went meanwhile
		}
		i, e := len(c.entries), entryOf(path+name, &st)
		was := c.was(e.Path)
		c.entries = append(c.entries, e)
		switch {
		case e.Kind == Folder && uint64(st.Dev) != c.device:
			e = out(e, "another file system")
		case e.Kind == Folder && depth == maxDepth:
			e = out(e, "too deep")
		case e.Kind == Folder:
			err = c.below(dir, name, depth, &e)
		case e.Kind == Link:
			e.Is = target(dir, name)
		case e.Kind == File && e.Size > c.maxFile:
			e = out(e, "too large")
		case e.Kind == File:
			c.known(&e, was)
		}
		if err != nil {
			return err
		}
		if c.entries[i] = e; e == was {
			c.same++
		}
	}
	return nil
}

// below lists a folder in a folder. One that cannot be read is left out.
func (c *scan) below(dir *os.File, name string, depth int, e *Entry) error {
	sub, err := openDir(int(dir.Fd()), name, unix.O_NOFOLLOW)
	if err != nil {
		*e = out(*e, unreadable(err))
		return nil
	}
	defer sub.Close()
	return c.folder(sub, e.Path+"/", depth+1)
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

func target(dir *os.File, name string) string {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(dir.Fd()), name, buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

// entryOf is what stat says of a file. A folder is the same whatever is put into it.
func entryOf(path string, st *unix.Stat_t) Entry {
	e := Entry{Path: path, Mode: uint32(st.Mode) & 0o7777, Size: st.Size, Inode: st.Ino, Mod: st.Mtim.Nano(), Change: st.Ctim.Nano()}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		e.Kind = File
	case unix.S_IFDIR:
		e = Entry{Kind: Folder, Path: path, Mode: e.Mode}
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

// known takes the content of a file from the version before, where nothing says that
// it changed: not one that was written so shortly before that version was scanned that
// its time, which nobody can set, would not tell.
func (c *scan) known(e *Entry, was Entry) {
	margin := tick
	if e.Change%int64(time.Second) == 0 {
		margin = coarse
	}
	now := *e
	now.Is, now.In = was.Is, was.In
	if was == now && e.Change < c.since-margin {
		*e = now
	}
}

// was is what the version before has at a path, the zero entry for nothing. Both are
// listed in the same order.
func (c *scan) was(path string) Entry {
	for i := c.next; i < min(c.next+4, len(c.old)); i++ {
		if c.old[i].Path == path {
			c.next = i + 1
			return c.old[i]
		}
	}
	if c.byPath == nil {
		c.byPath = make(map[string]Entry, len(c.old))
		for _, e := range c.old {
			c.byPath[e.Path] = e
		}
	}
	return c.byPath[path]
}
