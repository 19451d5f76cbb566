package home

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Access is what tools may do with a file.
type Access string

// Hidden is neither read nor written, ReadOnly is read, Writable is both.
const (
	Hidden   Access = "hidden"
	ReadOnly Access = "read-only"
	Writable Access = "writable"
)

// Own is one of the agent's own files, or a folder with all that is in it.
type Own struct {
	Name   string // in the home
	Access Access // for tools
	// Private says that it holds what other users of the machine should not read.
	Private bool
}

// Owned is the one table of the agent's own files, whether they are there or not.
// What it does not name belongs to whoever put it there. A notebook's process may
// write in its own folder in notebooks, which is hidden from all others.
func Owned() []Own {
	return []Own{
		{"scratchpad", Hidden, true}, {"logs", Hidden, true}, {"served", Hidden, true}, {"notebooks", Hidden, true},
		{".env", Hidden, true}, {"vault.age", Hidden, true}, {"vault.key", Hidden, true},
		{"approvals.yaml", Hidden, true}, {"inbox", Hidden, true}, {"STOP", Hidden, false},
		{"rouse.yaml", Hidden, true}, {"prices.yaml", Hidden, true}, {".mcp.json", Hidden, true}, {".mcp.lock.json", Hidden, true},
		{"rules.md", ReadOnly, false}, {"bin", ReadOnly, false}, {"skills", ReadOnly, false}, {"examples", ReadOnly, false}, {".git", ReadOnly, false},
		{"workspace", Writable, true}, {"tmp", Writable, true}, {"cache", Writable, true},
	}
}

// Names are those of the own files that tools have this access to.
func Names(access Access) (names []string) {
	for _, o := range Owned() {
		if o.Access == access {
			names = append(names, o.Name)
		}
	}
	return names
}

// CheckWorkspace refuses a workspace that [Home.CheckWrite] refuses.
func (h Home) CheckWorkspace(dir string) error { return h.CheckWrite("workspace", dir) }

// CheckWrite refuses a folder, named under a key, in which tools could change the
// agent's own files: one that holds the home, and one that is at or in a file of
// [Owned].
func (h Home) CheckWrite(key, dir string) error {
	own, dir := Resolved(h.Dir), Resolved(dir)
	if wayTo(own).through(dir) {
		return fmt.Errorf("%s %s holds the home itself, and with it the agent's memory and rules; name a folder in it or beside it", key, dir)
	}
	return h.among(key, dir, func(a Access) bool { return a != Writable })
}

// CheckRead refuses a folder at or in a file that tools do not even read.
func (h Home) CheckRead(key, dir string) error {
	return h.among(key, Resolved(dir), func(a Access) bool { return a == Hidden })
}

// among refuses a folder at or in one of the own files.
func (h Home) among(key, dir string, refused func(Access) bool) error {
	own, way := Resolved(h.Dir), wayTo(dir)
	for _, o := range Owned() {
		if refused(o.Access) && way.through(filepath.Join(own, o.Name)) {
			return fmt.Errorf("%s %s is among the agent's own files; name another folder", key, dir)
		}
	}
	return nil
}

// IsTemp says whether a path is in the folder of temporary files, or is that.
func (h Home) IsTemp(path string) bool {
	return wayTo(Resolved(path)).through(filepath.Join(Resolved(h.Dir), "tmp"))
}

// Resolved is a path without links, as far as it exists.
func Resolved(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(Resolved(dir), filepath.Base(path))
	}
	return path
}

// way is a path without links, and what there is of it and of the folders above.
type way struct {
	path  string
	files []fs.FileInfo
}

func wayTo(path string) way {
	w := way{path: path}
	for ; ; path = filepath.Dir(path) {
		if info, err := os.Stat(path); err == nil {
			w.files = append(w.files, info)
		}
		if path == filepath.Dir(path) {
			return w
		}
	}
}

// through says whether a file, in a folder without links, is on the way, also where
// the system does not tell large letters from small ones.
func (w way) through(path string) bool {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		path = Resolved(path)
		info, err = os.Stat(path)
	}
	if rel, err := filepath.Rel(path, w.path); err == nil && filepath.IsLocal(rel) {
		return true
	}
	return err == nil && slices.ContainsFunc(w.files, func(f fs.FileInfo) bool { return os.SameFile(f, info) })
}

// Exposed are the home and those of its own files that other users of the machine
// can get at though they hold what is private, by paths in the home: none where the
// home is closed itself. Links are not followed. What is in the workspace is not
// looked at.
func (h Home) Exposed() (paths []string, err error) {
	look := func(path string, info fs.FileInfo) {
		if info.Mode()&fs.ModeSymlink == 0 && info.Mode().Perm()&0o077 != 0 {
			paths = append(paths, path)
		}
	}
	info, err := os.Stat(h.Dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return nil, err
	}
	look(h.Dir, info)
	for _, o := range Owned() {
		if !o.Private {
			continue
		}
		if err := walk(filepath.Join(h.Dir, o.Name), o.Access != Writable, look); err != nil {
			return paths, err
		}
	}
	return paths, nil
}

// walk looks at a file, and at the files in a folder and the folders there. What
// goes meanwhile is passed over, and notebooks' environments, which are made of
// others' packages, are looked at from above.
func walk(path string, deep bool, look func(string, fs.FileInfo)) error {
	return filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil {
			look(path, info)
		}
		if d.IsDir() && (!deep || strings.HasPrefix(d.Name(), "venv") || d.Name() == ".venv" || d.Name() == "workspace") {
			return filepath.SkipDir
		}
		return nil
	})
}

// Protect takes from other users of the machine what [Home.Exposed] names, and
// gives the paths that it changed. A link is neither followed nor changed.
func Protect(paths []string) (changed []string, err error) {
	for _, path := range paths {
		if err := protect(path); err != nil {
			return changed, err
		}
		changed = append(changed, path)
	}
	return changed, nil
}
