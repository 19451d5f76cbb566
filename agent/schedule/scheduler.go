package schedule

import (
	"cmp"
	"context"
	"slices"
	"time"

	"rouse/internal/clock"
	"rouse/internal/disk"
)

// Plan is what a [Scheduler] must know of a home.
type Plan struct {
	Entries List
	Watch   []string // absolute paths of files and folders
	// Also is when the home is to be woken beside that, zero for never; nil is never, too.
	Also func() time.Time
}

// Scheduler wakes any number of homes in time. It sleeps until the next slot of
// any of them; every few seconds it looks for changed files and a changed clock.
// It decides nothing: what is due, and whether it runs, is for the [Ledger] of
// the home to say, in the process that Wake starts.
type Scheduler struct {
	// Homes lists the homes' folders; it is asked again every minute.
	Homes func() ([]string, error)
	// Load reads a home's configuration, the file Config.
	Load   func(home string) (Plan, error)
	Config func(home string) string
	Ledger func(home string) *Ledger
	// Wake runs `rouse run --due` in a home and returns when it has ended.
	Wake func(ctx context.Context, home string)
	// Limit is how many homes may be awake at once.
	Limit int
	// Say tells the operator something about a home.
	Say func(home, text string)
	// Now is the wall clock; nil is time.Now.
	Now func() time.Time

	homes   map[string]*sleeper
	queue   []*sleeper // due, but Limit homes are awake
	awake   int
	ended   chan *sleeper
	watcher *Watcher
}

// sleeper is one home.
type sleeper struct {
	dir    string
	plan   Plan
	due    time.Time // zero: never, as far as we know
	config disk.Stamp
	ledger disk.Stamp
	before disk.Stamp // the ledger when the first of the children was started
	// children are the processes that run in the home: the one that is awake, and
	// one that looks what a slot is to become meanwhile.
	children int
	queued   bool
	broken   string        // why rouse.yaml cannot be read
	pause    time.Duration // after a child that did nothing
	change   Change        // of what it watches
}

// Intervals of the scheduler.
const (
	lookEvery  = 2 * time.Second // and a second more for each 500 homes
	homesEvery = time.Minute
	firstPause = 30 * time.Second // after a child that did not do what was due
	lastPause  = 10 * time.Minute
)

// Run wakes homes until ctx ends, and then waits for those that are awake.
func (s *Scheduler) Run(ctx context.Context) error {
	s.homes, s.ended, s.watcher = map[string]*sleeper{}, make(chan *sleeper), NewWatcher()
	defer s.watcher.Close()
	if err := s.find(); err != nil {
		return err
	}
	s.loop(ctx)
	for _, h := range s.homes {
		for ; h.children > 0; h.children-- {
			<-s.ended
		}
	}
	return nil
}

func (s *Scheduler) loop(ctx context.Context) {
	looked, found, clock := time.Now(), time.Now(), s.now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		s.start(ctx)
		timer.Reset(s.pauseLength())
		select {
		case <-ctx.Done():
			return
		case h := <-s.ended:
			s.end(h)
		case dir := <-s.watcher.Changes:
			s.change(dir)
		case <-timer.C:
		}
		if time.Since(looked) >= s.lookEvery() {
			jump := s.now().Sub(clock) - time.Since(looked)
			s.look(jump.Abs() > time.Second)
			looked, clock = time.Now(), s.now()
		}
		if time.Since(found) >= homesEvery {
			if err := s.find(); err != nil {
				s.Say("", err.Error())
			}
			found = time.Now()
		}
	}
}

func (s *Scheduler) now() time.Time { return clock.Now(s.Now).Round(0) }

func (s *Scheduler) lookEvery() time.Duration {
	return lookEvery + time.Duration(len(s.homes)/500)*time.Second
}

// pauseLength is how long to sleep: until the next slot, but no longer than until
// the next look.
func (s *Scheduler) pauseLength() time.Duration {
	pause, now := s.lookEvery(), s.now()
	for _, h := range s.homes {
		if !h.due.IsZero() {
			pause = min(pause, h.due.Sub(now))
		}
	}
	return max(pause, 0)
}

