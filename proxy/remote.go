package proxy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"rouse/internal/clock"
	"rouse/internal/object"
	"rouse/internal/sse"
)

// Headers of streamable HTTP.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	stateless     = "2026-07-28" // from this version on there are no sessions
)

// remote is a server that speaks streamable HTTP, for a client that does not.
type remote struct {
	p      *Proxy
	s      *session
	emit   func([]byte)
	busy   sync.WaitGroup // requests
	hello  chan struct{}  // closed when initialize has its answer; nil before it is sent
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	id       string                        // of the session
	inFlight map[string]context.CancelFunc // requests of the stateless kind
}

const (
	resumes   = 5 // how often a stream that broke is taken up again
	sendLimit = 30 * time.Second
)

func (p *Proxy) dial(ctx context.Context, s *session, emit func([]byte)) backend {
	r := &remote{p: p, s: s, emit: emit, inFlight: map[string]context.CancelFunc{}}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r
}

func (r *remote) done() <-chan struct{} { return r.ctx.Done() }

func (r *remote) why() error {
	if why := context.Cause(r.ctx); !errors.Is(why, errClient) && !errors.Is(why, context.Canceled) {
		return why
	}
	return nil
}

// send posts a message. A request waits for its answer elsewhere; the order of
// other messages is kept.
func (r *remote) send(message []byte) error {
	o, err := object.Parse(message)
	if err != nil {
		return r.post(message, nil)
	}
	if r.hello != nil { // what follows needs the session that the server begins
		select {
		case <-r.hello:
		case <-r.ctx.Done():
		}
	}
	method := o.String("method")
	if method != "" && idKey(o.Get("id")) != "" {
		r.begin(message, o, method)
		return nil
	}
	if method == "notifications/cancelled" && r.hangUp(o) {
		return nil
	}
	err = r.post(message, o)
	if method == "notifications/initialized" {
		go r.listen()
	}
	return err
}

// begin sends a request and goes on.
func (r *remote) begin(message []byte, o *object.Object, method string) {
	ctx, stop := context.WithCancel(r.ctx)
	if version(o) != "" {
		r.mu.Lock()
		r.inFlight[idKey(o.Get("id"))] = stop
		r.mu.Unlock()
	}
	ready := func() {}
	if method == "initialize" && r.hello == nil {
		r.hello = make(chan struct{})
		ready = func() { close(r.hello) }
	}
	r.busy.Go(func() {
		defer stop()
		defer ready()
		r.request(ctx, message, o)
	})
}

// version is that of a message that stands alone, else "".
func version(o *object.Object) string {
	return o.Sub("params").Sub("_meta").String("io.modelcontextprotocol/protocolVersion")
}

// hangUp cancels a request that stands alone, which is done by hanging up.
func (r *remote) hangUp(o *object.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	stop, ok := r.inFlight[idKey(o.Sub("params").Get("requestId"))]
	if ok {
		stop()
	}
	return ok
}

// post sends what has no answer.
func (r *remote) post(message []byte, o *object.Object) error {
	ctx, stop := context.WithTimeout(r.ctx, sendLimit)
	defer stop()
	resp, err := r.do(ctx, http.MethodPost, message, o)
	if err != nil {
		r.p.say("to the server: " + plain(err))
		return err
	}
	return resp.Body.Close()
}

// do makes one HTTP request.
func (r *remote) do(ctx context.Context, method string, message []byte, o *object.Object) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.p.URL.String(), bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if message != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	r.identify(req.Header)
	if o != nil && version(o) != "" {
		standard(req.Header, o)
	}
	return r.p.client().Do(req)
}

// identify sets the headers that say which session a request is of.
func (r *remote) identify(h http.Header) {
	if id := r.session(); id != "" {
		h.Set(sessionHeader, id)
	}
	if v := r.s.negotiated(); v != "" {
		h.Set(versionHeader, v)
	}
}

// standard sets the headers of a message that stands alone, as they are from
// 2026-07-28 on.
func standard(h http.Header, o *object.Object) {
	h.Set(versionHeader, version(o))
	h.Set("Mcp-Method", o.String("method"))
	params := o.Sub("params")
	if name := cmp.Or(params.String("name"), params.String("uri")); name != "" {
		h.Set("Mcp-Name", name)
	}
}

