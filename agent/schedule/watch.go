package schedule

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A change of watched files is taken for whole when nothing has changed for
// quiet, or after settleMost.
const (
	quiet      = time.Second
	settleMost = 10 * time.Second
)

// change notes that a watched file of a home has changed. While the home itself
// is awake that says nothing: it may have changed the file.
func (s *Scheduler) change(dir string) {
	h := s.homes[dir]
	if h == nil || h.children > 0 {
		return
	}
	now := s.now()
	h.changed = cmp.Or(h.changed, now)
	h.settles = earlier(now.Add(quiet), h.changed.Add(settleMost))
	s.plan(h)
}

// askIf asks for a wake where a change is whole.
func (s *Scheduler) askIf(h *sleeper, now time.Time) {
	if h.settles.IsZero() || h.settles.After(now) {
		return
	}
	h.changed, h.settles = time.Time{}, time.Time{}
	if err := s.Ledger(h.dir).Ask(Watch, now); err != nil {
		s.Say(h.dir, err.Error())
	}
}

// watcher tells which homes have a changed file. It watches folders, because
// many programs save a file by replacing it.
type watcher struct {
	changes chan string // homes

	done   chan struct{}
	notify *fsnotify.Watcher // made when a folder is there to be watched
	mu     sync.Mutex
	homes  map[string]bool // those that watch anything
	// folders are, for each watched folder, the homes and the names in it that
	// they want to know of; "" is every name.
	folders map[string]map[wanted]bool
	missing map[string]bool // folders that could not be watched yet
}

type wanted struct{ home, name string }

func newWatcher() *watcher {
	return &watcher{
		changes: make(chan string), done: make(chan struct{}),
		folders: map[string]map[wanted]bool{}, missing: map[string]bool{}, homes: map[string]bool{},
	}
}

// pass tells of changes until the watcher is closed.
func (w *watcher) pass(events <-chan fsnotify.Event, errs <-chan error) {
	for {
		select {
		case <-w.done:
			return
		case <-errs: // the kernel dropped events; the next change comes through again
		case e := <-events:
			for _, home := range w.concerned(e) {
				select {
				case w.changes <- home:
				case <-w.done:
					return
				}
			}
		}
	}
}

func (w *watcher) concerned(e fsnotify.Event) (homes []string) {
	if e.Op == fsnotify.Chmod {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) && w.folders[e.Name] != nil {
		w.missing[e.Name] = true // it may come again
	}
	dir, name := filepath.Split(e.Name)
	for want := range w.folders[filepath.Clean(dir)] {
		if want.name == "" || want.name == name {
			homes = append(homes, want.home)
		}
	}
	return homes
}

// set says what a home watches: files, and folders with what is directly in them.
func (w *watcher) set(home string, paths []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.homes[home] {
		w.forget(home)
	}
	if len(paths) == 0 {
		return
	}
	w.homes[home] = true
	for _, path := range paths {
		dir, want := filepath.Dir(path), wanted{home, filepath.Base(path)}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			dir, want.name = path, ""
		}
		if w.folders[dir] == nil {
			w.folders[dir], w.missing[dir] = map[wanted]bool{}, true
		}
		w.folders[dir][want] = true
	}
	w.add()
}

func (w *watcher) forget(home string) {
	delete(w.homes, home)
	for dir, wants := range w.folders {
		maps.DeleteFunc(wants, func(w wanted, _ bool) bool { return w.home == home })
		if len(wants) == 0 {
			if w.notify != nil {
				_ = w.notify.Remove(dir)
			}
			delete(w.folders, dir)
			delete(w.missing, dir)
		}
	}
}

// retry watches folders that were not there.
func (w *watcher) retry() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add()
}

func (w *watcher) add() {
	for dir := range w.missing {
		if w.notify == nil {
			n, err := fsnotify.NewWatcher()
			if err != nil {
				return // out of descriptors; retry tries again
			}
			w.notify = n
			go w.pass(n.Events, n.Errors)
		}
		if w.notify.Add(dir) == nil {
			delete(w.missing, dir)
		}
	}
}

func (w *watcher) close() {
	close(w.done)
	if w.notify != nil {
		w.notify.Close()
	}
}
