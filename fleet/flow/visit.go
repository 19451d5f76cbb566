package flow

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// Waker visits homes. It is never called for one home twice at once.
type Waker interface {
	// Wake does what is due in a home, and says when to come again. A home that somebody else
	// holds for now is no error: it is due when that lease ends.
	Wake(ctx context.Context, home string) (Next, error)
}

// visit is one that runs.
type visit struct {
	done chan struct{}
	next Next
	err  error
}

// errFull sends a visit that came while there was no room to another worker.
var errFull = errors.New("this worker has as many homes awake as it may, or takes none for now")

// wake is the activity: one visit. It goes on when Temporal takes it for dead or is away, as
// the lease of the home, and not Temporal, says whose it is; where Temporal then asks for the same
// visit again, that is the one that runs.
func (w *Worker) wake(ctx context.Context, home string) (Next, error) {
	r, err := w.begin(home)
	if err != nil {
		return Next{}, temporal.NewApplicationErrorWithOptions(err.Error(), "", temporal.ApplicationErrorOptions{NextRetryDelay: time.Second})
	}
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		activity.RecordHeartbeat(ctx)
		select {
		case <-r.done:
			return r.next, r.err
		case <-tick.C:
		}
	}
}

// begin gives the visit of a home that runs, or one that it starts.
func (w *Worker) begin(home string) (*visit, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.running[home]; r != nil {
		return r, nil
	}
	if w.held.Load() || len(w.running) >= w.Homes {
		return nil, errFull
	}
	if w.running == nil {
		w.running = map[string]*visit{}
	}
	r := &visit{done: make(chan struct{})}
	w.running[home] = r
	go w.run(home, r)
	return r, nil
}

func (w *Worker) run(home string, r *visit) {
	began := time.Now()
	defer func() {
		if p := recover(); p != nil { // one home ends no worker: it would end the next one too
			r.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		w.Told(home, time.Since(began), r.err)
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.running, home)
		close(r.done)
	}()
	r.next, r.err = w.Waker.Wake(w.life, home)
}

// Awake says how many homes are.
func (w *Worker) Awake() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.running)
}
