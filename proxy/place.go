package proxy

import (
	"context"
	"time"

	"rouse/internal/proc"
	"rouse/scratchpad/observation"
)

// Place is a proxy's place in a home's store, which is opened when something is put
// there.
type Place struct {
	Dir, ID string
	Options observation.Options

	store *observation.Store
	turn  *observation.Turn
}

// Open opens the store and begins the proxy's turn in it.
func (t *Place) Open() (*observation.Turn, error) {
	due := observation.Due(t.Dir, t.Options.TTL, t.Options.Now())
	s, err := observation.Open(t.Dir, t.Options)
	if err != nil {
		return nil, err
	}
	t.store = s
	if due {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_, _ = s.GC(ctx) // what is left is collected another time
	}
	t.turn, err = s.Begin(t.ID, proc.Self())
	return t.turn, err
}

// Close ends the turn. One that cannot be ended is ended by another process,
// which sees that ours is gone.
func (t *Place) Close() {
	if t.turn != nil {
		_ = t.turn.EndFor(0) // no cycle's retention
	}
	if t.store != nil {
		_ = t.store.Close()
	}
}
