package remote

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"rouse/internal/clock"
	"rouse/internal/sse"
	"rouse/tools/notebook"
	"rouse/tools/notebook/wire"
)

// errRestarted says that the server runs anew since we asked it who it is, and
// that it did not get the job.
var errRestarted = errors.New("the notebook server was restarted")

// unknown says that a job may have run.
type unknown struct{ err error }

func (u *unknown) Error() string {
	return fmt.Sprintf("outcome unknown, it may have taken effect: %v", u.err)
}

func (u *unknown) Unwrap() error { return u.err }

// follower brings one job to its end.
type follower struct {
	c        *Client
	url      string // of the notebook
	action   string
	id       string
	instance string
	body     []byte
	emit     func(notebook.Event)
	asks     *asks

	sent bool  // the server may have the job
	next int64 // where the stream goes on
}

// follow sends a job and gives its last event. When ctx ends the job is canceled;
// its end is waited for all the same, for some time.
func (r *Runtime) follow(ctx context.Context, action string, want wire.Job, emit func(notebook.Event)) (sse.Event, error) {
	connecting, stop := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	base, instance, err := r.c.connect(connecting)
	stop()
	if err != nil {
		return sse.Event{}, err
	}
	want.ID, want.Seen = rand.Text(), r.seen
	body, err := json.Marshal(want)
	if err != nil {
		return sse.Event{}, err
	}
	if len(body) > wire.MaxBody {
		return sse.Event{}, fmt.Errorf("the cell has more than %d bytes", wire.MaxBody)
	}
	f := &follower{c: r.c, url: base + "/v1/notebooks/" + r.name, action: action, id: want.ID, instance: instance, body: body, emit: emit}
	going, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer f.cancelWith(ctx, going, end)()
	f.asks = newAsks(f, ctx)
	defer f.asks.close()
	last, err := f.run(going)
	if err == nil {
		r.seen = want.ID
	}
	return last, err
}

// cancelWith cancels the job when ctx ends, and gives it up if it does not end
// then. What is to be done also then, is only given up. What it returns ends the
// watch.
func (f *follower) cancelWith(ctx, going context.Context, giveUp func()) func() {
	must := f.action == wire.Reset || f.action == wire.Remove || f.action == wire.Close && ctx.Err() != nil
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		late := time.AfterFunc(endTime, giveUp)
		context.AfterFunc(going, func() { late.Stop() })
		if must {
			return
		}
		body, _ := json.Marshal(wire.Cancel{ID: f.id}) // of a string
		f.insist(going, request{method: http.MethodPost, url: f.url + "/cancel", instance: f.instance, body: body})
	})
	return func() {
		giveUp()
		if !stop() {
			<-done
		}
	}
}

// insist makes a request that is answered at once until it is answered.
func (f *follower) insist(ctx context.Context, q request) {
	for wait := firstWait; ctx.Err() == nil; wait = min(2*wait, lastWait) {
		if _, err := f.c.call(ctx, q, &struct{}{}); err == nil || !transient(err) {
			return
		}
		clock.Pause(ctx, wait)
	}
}

const (
	firstWait = 5 * time.Millisecond
	lastWait  = 5 * time.Second
)

// run reads the job's stream to its end, over as many connections as it takes.
func (f *follower) run(ctx context.Context) (sse.Event, error) {
	wait, heard := firstWait, time.Now()
	for {
		before := f.next
		last, err := f.read(ctx)
		if err == nil {
			return last, nil
		}
		if f.next > before {
			wait, heard = firstWait, time.Now()
		}
		if err := f.judge(err); err != nil {
			return last, err
		}
		if time.Since(heard) > f.c.Patience || ctx.Err() != nil {
			f.c.reconnect()
			return last, f.lost(fmt.Errorf("the connection to %s is lost: %w", f.c.Endpoint, err))
		}
		clock.Pause(ctx, wait)
		wait = min(2*wait, lastWait)
	}
}

// judge says whether trying again can help: then it gives nil.
func (f *follower) judge(err error) error {
	no, refused := errors.AsType[*refusal](err)
	if !refused {
		if errors.Is(err, sse.ErrTooLarge) {
			return f.lost(err)
		}
		return nil
	}
	switch {
	case no.status == http.StatusNotFound && f.sent && f.next == 0:
		f.sent = false // it did not get there
		return nil
	case no.status == http.StatusConflict:
		f.c.reconnect()
		if f.sent {
			return f.lost(errRestarted)
		}
		return errRestarted
	case no.status >= 500:
		return nil
	}
	return f.lost(err)
}

// lost is an error that says whether the job may have run.
func (f *follower) lost(err error) error {
	if f.sent {
		return &unknown{err}
	}
	return err
}

// read makes one connection and reads what comes. It sends the job, or asks for
// it if the server may have it.
func (f *follower) read(ctx context.Context) (sse.Event, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q := request{method: http.MethodPost, url: f.url + "/" + f.action, instance: f.instance, body: f.body}
	if f.sent {
		q = request{method: http.MethodGet, url: f.url + "/cells/" + f.id, instance: f.instance, after: f.next}
	}
	again := f.sent
	f.sent = true
	resp, err := f.c.send(ctx, q)
	if err != nil {
		f.sent = again || mayBeThere(err)
		return sse.Event{}, err
	}
	defer resp.Body.Close()
	silent := time.AfterFunc(f.c.Silence, cancel)
	defer silent.Stop()
	events := sse.NewReader(heard{resp.Body, silent, f.c.Silence}, wire.MaxEvent)
	for {
		e, err := events.Next()
		if err == nil && e.Name != "" {
			f.next, err = wire.Next(e)
		}
		if err != nil {
			return e, err
		}
		if e.Name == wire.EventCell || e.Name == wire.EventDone {
			return e, nil
		}
		f.event(e)
	}
}

// mayBeThere says whether the server may have got a request that failed.
func mayBeThere(err error) bool {
	if errors.As(err, new(*refusal)) {
		return transient(err)
	}
	op, isNet := errors.AsType[*net.OpError](err)
	return !isNet || op.Op != "dial"
}

// event passes on what a cell prints, and answers what it asks.
func (f *follower) event(e sse.Event) {
	switch e.Name {
	case wire.EventProgress:
		var p wire.Progress
		if decode(e.Data, &p) == nil && (p.Stream == notebook.Stdout || p.Stream == notebook.Stderr || p.Stream == notebook.Log) {
			f.emit(notebook.Event{Stream: p.Stream, Data: p.Data})
		}
	case wire.EventAsk:
		var a wire.Ask
		if decode(e.Data, &a) == nil {
			f.asks.answer(a)
		}
	}
}

func decode(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return errors.New("the notebook server sent an event that is not JSON as it should be")
	}
	return nil
}

// heard puts the silence off whenever something comes.
type heard struct {
	r       interface{ Read([]byte) (int, error) }
	silent  *time.Timer
	silence time.Duration
}

func (h heard) Read(b []byte) (int, error) {
	n, err := h.r.Read(b)
	h.silent.Reset(h.silence)
	return n, err
}