// request sends a request and passes on what is said to it.
func (r *remote) request(ctx context.Context, message []byte, o *object.Object) {
	id := o.Get("id")
	defer func() {
		r.mu.Lock()
		delete(r.inFlight, idKey(id))
		r.mu.Unlock()
	}()
	resp, err := r.do(ctx, http.MethodPost, message, o)
	if err == nil {
		if session := resp.Header.Get(sessionHeader); session != "" {
			r.mu.Lock()
			r.id = session
			r.mu.Unlock()
		}
		err = r.answer(ctx, resp, func() bool { return r.s.isOpen(id) })
	}
	why := "the server gave no answer"
	if err != nil && ctx.Err() == nil {
		why = "the server: " + plain(err)
	}
	for _, m := range r.s.failOne(id, why+"; whether the request had an effect is not known") {
		r.emit(m)
	}
}

// plain is an error without the address, which may hold a password.
func plain(err error) string {
	if u := errors.Unwrap(err); u != nil {
		return u.Error()
	}
	return err.Error()
}

// answer passes on what an HTTP answer holds.
func (r *remote) answer(ctx context.Context, resp *http.Response, open func() bool) error {
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound && r.session() != "" {
		r.cancel(errors.New("the server has ended the session"))
	}
	switch kind(resp.Header) {
	case "text/event-stream":
		return r.stream(ctx, resp.Body, open)
	case "application/json":
		body, err := r.p.body(resp.Body)
		if err != nil {
			return err
		}
		r.p.fromServer(r.s, body, r.emit)
	}
	if resp.StatusCode >= 300 {
		return errors.New("HTTP " + resp.Status)
	}
	return nil
}

func (r *remote) session() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.id
}

func kind(h http.Header) string {
	k, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return k
}

// stream passes on the messages of a stream and closes it; where it breaks it is
// taken up again, if the server can go on and there is something open.
func (r *remote) stream(ctx context.Context, body io.ReadCloser, open func() bool) error {
	defer func() { body.Close() }()
	last, wait := "", time.Second
	for try := 0; ; {
		events := r.p.events(body)
		e, err := events.Next()
		for ; err == nil; e, err = events.Next() {
			try = 0
			last, wait = cmp.Or(e.ID, last), cmp.Or(e.Retry, wait)
			if len(e.Data) > 0 {
				r.p.fromServer(r.s, e.Data, r.emit)
			}
			if !open() {
				return nil
			}
		}
		if try++; last == "" || ctx.Err() != nil || try > resumes || errors.Is(err, sse.ErrTooLarge) {
			return err
		}
		resp, err := r.resume(ctx, last, wait)
		if err != nil {
			return err
		}
		body.Close()
		body = resp.Body
	}
}

// resume takes a stream up again after its last event.
func (r *remote) resume(ctx context.Context, last string, wait time.Duration) (*http.Response, error) {
	if !clock.Pause(ctx, wait) {
		return nil, ctx.Err()
	}
	resp, err := r.get(ctx, last)
	if err == nil && !isStream(resp) {
		resp.Body.Close()
		err = fmt.Errorf("the stream broke, and cannot be taken up: HTTP %s", resp.Status)
	}
	return resp, err
}

func isStream(resp *http.Response) bool {
	return resp.StatusCode == http.StatusOK && kind(resp.Header) == "text/event-stream"
}

func (r *remote) get(ctx context.Context, last string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.p.URL.String(), nil)
	if err != nil {
		return nil, err
	}
	r.identify(req.Header)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	req.Header.Set("Accept", "text/event-stream")
	return r.p.client().Do(req)
}

// listen hears what the server says unasked, for as long as it offers that.
func (r *remote) listen() {
	for r.ctx.Err() == nil {
		resp, err := r.get(r.ctx, "")
		if err == nil && !isStream(resp) {
			resp.Body.Close()
			return // it does not
		}
		if err == nil {
			_ = r.stream(r.ctx, resp.Body, func() bool { return true })
		}
		clock.Pause(r.ctx, time.Second)
	}
}

// close ends the session with the server.
func (r *remote) close() {
	idle := make(chan struct{})
	go func() {
		r.busy.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-r.ctx.Done():
	case <-time.After(r.p.Grace):
	}
	if r.session() != "" && r.ctx.Err() == nil {
		ctx, stop := context.WithTimeout(r.ctx, r.p.Grace)
		defer stop()
		if resp, err := r.do(ctx, http.MethodDelete, nil, nil); err == nil {
			resp.Body.Close()
		}
	}
	r.cancel(errClient)
}
