package schedule

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rouse/internal/disk"
	"rouse/internal/proc"
)

// house is a folder of homes, woken by a Scheduler whose children are goroutines.
type house struct {
	*Scheduler
	t      *testing.T
	root   string
	shift  atomic.Int64 // of the wall clock, in nanoseconds
	takes  func(home string) time.Duration
	mu     sync.Mutex
	alive  map[int]bool
	pid    int
	cycles []string
	said   []string
}

func newHouse(t *testing.T, homes map[string]string) *house {
	h := &house{t: t, root: t.TempDir(), alive: map[int]bool{}, takes: func(string) time.Duration { return time.Second }}
	for name, cron := range homes {
		h.write(name, cron)
	}
	h.Scheduler = &Scheduler{
		Homes:  func() ([]string, error) { return homesIn(h.root) },
		Config: func(home string) string { return filepath.Join(home, "rouse.yaml") },
		Load: func(home string) (Plan, error) {
			data, err := os.ReadFile(filepath.Join(home, "rouse.yaml"))
			if err != nil {
				return Plan{}, err
			}
			e, err := New(string(data))
			plan := Plan{Entries: List{e}}
			if inbox := filepath.Join(home, "inbox"); disk.StampOf(inbox) != (disk.Stamp{}) { // none in a bubble: its clock waits for fsnotify
				plan.Watch = []string{inbox}
			}
			return plan, err
		},
		Ledger: func(home string) *Ledger { return h.ledger(home, 0) },
		Wake:   h.wake,
		Limit:  2,
		Say:    func(home, text string) { h.said = append(h.said, filepath.Base(home)+": "+text) },
		Now:    h.clock,
	}
	return h
}

func (h *house) clock() time.Time { return time.Now().Add(time.Duration(h.shift.Load())) }

func (h *house) write(name, cron string) {
	h.t.Helper()
	dir := filepath.Join(h.root, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := disk.Replace(unsynced{}, filepath.Join(dir, "rouse.yaml"), []byte(cron), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) ledger(home string, pid int) *Ledger {
	return &Ledger{
		Path: filepath.Join(home, "logs", "ledger.jsonl"), Disk: unsynced{}, Now: h.clock, Since: h.clock(), self: proc.Identity{PID: pid},
		alive: func(id proc.Identity) bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.alive[id.PID]
		},
	}
}

// wake is `rouse run --due` in a home.
func (h *house) wake(ctx context.Context, home string) {
	h.mu.Lock()
	h.pid++
	pid := h.pid
	h.alive[pid] = true
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.alive, pid)
		h.mu.Unlock()
	}()
	plan, _ := h.Load(home)
	a, err := h.ledger(home, pid).Due(plan.Entries, nil)
	if err != nil {
		h.t.Error(err)
	}
	if a == nil {
		return
	}
	h.mu.Lock()
	h.cycles = append(h.cycles, fmt.Sprintf("%s %s %s", filepath.Base(home), a.Time.UTC().Format("15:04:05"), a.As))
	h.mu.Unlock()
	took := h.takes(home)
	if took < 0 {
		return // killed
	}
	select {
	case <-time.After(took):
	case <-ctx.Done():
	}
	if err := a.Settle(Result{Cycle: "c"}); err != nil {
		h.t.Error(err)
	}
}

// live runs the scheduler for a time of the bubble, which begins at midnight.
func (h *house) live(d time.Duration, during func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- h.Run(ctx) }()
	if during != nil {
		during()
	}
	time.AfterFunc(d, cancel)
	if err := <-done; err != nil {
		h.t.Error(err)
	}
}

func (h *house) want(cycles ...string) {
	h.t.Helper()
	slices.Sort(h.cycles)
	slices.Sort(cycles)
	if !slices.Equal(h.cycles, cycles) {
		h.t.Errorf("cycles %q, want %q; %q", h.cycles, cycles, h.said)
	}
}

func after(d time.Duration) { <-time.After(d) }

func TestScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a": "*/10 * * * *", "b": "*/20 * * * * *"})
		h.live(61*time.Second, nil)
		h.want("b 00:00:20 ran", "b 00:00:40 ran", "b 00:01:00 ran")
	})
}

func TestSchedulerOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a": "* * * * *"})
		h.takes = func(string) time.Duration { return 150 * time.Second }
		h.live(270*time.Second, nil)
		h.want("a 00:01:00 ran", "a 00:04:00 ran")
		d := &desk{t: t, Ledger: h.ledger(filepath.Join(h.root, "a"), 0)}
		d.want(d.ends(), "00:01 ran, 00:02 skipped overlap, 00:03 skipped overlap, 00:04 ran")
	})
}

func TestSchedulerKilledChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a": "* * * * *"})
		h.takes = func(string) time.Duration { return -1 }
		h.live(150*time.Second, nil)
		h.want("a 00:01:00 ran", "a 00:02:00 ran")
		d := &desk{t: t, Ledger: h.ledger(filepath.Join(h.root, "a"), 0)}
		d.want(d.ends(), "00:01 unknown, 00:02 unknown")
	})
}

func TestSchedulerLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a": "* * * * *", "b": "* * * * *", "c": "* * * * *", "d": "* * * * *", "e": "* * * * *"})
		h.takes = func(string) time.Duration { return 5 * time.Second }
		h.live(30*time.Second, func() {
			after(61 * time.Second)
			if h.mu.Lock(); len(h.cycles) != 2 {
				t.Errorf("%d homes are awake at once", len(h.cycles))
			}
			h.mu.Unlock()
		})
		if len(h.cycles) != 5 {
			t.Errorf("cycles %q", h.cycles)
		}
	})
}

func TestSchedulerReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a": "0 12 * * *"})
		h.live(331*time.Second, func() {
			after(30*time.Second + time.Millisecond)
			h.write("a", "bad")
			after(30 * time.Second)
			h.write("a", "*/2 * * * *")
			h.write("new", "*/3 * * * *")
			after(3 * time.Minute)
		})
		h.want("a 00:02:00 ran", "new 00:03:00 ran", "a 00:04:00 ran", "a 00:06:00 ran", "new 00:06:00 ran", "a 00:08:00 ran", "new 00:09:00 ran")
		if len(h.said) != 2 {
			t.Errorf("said %q", h.said)
		}
	})
}

// A home that was mended is woken at once for the slot that it missed, whichever file
// was mended, and however long its children had found nothing that they could do.
func TestSchedulerMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a": "*/20 * * * *", "b": "*/20 * * * *"})
		dotenv, load, wake, broken := filepath.Join(h.root, "a", ".env"), h.Load, h.Scheduler.Wake, true
		h.Load = func(home string) (Plan, error) {
			if _, err := os.Stat(filepath.Join(home, ".env")); err == nil {
				return Plan{}, errors.New(".env: line 1: what is that?")
			}
			return load(home)
		}
		h.Scheduler.Wake = func(ctx context.Context, home string) {
			if !broken { // else it ends with 2, and the ledger is as it was
				wake(ctx, home)
			}
		}
		h.live(4*time.Second, func() {
			after(10 * time.Minute)
			if err := os.WriteFile(dotenv, nil, 0o600); err != nil {
				t.Error(err)
			}
			h.write("a", "*/20  * * * *")
			after(15*time.Minute + time.Second)
			broken = false
			h.write("b", "*/20  * * * *")
			if err := os.Remove(dotenv); err != nil {
				t.Error(err)
			}
		})
		h.want("a 00:20:00 late", "b 00:20:00 late")
	})
}

// TestSchedulerClock suspends the machine and sets its clock forward and back.
func TestSchedulerClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a": "*/30 * * * *"})
		h.live(time.Minute, func() {
			after(30*time.Minute + 5*time.Second)
			h.shift.Store(int64(9 * time.Hour))
			after(10 * time.Second)
			h.shift.Store(0)
			after(30 * time.Minute)
		})
		h.want("a 00:30:00 ran", "a 09:30:00 ran", "a 01:00:00 ran")
	})
}

// TestSchedulerWatch has a file changed: one wake for many changes, none for what
// the home changes itself.
func TestSchedulerWatch(t *testing.T) {
	h := newHouse(t, map[string]string{"a": "0 0 29 2 *"})
	inbox := filepath.Join(h.root, "a", "inbox")
	if err := os.Mkdir(inbox, 0o700); err != nil {
		t.Fatal(err)
	}
	woken := make(chan string, 10)
	h.takes = func(home string) time.Duration {
		woken <- home
		return time.Millisecond
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- h.Run(ctx) }()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for i, woke := 0, false; !woke; i++ {
		select {
		case <-woken:
			woke = true
		case <-tick.C:
			if i > 10 && i < 400 { // enough: now it may settle
				continue
			}
			if err := os.WriteFile(filepath.Join(inbox, "mail"), fmt.Append(nil, i), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if len(h.cycles) != 1 {
		t.Errorf("cycles %q", h.cycles)
	}
}

// BenchmarkAsleep keeps ten thousand homes asleep and reports what that costs.
func BenchmarkAsleep(b *testing.B) {
	root := b.TempDir()
	for i := range 10_000 {
		dir := filepath.Join(root, fmt.Sprint(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "rouse.yaml"), nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	s := &Scheduler{
		Homes:  func() ([]string, error) { return homesIn(root) },
		Config: func(home string) string { return filepath.Join(home, "rouse.yaml") },
		Load: func(home string) (Plan, error) {
			e, err := New("0 0 29 2 *")
			return Plan{Entries: List{e}}, err
		},
		Ledger: func(home string) *Ledger {
			return &Ledger{Path: filepath.Join(home, "logs", "ledger.jsonl"), Disk: unsynced{}}
		},
		Wake: func(context.Context, string) {}, Say: func(home, text string) { b.Error(home, text) },
	}
	s.homes, s.ended, s.watcher = map[string]*sleeper{}, make(chan *sleeper), NewWatcher()
	if err := s.find(); err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for b.Loop() {
		s.look(false)
	}
	b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB-heap")
	b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-sys")
}

// homesIn takes each folder with a rouse.yaml for a home.
func homesIn(root string) (homes []string, err error) {
	files, err := filepath.Glob(filepath.Join(root, "*", "rouse.yaml"))
	for _, f := range files {
		homes = append(homes, filepath.Dir(f))
	}
	return homes, err
}
