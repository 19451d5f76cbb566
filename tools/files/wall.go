package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Wall keeps these tools from the agent's own files. It judges what was really
// opened, so that no spelling, link or parent folder leads around it.
type Wall struct {
	// Home is the folder of the agent's own files; empty is no wall.
	Home string
	// Hidden are the names of what is neither read nor written, and ReadOnly of
	// what is only read, each with all that is in it.
	Hidden, ReadOnly []string
}

var (
	errHidden   = errors.New("is among the agent's own files, which tools cannot reach; use another path")
	errReadOnly = errors.New("is among the agent's own files, which tools cannot change; use another path")
	errProcess  = errors.New("is the memory of a running process, which file tools cannot reach")
)

// readable says whether an open file or folder may be read.
func (w Wall) readable(f *os.File) error {
	return w.check(f, "", false)
}

// writable says whether name may be made or replaced in an open folder.
func (w Wall) writable(folder *os.Root, name string) error {
	f, err := folder.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return w.check(f, name, true)
}

func (w Wall) check(f *os.File, name string, write bool) error {
	path, err := where(f)
	if err != nil {
		return err
	}
	if process(path) {
		return errProcess
	}
	path = filepath.Join(path, name)
	if w.Home == "" {
		return nil
	}
	switch {
	case w.under(path, w.Hidden):
		return errHidden
	case write && w.under(path, w.ReadOnly):
		return errReadOnly
	}
	return w.checkLinks(f)
}

// where is the path of an open file, as the system has it.
func where(f *os.File) (string, error) {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	if err == nil && filepath.IsAbs(path) {
		return path, nil
	}
	if path, err = filepath.Abs(f.Name()); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// process says whether a path is what the kernel shows of the memory and the
// environment of a process, such as Rouse itself.
func process(path string) bool {
	base := filepath.Base(path)
	return strings.HasPrefix(path, "/proc/") && (base == "environ" || base == "mem")
}

// under says whether a path is at or in one of the files of the home that have
// these names: by the name in the home, and by what the file is, wherever that is
// linked or mounted.
func (w Wall) under(path string, names []string) bool {
	home, err := os.Stat(w.Home)
	if err != nil {
		return false
	}
	var own []fs.FileInfo
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(w.Home, name)); err == nil {
			own = append(own, info)
		}
	}
	for dir := path; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		for _, o := range own {
			if err == nil && os.SameFile(info, o) {
				return true
			}
		}
		if dir == filepath.Dir(dir) {
			return false
		}
		above, err := os.Stat(filepath.Dir(dir))
		if err == nil && os.SameFile(above, home) && named(filepath.Base(dir), names) {
			return true
		}
	}
}

// named says whether a name is one of these, also where the system does not tell
// large letters from small ones.
func named(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// checkLinks looks for a file that has several names among the hidden ones.
func (w Wall) checkLinks(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || !info.Mode().IsRegular() || s.Nlink < 2 {
		return nil
	}
	for _, name := range w.Hidden {
		err := filepath.WalkDir(filepath.Join(w.Home, name), func(_ string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // what cannot be read has no name to be known by
			}
			if other, err := d.Info(); err == nil && os.SameFile(info, other) {
				return errHidden
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hides says whether an entry of an open folder is not to be seen.
func (w Wall) hides(folder, name string) bool {
	return w.Home != "" && named(name, w.Hidden) && w.under(filepath.Join(folder, name), w.Hidden)
}
