package flow

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
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

// visits are those of one worker.
type visits struct {
	Waker
	life  context.Context // ends them: nothing that Temporal says does
	slots *slots
	told  func(home string, took time.Duration, err error)

	mu      sync.Mutex
	running map[string]*visit
}

// visit is one that runs.
type visit struct {
	done chan struct{}
	next Next
	err  error
}

// errFull sends a visit that came while all slots were taken to another worker.
var errFull = errors.New("this worker has as many homes awake as it may")

// Wake is the activity: one visit. It goes on when Temporal takes it for dead or is away, as
// the lease of the home, and not Temporal, says whose it is; where Temporal then asks for the same
// visit again, that is the one that runs.
func (v *visits) Wake(ctx context.Context, home string) (Next, error) {
	r, err := v.begin(home)
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
func (v *visits) begin(home string) (*visit, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if r := v.running[home]; r != nil {
		return r, nil
	}
	if len(v.running) >= v.slots.max {
		return nil, errFull
	}
	r := &visit{done: make(chan struct{})}
	v.running[home] = r
	go v.run(home, r)
	return r, nil
}

func (v *visits) run(home string, r *visit) {
	began := time.Now()
	defer func() {
		if p := recover(); p != nil { // one home ends no worker: it would end the next one too
			r.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		v.told(home, time.Since(began), r.err)
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.running, home)
		close(r.done)
	}()
	r.next, r.err = v.Waker.Wake(v.life, home)
}

// awake says how many homes are.
func (v *visits) awake() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.running)
}
