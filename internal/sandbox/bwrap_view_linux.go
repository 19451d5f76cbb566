package sandbox

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// sight is what a process inside finds at a path and below.
type sight int

const (
	absent sight = iota // nothing
	hidden              // nothing that can be got at
	closed              // nothing but what is named below
	own                 // something of the sandbox
	seen                // what is there, to be read
	open                // what is there
)

// view is what the machine looks like from inside: real paths, and what is found from
// there down to the next one. The longest path that fits counts.
type view struct {
	found map[string]sight
	links map[string]string // on the way to what can be seen
	lent  string            // the folder that is /tmp; see [view.temp]
	there disk
}

// ownFolders are always the sandbox's.
var ownFolders = []string{"/dev", "/proc"}

// view gathers what a policy shows.
func (p Policy) view() view {
	v := view{found: map[string]sight{"/": absent}, links: map[string]string{}, there: disk{}}
	v.put(seen, p.Read...)
	v.put(open, append([]string{p.Temp, p.Cache}, p.Write...)...)
	m := readMounts()
	dirs := append(v.protect(m, seen, p.ReadOnly), v.protect(m, hidden, p.Hidden)...)
	v.own()
	if p.Temp != "" {
		v.found["/tmp"], v.lent = own, p.Temp
	}
	for _, dir := range dirs {
		v.close(dir)
	}
	v.pin()
	return v
}

// protect puts what is to be kept from processes, by all paths on which it is mounted.
// It gives the folders of what is not there: they are to be closed.
func (v view) protect(m mountTable, s sight, paths []string) (dirs []string) {
	for _, path := range paths {
		real, _, ok := v.there.follow(path)
		if ok {
			v.put(s, append(m.others(v.there, real), real)...)
		} else if dir, _, ok := v.there.follow(filepath.Dir(path)); ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// maxEntries is how much of a folder that is closed can be seen.
const maxEntries = 300

// close shows of a folder what is in it now, and nothing that appears there later or
// replaces it: what hides a file is gone once that file is, as when somebody edits it.
// Nothing can be made there; what is in it can be written as before. That takes more
// mounts. Of a folder with too many entries nothing can be written.
func (v view) close(dir string) {
	s, _ := v.at(dir)
	if s < seen || dir == "/" {
		return
	}
	v.found[dir] = seen
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > maxEntries {
		return
	}
	v.found[dir] = closed
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if _, ok := v.found[path]; ok {
			continue
		}
		if e.Type()&os.ModeSymlink == 0 {
			v.found[path] = s
		} else if target, err := os.Readlink(path); err == nil {
			v.links[path] = target
		}
	}
}

// put says what is seen at paths, as far as they are there. Later ones win.
func (v view) put(s sight, paths ...string) {
	for _, path := range paths {
		real, links, ok := v.there.follow(path)
		if !ok || path == "" {
			continue
		}
		v.found[real] = s
		if s > own {
			maps.Copy(v.links, links)
		}
	}
}

// own puts the sandbox's own things in their place: instead of /run, where services
// have their sockets, an empty folder with what resolves names.
func (v view) own() {
	for _, run := range []string{"/run", "/var/run"} {
		if info, err := os.Lstat(run); err == nil && info.IsDir() {
			v.found[run] = own
		}
	}
	for path := range v.found {
		if slices.ContainsFunc(ownFolders, func(dir string) bool { return below(dir, path) }) {
			delete(v.found, path)
		}
	}
	for _, dir := range ownFolders {
		v.found[dir] = own
	}
	if s, _ := v.at("/sys"); s == open {
		v.found["/sys"] = seen
	}
	for _, path := range []string{"/etc/resolv.conf", "/run/current-system"} {
		if s, _ := v.at(path); s > own || strings.HasPrefix(path, "/run/") {
			v.put(seen, path)
		}
	}
}

// pin makes mounts of the folders between one that can be written and what it holds
// that cannot be: a mount cannot be renamed, nor something else be put in its place.
func (v view) pin() {
	for path, s := range maps.Clone(v.found) {
		if s == absent || s == open {
			continue
		}
		for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
			if s, at := v.at(dir); s != open || at == dir {
				break
			}
			if unix.Access(filepath.Dir(dir), unix.W_OK) == nil {
				v.found[dir] = open
			}
		}
	}
}

