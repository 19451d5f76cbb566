package home

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// GiveBack gives the owner of a home what root has made there since a moment, so
// that nothing of it locks the owner out: of the folders that are Rouse's alone all
// that is root's, of the agent's other files and the workspace what is new. It does
// nothing unless this process is root's and the home is not. Links are not followed,
// and what has a second name elsewhere is left alone.
func GiveBack(dir string, since time.Time) error {
	if os.Geteuid() != 0 {
		return nil
	}
	h, err := At(dir)
	if err != nil {
		return nil // it is none, or gone
	}
	info, err := os.Stat(h.Dir)
	owner, ok := sysOf(info)
	if err != nil || !ok || owner.Uid == 0 || !h.written(since.Add(-clockTick)) {
		return nil
	}
	root, err := os.OpenRoot(h.Dir)
	if err != nil {
		return fmt.Errorf("give to the home's owner: %w", err)
	}
	defer root.Close()
	g := giving{root: root, uid: int(owner.Uid), gid: int(owner.Gid)}
	for _, o := range Owned() {
		g.since = since.Add(-clockTick)
		if slices.Contains(ours[:], o.Name) {
			g.since = time.Time{}
		}
		if err := g.below(o.Name); err != nil {
			return fmt.Errorf("give to the home's owner: %w", err)
		}
	}
	return nil
}

// ours are the folders that are Rouse's alone.
var ours = [...]string{"scratchpad", "logs", "notebooks", "served"}

// written says that files were made in the home since a moment, at the price of a few
// stats: most calls of cron make none, and a workspace may be large.
func (h Home) written(since time.Time) bool {
	return slices.ContainsFunc(append(ours[:], ""), func(name string) bool {
		info, err := os.Stat(filepath.Join(h.Dir, name))
		return err == nil && !info.ModTime().Before(since)
	})
}

// clockTick is by how much the times of files may be behind the clock.
const clockTick = 10 * time.Millisecond

// giving is a home whose owner gets what root made since a moment.
type giving struct {
	root     *os.Root
	uid, gid int
	since    time.Time
}

// below looks at a file, and at all in a folder. What goes meanwhile is passed over.
func (g giving) below(name string) error {
	if info, err := g.root.Lstat(name); err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return nil
	}
	return fs.WalkDir(g.root.FS(), name, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (d.IsDir() || d.Type().IsRegular()) {
			err = g.give(path)
		}
		if os.IsNotExist(err) {
			return nil
		}
		return err
	})
}

// give gives one file, which is the one that is looked at, whatever is put in its place.
func (g giving) give(path string) error {
	info, err := g.root.Lstat(path)
	if s, ok := sysOf(info); err != nil || !ok || s.Uid != 0 {
		return err
	}
	f, err := g.root.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return err
	}
	folder, regular := s.Mode&unix.S_IFMT == unix.S_IFDIR, s.Mode&unix.S_IFMT == unix.S_IFREG && s.Nlink == 1
	if s.Uid != 0 || !folder && !regular || time.Unix(s.Ctim.Unix()).Before(g.since) {
		return nil
	}
	return f.Chown(g.uid, g.gid)
}

func sysOf(info fs.FileInfo) (*syscall.Stat_t, bool) {
	if info == nil {
		return nil, false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return s, ok
}
