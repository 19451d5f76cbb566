package setup

import (
	"context"
	"errors"
	"fmt"

	"rouse/agent"
	"rouse/agent/history"
	"rouse/agent/search"
	"rouse/internal/text"
	"rouse/scratchpad/observation"
	"rouse/tools"
	"rouse/tools/notebook"
)

// Kept is what a home has beside its memory and its logs.
type Kept struct {
	Observations int   `json:"observations"`
	Bytes        int64 `json:"bytes"` // of the observations, on the disk
	Notebooks    int   `json:"notebooks"`
	History      int64 `json:"history"` // bytes of the versions of the workspace
}

// Kept counts what the home has. A store that is not there yet is not opened.
func (s *Setup) Kept() (k Kept, err error) {
	m := notebook.Manager{Dir: s.Home.Notebooks()}
	names, err := m.Names()
	k.Notebooks, k.History = len(names), history.Store{Dir: s.Home.History()}.Size()
	store, opened := s.Store(false)
	if errors.Is(opened, ErrNoObservations) {
		return k, err
	}
	if opened != nil {
		return k, errors.Join(err, opened)
	}
	defer store.Close()
	var counted error
	k.Observations, k.Bytes, counted = store.Held()
	return k, errors.Join(err, counted)
}

// ErrNoObservations says that nothing was ever too large to be shown.
var ErrNoObservations = errors.New("there are no observations in this home yet")

// Store is that of the observations, if there is one; who only looks changes nothing in it.
func (s *Setup) Store(look bool) (*observation.Store, error) {
	if !observation.Exists(s.Home.Memory()) {
		return nil, ErrNoObservations
	}
	o := s.Observations()
	o.Look = look
	return observation.Open(s.Home.Memory(), o)
}

// Shared is what other homes of a fleet share with this one.
func (s *Setup) Shared() *observation.Shared {
	return &observation.Shared{Dir: s.Home.Memory(), Now: s.Now}
}

// Search finds what the home's cycles wrote and did.
func (s *Setup) Search() search.Index {
	return search.Index{Home: s.Home, Redact: s.Hidden(), Now: s.Now}
}

// recallBox has the tool that finds what left the memory, once something has.
func (s *Setup) recallBox(ctx context.Context, host agent.Host) agent.Box {
	if !host.Left {
		return agent.Box{}
	}
	if _, done, err := host.Tool(ctx, search.ToolName); err == nil { // a command of the operator's
		done()
		return agent.Box{}
	}
	return agent.Box{Tools: []tools.Tool{s.Search().Tool()}}
}

// String is it in words, "" where there is nothing.
func (k Kept) String() string {
	if k.Observations+k.Notebooks == 0 && k.History == 0 {
		return ""
	}
	said := fmt.Sprintf("%s, %d KiB; %s", text.Count(k.Observations, "observation"), (k.Bytes+1023)>>10, text.Count(k.Notebooks, "notebook"))
	if k.History > 0 {
		said += fmt.Sprintf("; history of the workspace, %d KiB", (k.History+1023)>>10)
	}
	return said
}