// below says whether path is dir or below it.
func below(dir, path string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// at is what is seen at a real path, and where that begins.
func (v view) at(path string) (sight, string) {
	for ; ; path = filepath.Dir(path) {
		if s, ok := v.found[path]; ok || path == "/" {
			return s, path
		}
	}
}

// above is what is seen around a path.
func (v view) above(path string) sight {
	s, _ := v.at(filepath.Dir(path))
	return s
}

// folder is a working folder by its whole name, or by its real one where a link on the
// way is not inside. One that cannot be seen is an error.
func (v view) folder(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, links, ok := v.there.follow(dir)
	if s, at := v.at(real); ok && (s > own || s != absent && s != hidden && at == real) {
		for link := range links {
			if s, at := v.at(link); s < seen && (at == "/tmp" || v.links[link] == "") {
				return real, nil
			}
		}
		return dir, nil
	}
	return "", fmt.Errorf("the folder %s cannot be seen from inside", dir)
}

// temp is what is /tmp: the folder that is lent, or, where something is seen below /tmp,
// an empty one. The mounts for that would be made in the other one, where the command
// can have put links in their way.
func (v view) temp() string {
	for path, s := range v.found {
		if s > hidden && path != "/tmp" && below("/tmp", path) {
			return ""
		}
	}
	return v.lent
}

// mounts are bubblewrap's arguments that make the view, the shorter paths first: as few
// as can be, as bubblewrap reads the list of all mounts for most of them, which takes
// a tenth of a millisecond and more. What is empty is closed to writers at the end,
// when all that is in it is there.
func (v view) mounts() []string {
	var args, last []string
	for _, path := range v.order() {
		if target, ok := v.links[path]; ok {
			args = append(args, "--symlink", target, path)
			continue
		}
		made, empty := v.mount(path)
		args = append(args, made...)
		if empty {
			last = append(last, "--remount-ro", path)
		}
	}
	return append(args, last...)
}

// order is what there is to be made.
func (v view) order() (paths []string) {
	for link := range v.links {
		if s, at := v.at(link); s < seen && at != "/tmp" {
			paths = append(paths, link)
		} else {
			delete(v.links, link)
		}
	}
	paths = slices.AppendSeq(paths, maps.Keys(v.found))
	slices.SortFunc(paths, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	return paths
}

// mount are the arguments for one path, and whether they make an empty folder.
func (v view) mount(path string) (args []string, empty bool) {
	s, above := v.found[path], v.above(path)
	switch {
	case path == "/" && s == absent:
		return nil, true
	case path == "/dev":
		return []string{"--dev", path}, false
	case path == "/proc":
		return process(), false
	case path == "/tmp" && s == own:
		if lent := v.temp(); lent != "" {
			return []string{"--bind", lent, path}, false
		}
		return []string{"--perms", "1777", "--tmpfs", path}, false
	case s == own || s == closed:
		return []string{"--perms", "0755", "--tmpfs", path}, s == closed
	case s == open:
		return []string{"--bind", path, path}, false
	case s == seen && (above != seen || path == "/"):
		return []string{"--ro-bind", path, path}, false
	case s == hidden && above > own:
		return v.hide(path)
	}
	return nil, false
}

// process are the arguments for /proc. What root could change of the machine there, and
// so get out, is read only.
func process() []string {
	args := []string{"--proc", "/proc"}
	for _, name := range []string{"sys", "acpi", "scsi"} {
		if path := "/proc/" + name; os.Geteuid() == 0 && unix.Access(path, unix.F_OK) == nil {
			args = append(args, "--ro-bind", path, path)
		}
	}
	return args
}

// hide puts what cannot be got at in the place of something. A folder lets pass to
// what is seen in it; its mode tells others than root that they may not write there.
func (v view) hide(path string) (args []string, empty bool) {
	if info := v.there.look(path); info == nil || !info.IsDir() {
		return []string{"--ro-bind", "/dev/null", path}, false // devices cannot be opened there
	}
	mode := "0000"
	for other, s := range v.found {
		if s > own && below(path, other) {
			mode = "0111"
		}
	}
	return []string{"--perms", mode, "--tmpfs", path}, os.Geteuid() == 0
}
