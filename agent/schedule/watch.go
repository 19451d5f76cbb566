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

// Change is one of the files that a home watches. The zero value is none.
type Change struct {
	began time.Time
	Whole time.Time // when it is taken for the whole change
}

// Add adds a change of a file to it.
func (c *Change) Add(now time.Time) {
	c.began = cmp.Or(c.began, now)
	c.Whole = earlier(now.Add(quiet), c.began.Add(settleMost))
}

// Over says that there is a change, and that it is whole.
func (c Change) Over(now time.Time) bool { return !c.Whole.IsZero() && !c.Whole.After(now) }

// change notes that a watched file of a home has changed. While the home itself
// is awake that says nothing: it may have changed the file.
func (s *Scheduler) change(dir string) {
	h := s.homes[dir]
	if h == nil || h.children > 0 {
		return
	}
	h.change.Add(s.now())
	s.plan(h)
}

// askIf asks for a wake where a change is whole.
func (s *Scheduler) askIf(h *sleeper, now time.Time) {
	if !h.change.Over(now) {
		return
	}
	h.change = Change{}
	if err := s.Ledger(h.dir).Ask(Watch, now); err != nil {
		s.Say(h.dir, err.Error())
	}
}

// Watcher tells which homes have a changed file. It watches folders, because
// many programs save a file by replacing it.
type Watcher struct {
	Changes chan string // homes; it waits until each is taken

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

// NewWatcher is one that watches nothing yet.
func NewWatcher() *Watcher {
	return &Watcher{
		Changes: make(chan string), done: make(chan struct{}),
		folders: map[string]map[wanted]bool{}, missing: map[string]bool{}, homes: map[string]bool{},
	}
}

// pass tells of changes until the watcher is closed.
func (w *Watcher) pass(events <-chan fsnotify.Event, errs <-chan error) {
	for {
		select {
		case <-w.done:
			return
		case <-errs: // the kernel dropped events; the next change comes through again
		case e := <-events:
			for _, home := range w.concerned(e) {
				select {
				case w.Changes <- home:
				case <-w.done:
					return
				}
			}
		}
	}
}

func (w *Watcher) concerned(e fsnotify.Event) (homes []string) {
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

// Set says what a home watches: files, and folders with what is directly in them.
func (w *Watcher) Set(home string, paths []string) {
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

func (w *Watcher) forget(home string) {
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

// Retry watches folders that were not there.
func (w *Watcher) Retry() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add()
}

func (w *Watcher) add() {
	for dir := range w.missing {
		if w.notify == nil {
			n, err := fsnotify.NewWatcher()
			if err != nil {
				return // out of descriptors; Retry does
			}
			w.notify = n
			go w.pass(n.Events, n.Errors)
		}
		if w.notify.Add(dir) == nil {
			delete(w.missing, dir)
		}
	}
}

// Close ends it.
func (w *Watcher) Close() {
	close(w.done)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.notify != nil {
		w.notify.Close()
	}
}
