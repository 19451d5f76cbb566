package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// disk is what was found at paths, nil for nothing: a policy names many that lie
// together, and is looked at for each process.
type disk map[string]fs.FileInfo

// look says what is at a path, which may be a link.
func (d disk) look(path string) fs.FileInfo {
	info, ok := d[path]
	if !ok {
		info, _ = os.Lstat(path)
		d[path] = info
	}
	return info
}

// maxLinks is how many links there may be on the way.
const maxLinks = 40

// follow is a path without links, the links on the way, and whether it is there.
func (d disk) follow(path string) (real string, links map[string]string, ok bool) {
	links, real = map[string]string{}, "/"
	rest := strings.Split(path, "/")
	for len(rest) > 0 {
		next := filepath.Join(real, rest[0])
		rest = rest[1:]
		info := d.look(next)
		if info == nil || len(links) > maxLinks {
			return "", nil, false
		}
		if info.Mode()&os.ModeSymlink == 0 {
			real = next
			continue
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", nil, false
		}
		links[next] = target
		rest = append(strings.Split(target, "/"), rest...)
		if filepath.IsAbs(target) {
			real = "/"
		}
	}
	return real, links, true
}
