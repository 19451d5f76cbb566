package agent

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad/observation"
)

// gcTime bounds how long a cycle collects observations that have expired.
const gcTime = 2 * time.Second

// shelf is the cycle's place in the store of observations, which is opened when
// something is put there, was kept there, or is to be collected. Nothing that
// goes wrong with the store fails the cycle. A nil one keeps nothing.
type shelf struct {
	dir   string
	opt   observation.Options
	store *observation.Store // once it is open
	turn  func() (*observation.Turn, error)
	stay  time.Duration // how long people may read what the cycle leaves there
}

func newShelf(dir, cycle string, o observation.Options, j *journal.Writer) *shelf {
	o.Say = func(text string) { _ = j.Append(&journal.Warning{Text: text}) } // a journal that cannot be written is met again at once
	s := &shelf{dir: dir, opt: o, stay: o.Stay}
	s.turn = sync.OnceValues(func() (*observation.Turn, error) { return s.open(cycle) })
	return s
}

// open opens the store, begins the cycle's turn there, and collects what has
// expired, for a bounded time.
func (s *shelf) open(cycle string) (*observation.Turn, error) {
	store, err := observation.Open(s.dir, s.opt)
	if err != nil {
		return nil, err
	}
	s.store = store
	turn, err := store.Begin(cycle, proc.Self())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), gcTime)
	defer cancel()
	// What is left is collected another time.
	_, _ = store.GC(ctx)
	return turn, nil
}

// opener is what opens the store.
func (s *shelf) opener() func() (*observation.Turn, error) {
	if s == nil {
		return nil
	}
	return s.turn
}

// memory is the folder of the store.
func (s *shelf) memory() string {
	if s == nil {
		return ""
	}
	return s.dir
}

// collect opens the store where that is due for what has expired there.
func (s *shelf) collect(now time.Time) {
	if observation.Due(s.dir, s.opt.TTL, now) {
		// A store that cannot be opened is met again when something is put there.
		_, _ = s.turn()
	}
}

// kept is what earlier cycles kept.
func (s *shelf) kept() []observation.Entry {
	if !observation.HasKept(s.dir) {
		return nil
	}
	turn, err := s.turn()
	if err != nil {
		return nil
	}
	entries, err := turn.Kept()
	if err != nil {
		return nil
	}
	return entries
}

// previewKept is what a cycle would find kept.
func (a *Agent) previewKept() string {
	if dir := a.Home.Memory(); observation.HasKept(dir) {
		store, err := observation.Open(dir, a.Observations)
		if err != nil {
			return ""
		}
		defer store.Close()
		if entries, err := store.List(observation.Filter{Kept: true}); err == nil {
			return a.keptText(entries)
		}
	}
	return ""
}

// keptText is a list of what is kept, one a line, without secrets in the labels
// before these are cut.
func (a *Agent) keptText(entries []observation.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		label := a.Sources.Kept([]observation.Entry{e}).Outside().Line(text.Line(a.Redact.String(e.Label), 200))
		fmt.Fprintf(&b, "- %s: %s, %d bytes, %s old\n", e.ID, label, e.Bytes, a.now().Sub(e.Created).Round(time.Second))
	}
	return b.String()
}

// close ends the cycle's use of the store. A turn that cannot be ended is ended
// by a later cycle, which sees that its process is gone.
func (s *shelf) close() {
	if s.store == nil {
		return
	}
	if turn, err := s.turn(); err == nil {
		_ = turn.EndFor(s.stay)
	}
	_ = s.store.Close()
}
