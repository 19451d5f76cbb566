package notebook

import (
	"context"
	"sync"
)

// Turns lets the methods of a [Runtime] take turns, and ends the one that works.
// The zero value is ready.
type Turns struct {
	working sync.Mutex // held by whatever method works

	mu     sync.Mutex
	cancel context.CancelFunc // ends the method that works; nil if none does
}

// Begin begins a method when no other one works. It works in the context that it
// is given until it calls done.
func (t *Turns) Begin(ctx context.Context) (work context.Context, done func()) {
	t.working.Lock()
	work, cancel := context.WithCancel(ctx)
	t.set(cancel)
	return work, func() {
		t.set(nil)
		cancel()
		t.working.Unlock()
	}
}

func (t *Turns) set(cancel context.CancelFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cancel = cancel
}

// Cancel ends the context of the method that works, if one does. It does not wait.
func (t *Turns) Cancel() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		t.cancel()
	}
}
