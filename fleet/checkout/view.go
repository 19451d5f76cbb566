package checkout

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"rouse/agent/history"
	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/mirror"
)

// Views are copies of homes that are looked at, each in a folder with its name: current, live
// while a cycle is awake elsewhere, marked so that nothing wakes them, and never sent.
type Views struct {
	s   *store.Store
	dir string
	mu  sync.Mutex
	of  map[string]*view
}

// view is one of them.
type view struct {
	mu      sync.Mutex
	checked time.Time
	at      store.Home
	err     error            // of the last time, if it failed
	seen    *history.Version // how the folder is
	line    int64            // the last that is in it
}

// viewed is in a folder of views and names their fleet.
const viewed = ".rouse-fleet"

// OpenViews has views in a folder, which must be theirs.
func OpenViews(s *store.Store, dir string) (*Views, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	names, err := os.ReadDir(dir)
	of, none := os.ReadFile(filepath.Join(dir, viewed))
	if err != nil || none != nil && len(names) > 0 || none == nil && string(of) != s.ID {
		return nil, cmp.Or(err, fmt.Errorf("%s holds something else than copies of homes of this fleet: name another --dir", dir))
	}
	return &Views{s: s, dir: dir, of: map[string]*view{}}, os.WriteFile(filepath.Join(dir, viewed), []byte(s.ID), 0o600)
}

// Dir is the folder of a view.
func (w *Views) Dir(name string) string { return filepath.Join(w.dir, name) }

func (w *Views) view(name string) *view {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[name] == nil {
		w.of[name] = &view{}
	}
	return w.of[name]
}

// Again has the store asked when the view is next looked at, however soon that is.
func (w *Views) Again(name string) {
	v := w.view(name)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.checked = time.Time{}
}

// Fresh makes the view of a home as the store has that, which it asks each second at most.
func (w *Views) Fresh(ctx context.Context, name string) (store.Home, error) {
	v := w.view(name)
	v.mu.Lock()
	defer v.mu.Unlock()
	if time.Since(v.checked) < time.Second {
		return v.at, v.err
	}
	at, err := w.s.Home(ctx, name)
	if err == nil && at.Version == 0 {
		err = fmt.Errorf("it has not arrived in the fleet yet: push it again from %s", at.Holder)
	}
	if err == nil {
		err = v.fresh(ctx, w.s, home.Home{Dir: w.Dir(name)}, at)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, disk.Full(err, w.dir))
	} else {
		v.at = at
	}
	v.err, v.checked = err, time.Now()
	return at, err
}

// fresh makes the folder the newest version, with what a cycle added to that. Another process
// may look at the same folder.
func (v *view) fresh(ctx context.Context, s *store.Store, h home.Home, at store.Home) error {
	if err := os.MkdirAll(h.Dir, 0o700); err != nil {
		return err
	}
	unlock, err := disk.LockFolder(ctx, h.Dir, time.Minute)
	if err != nil {
		return fmt.Errorf("its copy is being made by somebody else: %w", err)
	}
	defer unlock()
	if v.at.ID != at.ID || v.at.Version != at.Version {
		if err := v.put(ctx, s, h, at); err != nil {
			return err
		}
	}
	if at.Holder == "" {
		return nil
	}
	lines, last, err := s.LinesAfter(ctx, at.ID, v.line)
	if err == nil {
		err = mirror.Restore(h.Dir, lines)
	}
	if err == nil {
		v.line = last
	}
	return err
}

// put makes the folder the newest version, but for who did what on a page of it here.
func (v *view) put(ctx context.Context, s *store.Store, h home.Home, at store.Home) error {
	to, _, err := VersionOf(ctx, s, at.ID, 0)
	if err == nil {
		v.seen, err = look(h, v.seen)
	}
	if err != nil {
		return err
	}
	plan, _ := history.Plan(v.seen, to, nil)
	plan = slices.DeleteFunc(plan, func(c history.Change) bool { return filepath.Join(h.Dir, c.Path) == h.Acts() && c.Was != nil })
	if err = cmp.Or(Put(ctx, s, h.Dir, plan), h.Mark(disk.OS{}, at.Name)); err != nil {
		return err
	}
	v.line = 0
	v.seen, err = look(h, v.seen)
	return err
}
