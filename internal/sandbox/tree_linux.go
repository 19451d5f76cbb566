package sandbox

import (
	"encoding/binary"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// node is a file or folder that a policy names, or is on the way to one.
type node struct {
	below map[string]*node
	as    kind
	// rights are those that it has, and what is below it as far as no other node
	// says otherwise.
	rights uint64
	mode   uint32 // what it is; 0 is nothing
}

// kind is how a policy names a path; a later one beats an earlier.
type kind int

const (
	unnamed kind = iota
	asDevice
	asDevices
	asRead
	asWrite
	asReadOnly
	asHidden
)

// tree sorts what a policy names, and what every program needs, by path.
func (p Policy) tree() *node {
	root := &node{}
	if !slices.Contains(p.Write, "/") {
		root.needed()
	}
	for _, list := range []struct {
		as    kind
		paths []string
	}{{asRead, p.Read}, {asWrite, p.Write}, {asWrite, []string{p.Temp, p.Cache}}, {asReadOnly, p.ReadOnly}, {asHidden, p.Hidden}} {
		for _, path := range list.paths {
			if filepath.IsAbs(path) {
				root.name(filepath.Clean(path), list.as)
			}
		}
	}
	root.resolve("", 0)
	return root
}

// needed names what every program needs.
func (n *node) needed() {
	n.name("/dev", asDevices)
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts"} {
		n.name("/dev/"+name, asDevice)
	}
	n.name("/dev/shm", asWrite)
	n.name("/proc", asRead)
}

// name says what a path is.
func (n *node) name(path string, as kind) {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" {
			continue
		}
		if n.below[part] == nil {
			if n.below == nil {
				n.below = map[string]*node{}
			}
			n.below[part] = &node{}
		}
		n = n.below[part]
	}
	n.as = max(n.as, as)
}

// resolve gives each node its rights. What is not there is passed over, but where it
// could be made: there it still keeps its folder from being given whole.
func (n *node) resolve(path string, inherited uint64) {
	n.rights = n.as.of(inherited)
	for name, child := range n.below {
		at := path + "/" + name
		var st unix.Stat_t
		if err := unix.Lstat(at, &st); err == nil {
			child.mode = st.Mode & unix.S_IFMT
		} else if err == unix.ENOENT && n.rights&unix.LANDLOCK_ACCESS_FS_MAKE_REG == 0 {
			delete(n.below, name)
			continue
		}
		child.resolve(at, n.rights)
	}
}

// of gives the rights of what a policy names so, below something with others.
func (k kind) of(inherited uint64) uint64 {
	switch k {
	case asDevice:
		return device
	case asDevices:
		return list
	case asRead, asReadOnly:
		return reading
	case asWrite:
		return writing
	case asHidden:
		return 0
	}
	return inherited
}

// common are the rights that a node and all below it have.
func (n *node) common() uint64 {
	rights := n.rights
	for _, child := range n.below {
		rights &= child.common()
	}
	return rights
}

// allow adds the rules of a policy. A rule holds for all below and nothing takes
// from it, so a folder with an exception below it is not given whole, but entry by entry,
// beside the right to list it. Links are never followed: they would give what they lead to.
func (s *ruleset) allow(p Policy) error {
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	return s.walk(root, p.tree(), 0)
}

// walk adds the rules of a folder and what is below it; given are the rights that
// a rule above gives already.
func (s *ruleset) walk(dir int, n *node, given uint64) error {
	whole := n.common() | n.rights&list
	if whole&^given != 0 {
		if err := s.add(dir, true, whole); err != nil {
			return err
		}
	}
	given |= whole
	for name, child := range n.below {
		if err := s.named(dir, name, child, given); err != nil {
			return err
		}
	}
	if n.rights&^given == 0 {
		return nil
	}
	return s.others(dir, n)
}

// named adds the rules of a path that the policy names.
func (s *ruleset) named(dir int, name string, n *node, given uint64) error {
	switch n.mode {
	case unix.S_IFDIR:
		return at(dir, name, unix.O_DIRECTORY, func(fd int) error { return s.walk(fd, n, given) })
	case unix.S_IFLNK:
		return nil
	}
	if n.rights&onFiles&^given == 0 {
		return nil
	}
	return at(dir, name, 0, func(fd int) error { return s.add(fd, false, n.rights) })
}

// others gives the rights of a folder to those of its entries that the policy does
// not name.
func (s *ruleset) others(dir int, n *node) error {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // what the user cannot list, the child cannot either
	}
	defer unix.Close(fd)
	buf := make([]byte, 32<<10)
	for {
		size, err := unix.Getdents(fd, buf)
		if err != nil || size <= 0 {
			return err
		}
		for e := range entries(buf[:size]) {
			if n.below[e.name] != nil || e.name == "." || e.name == ".." {
				continue
			}
			if err := s.other(dir, e, n.rights); err != nil {
				return err
			}
		}
	}
}

// other gives rights to an entry of a folder.
func (s *ruleset) other(dir int, e entry, rights uint64) error {
	var st unix.Stat_t
	if e.kind == unix.DT_UNKNOWN && unix.Fstatat(dir, e.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		e.kind = uint8(st.Mode >> 12)
	}
	switch e.kind {
	case unix.DT_LNK:
		return nil
	case unix.DT_DIR:
		return at(dir, e.name, unix.O_DIRECTORY, func(fd int) error { return s.add(fd, true, rights) })
	}
	return at(dir, e.name, 0, func(fd int) error { return s.add(fd, false, rights) })
}

// entry is what getdents64(2) says of an entry of a folder.
type entry struct {
	name string
	kind uint8
}

func entries(buf []byte) iter.Seq[entry] {
	const offLength, offKind, offName = 16, 18, 19
	return func(yield func(entry) bool) {
		for len(buf) > offName {
			length := int(binary.NativeEndian.Uint16(buf[offLength:]))
			if length <= offName || length > len(buf) || !yield(entry{unix.ByteSliceToString(buf[offName:length]), buf[offKind]}) {
				return
			}
			buf = buf[length:]
		}
	}
}

// at opens an entry of a folder, to name it only. One that cannot be reached, or is
// not any more what it was, is passed over.
func at(dir int, name string, flags int, f func(fd int) error) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	return f(fd)
}
