package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"rouse/tools/notebook/wire"
)

const (
	// maxWaiting is how many jobs of a notebook may wait or run.
	maxWaiting = 32
	// maxEarly is how many jobs of a tenant are remembered that were canceled
	// before they came.
	maxEarly = 64
)

// early is a job that was canceled before it came.
type early struct {
	at place
	id string
}

// folder is where a notebook lies, if it does.
func (s *Server) folder(at place) string { return filepath.Join(s.Dir, at.tenant, at.name) }

// errCanceled says that a job was canceled before it came.
var errCanceled = errors.New("canceled before it came")

// job finds the job that a client asks for, or begins it. Both are nil where there
// is nothing to do: the notebook that is to be closed, reset or removed is none.
func (s *Server) job(at place, action string, want wire.Job) (*job, error) {
	s.begins.Lock()
	defer s.begins.Unlock()
	if j, err := s.find(at).job(want.ID); j != nil || err != nil {
		return j, err
	}
	if s.canceled(at, want.ID) {
		return nil, errCanceled
	}
	isNew, err := s.isNew(at)
	if err != nil || isNew && !makes(action) {
		return nil, err
	}
	if err := s.admit(at, isNew); err != nil {
		return nil, err
	}
	n, err := s.entry(at)
	if err != nil {
		return nil, err
	}
	return n.begin(action, want)
}

// makes says whether an action may make a notebook.
func makes(action string) bool {
	return !slices.Contains([]string{wire.Close, wire.Reset, wire.Remove}, action)
}

func (s *Server) isNew(at place) (bool, error) {
	_, err := os.Lstat(s.folder(at))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// admit says whether a tenant may use one more notebook. Of those that are closed
// the events that nobody asked for longest are let go, where they are many.
func (s *Server) admit(at place, isNew bool) error {
	open, closed := s.others(at)
	if len(open) >= s.MaxNotebooks {
		return fmt.Errorf("%w: %d; remove one, or wait until it is closed", errMany, len(open))
	}
	if len(closed) >= s.MaxNotebooks && !slices.ContainsFunc(closed, (*entry).letGo) {
		return fmt.Errorf("%w: the events of %d that are closed are still read", errMany, len(closed))
	}
	if !isNew {
		return nil
	}
	kept, err := os.ReadDir(filepath.Join(s.Dir, at.tenant))
	if err == nil && len(kept) >= s.MaxKept {
		return fmt.Errorf("%w: %d; remove one", errKept, len(kept))
	}
	return nil
}

// others are a tenant's other notebooks that are open, and those that are closed
// and have events, the longest unused first.
func (s *Server) others(than place) (open, closed []*entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, n := range s.open {
		if at.tenant != than.tenant || at == than {
			continue
		}
		switch held, events := n.has(); {
		case held:
			open = append(open, n)
		case events:
			closed = append(closed, n)
		}
	}
	slices.SortFunc(closed, func(a, b *entry) int { return a.lastUse().Compare(b.lastUse()) })
	return open, closed
}

// interrupt cancels a job of a notebook, or all; one that has not come yet will
// not begin.
func (s *Server) interrupt(at place, id string) {
	s.begins.Lock() // so that it comes before or after
	defer s.begins.Unlock()
	n := s.find(at)
	if n != nil {
		n.interrupt(id)
	}
	if j, err := n.job(id); id != "" && j == nil && err == nil {
		s.cancelEarly(at, id)
	}
}

// canceled says whether a job was canceled before it came.
func (s *Server) canceled(at place, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.early, early{at, id})
}

// cancelEarly remembers a job that was canceled. That makes no notebook, and of
// one tenant only the latest are remembered.
func (s *Server) cancelEarly(at place, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.early = append(s.early, early{at, id})
	own := func(e early) bool { return e.at.tenant == at.tenant }
	count := 0
	for _, e := range s.early {
		if own(e) {
			count++
		}
	}
	if i := slices.IndexFunc(s.early, own); count > maxEarly {
		s.early = slices.Delete(s.early, i, i+1)
	}
}
