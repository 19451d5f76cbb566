package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"

	"rouse/internal/sse"
)

// response changes what the server says to one request.
func (l *relay) response(r *http.Response) error {
	x, _ := r.Request.Context().Value(exchangeKey{}).(*exchange)
	if x == nil {
		return nil
	}
	if id := r.Header.Get(sessionHeader); id != "" && len(x.ids) > 0 {
		l.begun(id, x)
	}
	if r.StatusCode == http.StatusNotFound {
		l.mu.Lock()
		delete(l.sessions, r.Request.Header.Get(sessionHeader))
		l.mu.Unlock()
	}
	switch kind(r.Header) {
	case "application/json":
		return l.body(r, x)
	case "text/event-stream":
		l.open(r, x)
	}
	return nil
}

// begun keeps a session that the server has begun.
func (l *relay) begun(id string, x *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.sessions[id]; !ok && len(l.sessions) < maxSessions {
		l.sessions[id] = x.s
	}
}

// body changes an answer in one piece.
func (l *relay) body(r *http.Response, x *exchange) error {
	body, err := l.p.body(r.Body)
	if err != nil {
		return err
	}
	body = bytes.Join(each(body, x.s.server), nil)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// stream is the answer to an HTTP request as a stream of events, on its way.
type stream struct {
	mu  sync.Mutex
	out *io.PipeWriter
}

// tell adds a message of ours to a stream; a nil one has no listener.
func (s *stream) tell(m []byte) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(dataEvent(m)) // the reader is gone: so is the client
}

// open changes a stream of events as it comes.
func (l *relay) open(r *http.Response, x *exchange) {
	from := r.Body
	in, out := io.Pipe()
	s := &stream{out: out}
	r.Header.Del("Content-Length")
	r.ContentLength = -1
	r.Body = both{in, from}
	go func() {
		out.CloseWithError(l.pass(l.p.events(from), s, x))
		from.Close()
	}()
}

// both closes a pipe and what feeds it.
type both struct {
	*io.PipeReader
	from io.Closer
}

func (b both) Close() error { return errors.Join(b.PipeReader.Close(), b.from.Close()) }

// pass changes the events of a stream. Where it breaks and nobody can take it
// up, the requests that are open get an answer of ours.
func (l *relay) pass(events *sse.Reader, s *stream, x *exchange) error {
	resumable := false
	for {
		e, err := events.Next()
		if err != nil {
			if !resumable || errors.Is(err, sse.ErrTooLarge) {
				l.broken(s, x, err)
			}
			if errors.Is(err, io.EOF) || errors.Is(err, sse.ErrTooLarge) {
				return nil
			}
			return err
		}
		resumable = resumable || e.ID != ""
		if err := s.write(x.s, e); err != nil {
			return err
		}
	}
}

func (l *relay) broken(s *stream, x *exchange, err error) {
	why := "the server broke off"
	if errors.Is(err, sse.ErrTooLarge) {
		why = "the server: " + err.Error()
	}
	for _, id := range x.ids {
		for _, m := range x.s.failOne(id, why+"; whether the request had an effect is not known") {
			s.tell(m)
		}
	}
}

// write passes one event on.
func (s *stream) write(talk *session, e sse.Event) error {
	text := e.Raw
	if len(e.Data) > 0 {
		out := each(e.Data, talk.server)
		if len(out) == 0 {
			return nil
		}
		text = withData(e, out[0])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.out.Write(text)
	return err
}
