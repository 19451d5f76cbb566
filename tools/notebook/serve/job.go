package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"rouse/tools/notebook"
	"rouse/tools/notebook/wire"
)

// job is one thing that a client asked for. It goes on while the connection is
// lost, and ends if nobody asks for it for too long.
type job struct {
	action string
	want   wire.Job
	stream *stream
	ctx    context.Context
	cancel context.CancelFunc

	mu        sync.Mutex
	listeners int
	heard     bool        // somebody listened
	orphan    *time.Timer // cancels the job
	asked     int
	asks      map[int]chan wire.Answer
}

// listen counts one who follows the stream, until the function that it returns
// is called.
func (j *job) listen(grace time.Duration) func() {
	count := func(by int) {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.orphan != nil {
			j.orphan.Stop()
		}
		j.heard = true
		if j.listeners += by; j.listeners == 0 {
			j.orphan = time.AfterFunc(grace, j.cancel)
		}
	}
	count(1)
	return func() { count(-1) }
}

func (j *job) ended() bool {
	_, _, ended, _ := j.stream.state()
	return ended
}

// idle says that the job has ended and that nobody reads how any more.
func (j *job) idle() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.heard && j.listeners == 0 && j.ended()
}

// drop lets go of all that a job has.
func (j *job) drop() {
	j.cancel()
	j.mu.Lock()
	if j.orphan != nil {
		j.orphan.Stop()
	}
	j.mu.Unlock()
	j.stream.close()
}

// ask asks the client's model, and waits for the answer.
func (j *job) ask(ctx context.Context, q notebook.Question) (wire.Answer, error) {
	answer := make(chan wire.Answer, 1)
	j.mu.Lock()
	j.asked++
	a := wire.Ask{Number: j.asked, Question: q}
	if j.asks == nil {
		j.asks = map[int]chan wire.Answer{}
	}
	j.asks[a.Number] = answer
	j.mu.Unlock()
	defer func() {
		j.mu.Lock()
		delete(j.asks, a.Number)
		j.mu.Unlock()
	}()
	if err := j.stream.add(wire.EventAsk, a); err != nil {
		return wire.Answer{}, err
	}
	select {
	case got := <-answer:
		if got.Error != "" {
			return got, errors.New(got.Error)
		}
		return got, nil
	case <-ctx.Done():
		return wire.Answer{}, ctx.Err()
	}
}

// answer gives an answer to who asked; who is answered already does not wait.
func (j *job) answer(number int, a wire.Answer) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if to := j.asks[number]; to != nil {
		to <- a
		delete(j.asks, number)
	}
}

// run does what is asked for, in its turn, and ends the stream.
func (n *entry) run(j *job) {
	defer j.cancel()
	n.turn.Lock()
	defer n.turn.Unlock()
	n.use(j)
	defer n.use(nil)
	if j.ctx.Err() != nil && j.action != wire.Close {
		j.stream.end(wire.EventCell, canceled)
		return
	}
	if j.action == wire.Execute {
		n.execute(j)
		return
	}
	var done wire.Done
	if err := n.do(j); err != nil {
		done.Error = err.Error()
	}
	j.stream.end(wire.EventDone, done)
}

// canceled ends a job that was canceled before it began.
var canceled = notebook.Outcome{Ended: notebook.Canceled, Error: "Cell canceled before it began"}

// do does a job that is no cell.
func (n *entry) do(j *job) error {
	if j.action == wire.Close {
		return n.closeFor(j)
	}
	if j.action == wire.Start {
		if err := n.settle(j.ctx, j.want); err != nil {
			return err
		}
	}
	r, err := n.ready()
	if err != nil {
		return err
	}
	switch j.action {
	case wire.Start:
		return r.Start(j.ctx)
	case wire.Install:
		return r.Install(j.ctx, j.want.Packages, progress{j, notebook.Stdout})
	case wire.Reset:
		return r.Reset(j.ctx)
	case wire.Remove:
		return n.remove(j.ctx)
	}
	return fmt.Errorf("unknown action %.40q", j.action)
}

func (n *entry) execute(j *job) {
	r, err := n.ready()
	var out notebook.Outcome
	if err == nil {
		q := notebook.Job{ID: j.want.ID, Number: j.want.Number, Code: j.want.Code, Estimate: time.Duration(j.want.Estimate * float64(time.Second))}
		out, err = r.Execute(j.ctx, q, func(e notebook.Event) { progress{j, e.Stream}.Write(e.Data) })
	}
	if err != nil {
		j.stream.end(wire.EventDone, wire.Done{Error: err.Error()})
		return
	}
	j.stream.end(wire.EventCell, out)
}

// progress writes to a job's stream. Where that is not kept, the job ends.
type progress struct {
	j    *job
	from notebook.Stream
}

func (p progress) Write(b []byte) (int, error) {
	if err := p.j.stream.add(wire.EventProgress, wire.Progress{Stream: p.from, Data: b}); err != nil {
		p.j.cancel()
		return 0, err
	}
	return len(b), nil
}