// find takes homes in that are new, and lets those go that are gone.
func (s *Scheduler) find() error {
	dirs, err := s.Homes()
	if err != nil {
		return err
	}
	known := make(map[string]bool, len(dirs))
	for _, dir := range dirs {
		known[dir] = true
		if s.homes[dir] == nil {
			h := &sleeper{dir: dir}
			s.homes[dir] = h
			s.load(h)
			if err := s.Ledger(dir).Begin(h.plan.Entries); err != nil {
				s.Say(dir, err.Error())
			}
			s.plan(h)
		}
	}
	for dir, h := range s.homes {
		if !known[dir] && h.children == 0 {
			s.queue = slices.DeleteFunc(s.queue, func(q *sleeper) bool { return q == h })
			s.watcher.Set(dir, nil)
			delete(s.homes, dir)
		}
	}
	return nil
}

// load reads a home's plan. One that cannot be read wakes nothing until it is mended.
func (s *Scheduler) load(h *sleeper) {
	h.config = disk.StampOf(s.Config(h.dir))
	plan, err := s.Load(h.dir)
	switch {
	case err == nil:
		if h.broken != "" {
			s.Say(h.dir, "rouse.yaml is mended")
		}
		h.plan, h.broken = plan, ""
		s.watcher.Set(h.dir, plan.Watch)
	case err.Error() != h.broken:
		h.broken = err.Error()
		s.Say(h.dir, h.broken+"; the home is not woken until that is mended")
	}
}

// plan finds out when the home is due.
func (s *Scheduler) plan(h *sleeper) {
	l := s.Ledger(h.dir)
	h.ledger = disk.StampOf(l.Path)
	if h.due = (time.Time{}); h.broken != "" {
		return
	}
	due, err := l.NextDue(h.plan.Entries)
	if err != nil {
		s.Say(h.dir, err.Error())
		due = s.now().Add(lastPause)
	}
	if also := h.plan.Also; also != nil {
		if at := also(); !at.IsZero() {
			due = earlier(cmp.Or(due, at), at)
		}
	}
	if soonest := s.now().Add(h.pause); h.pause > 0 && !due.IsZero() {
		due = later(due, soonest)
	}
	if whole := h.change.Whole; !whole.IsZero() {
		due = earlier(cmp.Or(due, whole), whole)
	}
	h.due = due
}

// look reads again what has changed; after a jump of the clock, everything.
func (s *Scheduler) look(jumped bool) {
	for _, h := range s.homes {
		if now := disk.StampOf(s.Config(h.dir)); now != h.config || h.broken != "" { // another file may be to be mended
			s.load(h)
			h.pause = 0
			s.plan(h)
		} else if jumped || disk.StampOf(s.Ledger(h.dir).Path) != h.ledger {
			h.pause = 0
			s.plan(h)
		}
	}
	s.watcher.Retry()
}

// start wakes the homes that are due, as far as the limit allows.
func (s *Scheduler) start(ctx context.Context) {
	now := s.now()
	for _, h := range s.due(now) {
		h.due = time.Time{}
		s.askIf(h, now)
		if h.children < 2 && !h.queued {
			h.queued = true
			s.queue = append(s.queue, h)
		}
	}
	var later []*sleeper
	for _, h := range s.queue {
		if h.children == 0 && s.awake >= max(s.Limit, 1) {
			later = append(later, h)
			continue
		}
		s.wake(ctx, h)
	}
	s.queue = later
}

// due are the homes that are due, the one that has been so for longest first.
func (s *Scheduler) due(now time.Time) (list []*sleeper) {
	for _, h := range s.homes {
		if !h.due.IsZero() && !h.due.After(now) {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b *sleeper) int { return a.due.Compare(b.due) })
	return list
}

func (s *Scheduler) wake(ctx context.Context, h *sleeper) {
	if h.queued = false; h.children == 0 {
		h.before = disk.StampOf(s.Ledger(h.dir).Path)
		s.awake++
	}
	h.children++
	go func() {
		s.Wake(ctx, h.dir)
		s.ended <- h
	}()
}

// end takes note of a child that has ended.
func (s *Scheduler) end(h *sleeper) {
	if h.children--; h.children == 0 {
		s.awake--
	}
	if disk.StampOf(s.Ledger(h.dir).Path) == h.before && h.children == 0 {
		h.pause = min(max(2*h.pause, firstPause), lastPause)
	} else {
		h.pause = 0
	}
	s.plan(h)
}
