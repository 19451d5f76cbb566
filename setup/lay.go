package setup

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"rouse/home"
)

// lay is how folders lie, looked at once: a cycle asks for hundreds of files, of which
// few are there.
type lay struct {
	folders map[string]map[string]bool // the names in a folder
	links   map[string]string          // a folder without links
}

func newLay() *lay { return &lay{map[string]map[string]bool{}, map[string]string{}} }

// names are those in a folder; none where there is no such folder.
func (l *lay) names(dir string) map[string]bool {
	if names, ok := l.folders[dir]; ok {
		return names
	}
	names := map[string]bool{}
	if f, err := os.Open(dir); err == nil {
		list, _ := f.Readdirnames(-1) // as far as it can be read
		f.Close()
		for _, name := range list {
			names[name] = true
		}
	}
	l.folders[dir] = names
	return names
}

// crowded are the folders of which so many names are asked for that it is cheaper to
// list them; in others each is looked for.
const crowded = ".config"

// find are the files that can be read at a name below a folder, in which * stands for
// anything in the last part, without links.
func (l *lay) find(dir, name string) (paths []string) {
	first, rest, deeper := strings.Cut(name, "/")
	switch {
	case deeper && first == crowded && l.names(dir)[first]:
		return l.find(dir+"/"+first, rest)
	case !l.names(dir)[first] && !strings.Contains(first, "*"):
		return nil
	case strings.Contains(name, "*"):
		return l.match(dir, name)
	case unix.Access(dir+"/"+name, unix.R_OK) == nil:
		return []string{l.real(dir + "/" + name)}
	}
	return nil
}

// match are the files whose names in a folder, or in one below it, fit a pattern.
func (l *lay) match(dir, pattern string) (paths []string) {
	dir, pattern = filepath.Dir(dir+"/"+pattern), filepath.Base(pattern)
	for name := range l.names(dir) {
		if ok, _ := filepath.Match(pattern, name); ok && unix.Access(dir+"/"+name, unix.R_OK) == nil { // the pattern is ours
			paths = append(paths, l.real(dir+"/"+name))
		}
	}
	return paths
}

// real is a path without links, as far as it exists.
func (l *lay) real(path string) string {
	info, err := os.Lstat(path)
	if path == "/" || err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return home.Resolved(path)
	}
	dir := filepath.Dir(path)
	real, ok := l.links[dir]
	if !ok {
		real = home.Resolved(dir)
		l.links[dir] = real
	}
	return filepath.Join(real, filepath.Base(path))
}

// all are paths without links.
func (l *lay) all(paths []string) []string {
	real := make([]string, len(paths))
	for i, path := range paths {
		real[i] = l.real(path)
	}
	return real
}
