package checkout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"rouse/agent/history"
	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/disk"
)

// Pull takes a home out of the fleet into a folder: one that is not there or empty, or the
// one that it was pushed from, in which nothing changed since. With force it also takes one
// that another machine has, whose changes then stay there.
func Pull(ctx context.Context, s *store.Store, name, dir string, force bool) (r Report, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return r, err
	}
	p := &pull{s: s, h: home.Home{Dir: home.Resolved(abs)}, force: force}
	if p.at, err = s.Home(ctx, name); err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	p.Report = Report{Name: name, Dir: p.h.Dir, Version: p.at.Version}
	unlock, err := p.check(ctx)
	defer unlock()
	if err == nil && !p.Here {
		err = disk.Full(p.run(ctx), filepath.Dir(p.h.Dir))
	}
	return p.Report, err
}

// pull is one that is under way.
type pull struct {
	Report
	s     *store.Store
	at    store.Home
	h     home.Home // where it goes
	old   bool      // and there is one
	force bool
}

// check finds out what is in the folder, and locks the home that it replaces.
func (p *pull) check(ctx context.Context) (unlock func(), err error) {
	unlock = func() {}
	names, err := os.ReadDir(p.h.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unlock, err
	}
	p.old = len(names) > 0
	rec, mine := recordOf(p.h), p.at.Holder == holder(p.h.Dir)
	is := rec.Name == p.Name && rec.Fleet == p.s.ID
	switch {
	case p.old && is && rec.Epoch == p.at.Epoch && mine: // it was never away, or a push did not arrive
		p.Here = true
		return unlock, cmp.Or(p.h.Mark(disk.OS{}, ""), p.beside(ctx, func(string) error { return nil }))
	case p.old && (!is || p.h.Marked() != p.Name):
		return unlock, fmt.Errorf("%s is there already, and is not what %s was pushed from to this fleet: name another folder", p.h.Dir, p.Name)
	case p.at.Holder != "" && !mine && !p.force && (p.at.Until == nil || p.at.Until.After(time.Now())):
		return unlock, &store.Held{Home: p.at}
	case p.at.Version == 0:
		return unlock, fmt.Errorf("%s has not arrived in the fleet yet: push it again from %s", p.Name, p.at.Holder)
	case !p.old:
		return unlock, nil
	}
	if free, err := p.h.Lock(); err == nil {
		return free, p.unchanged(ctx, rec.Epoch)
	}
	return unlock, err
}

// unchanged refuses to replace what was never pushed.
func (p *pull) unchanged(ctx context.Context, epoch int64) error {
	base, _, err := VersionOf(ctx, p.s, p.at.ID, epoch)
	if errors.Is(err, store.ErrNone) { // a push was killed before it arrived
		return cmp.Or(forgotten(ctx, p.s, p.at, epoch), lost(p.at))
	}
	if err != nil {
		return err
	}
	is, err := look(p.h, nil)
	if err != nil {
		return err
	}
	if lost := changed(base, is, func(c history.Change) bool { return c.Is == nil || p.h.Moves(c.Path) }); lost != "" {
		return fmt.Errorf("%s changed here since the push, and would be lost: move that away, or pull into another folder", lost)
	}
	return nil
}

// run makes the folder beside the one that it replaces, takes the home, and puts it there.
func (p *pull) run(ctx context.Context) error {
	return p.beside(ctx, func(tmp string) error {
		err := p.fill(ctx, tmp)
		if err == nil {
			err = p.give(tmp)
		}
		if err == nil && p.old {
			err = swap(tmp, p.h.Dir)
		} else if err == nil {
			err = os.Rename(tmp, p.h.Dir)
		}
		if err != nil {
			return err
		}
		return disk.OS{}.SyncDir(filepath.Dir(tmp))
	})
}

// give gives a folder to who has the one that it replaces or, of a new one, the one around it.
func (p *pull) give(dir string) error {
	like, err := os.Stat(p.h.Dir)
	if err != nil {
		like, err = os.Stat(filepath.Dir(dir))
	}
	if err != nil || os.Getuid() != 0 {
		return err
	}
	owner := like.Sys().(*syscall.Stat_t)
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		info, failed := os.Lstat(path)
		if err = cmp.Or(err, failed, os.Lchown(path, int(owner.Uid), int(owner.Gid))); err == nil && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			err = os.Chmod(path, info.Mode()) // which a new owner takes away
		}
		return err
	})
}

// beside does something with an empty folder beside that of the home, and then removes what
// is there; also what a pull that was killed left.
func (p *pull) beside(ctx context.Context, do func(tmp string) error) error {
	tmp := filepath.Join(filepath.Dir(p.h.Dir), "."+filepath.Base(p.h.Dir)+".rouse-fleet")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return err
	}
	unlock, err := disk.LockFolder(ctx, tmp, 0)
	if err != nil {
		return fmt.Errorf("another pull: %w", err)
	}
	defer unlock()
	if err = clean(tmp); err == nil {
		err = do(tmp)
	}
	if disk.Exists(tmp) {
		err = cmp.Or(err, clean(tmp), os.Remove(tmp))
	}
	return err
}

// clean empties a folder, also of folders that are locked.
func clean(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	names, err := os.ReadDir(dir)
	for _, e := range names {
		err = cmp.Or(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// fill makes the newest version in a folder, with what stayed of the old one, and takes the home.
func (p *pull) fill(ctx context.Context, dir string) error {
	v, version, err := VersionOf(ctx, p.s, p.at.ID, 0)
	if err != nil {
		return err
	}
	if err := p.count(v); err != nil {
		return err
	}
	put, _ := history.Plan(new(history.Version), v, nil)
	if err := Put(ctx, p.s, dir, put); err != nil {
		return err
	}
	for _, name := range home.Staying() {
		if old := filepath.Join(p.h.Dir, name); err == nil && p.old && !strings.Contains(name, "/") && disk.Exists(old) {
			err = os.Link(old, filepath.Join(dir, name))
		}
	}
	if err != nil {
		return err
	}
	l, err := p.s.Acquire(ctx, p.Name, holder(p.h.Dir), 0, p.force)
	if err != nil {
		return err
	}
	if _, now, err := p.s.Manifest(ctx, p.at.ID, 0); err != nil || now != version {
		return cmp.Or(err, fmt.Errorf("%s got a version while it was pulled: pull again", p.Name))
	}
	p.Report.Version = version
	in := home.Home{Dir: dir}
	err = cmp.Or(os.MkdirAll(in.Logs(), 0o700), record{Fleet: p.s.ID, Name: p.Name, Epoch: l.Epoch}.write(in))
	err = cmp.Or(err, timed(dir, v))
	return err
}
