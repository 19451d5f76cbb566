package worker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"rouse/agent/schedule"
	"rouse/fleet/checkout"
	"rouse/fleet/store"
	"rouse/internal/disk"
	"rouse/internal/text"
)

// How often it is looked whether a change is whole, and again after the store was away.
const (
	lookEvery  = 500 * time.Millisecond
	storeEvery = 5 * time.Second
)

// watching is what this worker watches for homes: those that it had last, and that name
// files. While one is visited nothing is watched for it, so that no event is of that.
type watching struct {
	mu    sync.Mutex
	files *schedule.Watcher // nil: nobody asked for it
	homes map[string]*watched
}

type watched struct {
	paths  []string
	change schedule.Change
}

// Watch orders a wake of homes of which a watched file has changed, until ctx ends.
func (w *Worker) Watch(ctx context.Context) {
	files := schedule.NewWatcher()
	defer files.Close()
	w.watching.mu.Lock()
	w.watching.files, w.watching.homes = files, map[string]*watched{}
	w.watching.mu.Unlock()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for found, away := false, false; ; {
		select {
		case <-ctx.Done():
			return
		case name := <-files.Changes:
			w.watching.changed(name)
		case <-tick.C:
			files.Retry()
			err := w.changes(ctx)
			if err == nil && !found {
				err = w.find(ctx)
				found = err == nil
			}
			if tick.Reset(lookEvery); err != nil {
				tick.Reset(storeEvery)
			}
			if err != nil && !away {
				w.log("no change of watched files is told until the store answers: %s", text.Line(err.Error(), 500))
			}
			away = err != nil
		}
	}
}

// find watches for the homes whose folder here is the newest version.
func (w *Worker) find(ctx context.Context) error {
	homes, err := w.Store.Homes(ctx)
	for _, h := range homes {
		f := w.checkout(h.Name)
		if !f.Current(h.Version) {
			continue
		}
		if config, _ := disk.ReadSmall(f.Config(), 1<<20); !bytes.Contains(config, []byte("watch")) {
			continue // as most, of which none is opened
		}
		if s, err := w.open(f.Dir); err == nil {
			w.watching.found(h.Name, w.sees(f.Dir, s.Watched()))
		}
	}
	return err
}

// changes orders wakes for changes that are whole. It fails where the store cannot be used.
func (w *Worker) changes(ctx context.Context) error {
	for name, change := range w.watching.whole() {
		ctx, cancel := context.WithTimeout(ctx, storeEvery)
		over, err := w.change(ctx, name)
		cancel()
		if err != nil {
			return err
		}
		if over {
			w.watching.told(name, change)
		}
	}
	return nil
}

// change orders a wake, once, where the folder here is still the newest version and nobody has
// the home: else it is watched no more. It is not over while a visit of this worker's is.
func (w *Worker) change(ctx context.Context, name string) (over bool, err error) {
	h, here, err := w.had(ctx, name)
	if err != nil || !here {
		return false, err
	}
	orders, err := w.Store.Orders(ctx, h.ID)
	if err != nil || slices.ContainsFunc(orders, func(o store.Order) bool { return slices.Equal(o.Argv, []string{schedule.Watch}) }) {
		return err == nil, err
	}
	_, err = w.Store.Order(ctx, name, []string{schedule.Watch}, nil)
	return err == nil, err
}

// had says whether this worker had the home last, and forgets it otherwise.
func (w *Worker) had(ctx context.Context, name string) (h store.Home, here bool, err error) {
	unlock, err := w.lock(ctx, name)
	if errors.Is(err, disk.ErrHeld) {
		return h, false, nil
	}
	if err != nil {
		return h, false, err
	}
	defer unlock()
	h, err = w.Store.Home(ctx, name)
	switch {
	case err != nil && !errors.Is(err, store.ErrNone):
		return h, false, err
	case h.Holder == w.Name && h.Until != nil: // a visit was cut off, and another one comes
		return h, false, nil
	case err != nil || h.Holder != "" || w.unfit(h) || !w.checkout(name).Current(h.Version):
		w.watching.end(name, nil, true)
		return h, false, nil
	}
	return h, true, nil
}

// sees is what a home in a folder watches, but for what its tools see nothing of: a wake would
// tell when other homes are awake, and that a key was changed.
func (w *Worker) sees(dir string, paths []string) []string {
	dir = real(dir)
	return slices.DeleteFunc(paths, func(path string) bool {
		path = real(path)
		return !within(dir, path) && slices.ContainsFunc(w.hidden(), func(hidden string) bool { return within(real(hidden), path) })
	})
}

// real is a path without links, as far as there is anything.
func real(path string) string {
	is, err := filepath.EvalSymlinks(path)
	if dir := filepath.Dir(path); err != nil && dir != path {
		return filepath.Join(real(dir), filepath.Base(path))
	}
	return cmp.Or(is, path)
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func (w *Worker) checkout(name string) *checkout.Folder {
	return checkout.FolderOf(w.Store, name, w.Folder(name), w.Lost(name))
}

// begin watches nothing for a home that is visited, and gives what was watched.
func (w *watching) begin(name string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.files == nil {
		return nil
	}
	if w.homes[name] == nil {
		w.homes[name] = new(watched)
	}
	w.files.Set(name, nil)
	return w.homes[name].paths
}

// end watches paths for a home, whose cycle saw what changed before it.
func (w *watching) end(name string, paths []string, cycle bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.files == nil {
		return
	}
	is := &watched{paths: paths}
	if was := w.homes[name]; was != nil && !cycle {
		is.change = was.change
	}
	if w.files.Set(name, paths); len(paths) == 0 {
		delete(w.homes, name)
		return
	}
	w.homes[name] = is
}

// found is end for a home that nobody has visited.
func (w *watching) found(name string, paths []string) {
	w.mu.Lock()
	known := w.homes[name] != nil
	w.mu.Unlock()
	if !known {
		w.end(name, paths, true)
	}
}

func (w *watching) changed(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.homes[name]; h != nil {
		h.change.Add(time.Now())
	}
}

func (w *watching) whole() map[string]schedule.Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]schedule.Change{}
	for name, h := range w.homes {
		if h.change.Over(time.Now()) {
			all[name] = h.change
		}
	}
	return all
}

// told ends a change, unless more came to it.
func (w *watching) told(name string, change schedule.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.homes[name]; h != nil && h.change == change {
		h.change = schedule.Change{}
	}
}
