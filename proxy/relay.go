package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
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
		x.s.begin()
	}
}

// begin makes a session one that lasts.
func (s *session) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loose = false
}

// body changes an answer in one piece. What there is to tell beside it goes to
// the stream of the session, if it has one.
func (l *relay) body(r *http.Response, x *exchange) error {
	body, err := l.p.body(r.Body)
	if err != nil {
		return err
	}
	var beside [][]byte
	out := each(body, func(m []byte) [][]byte {
		list := x.s.server(m)
		if n := len(list); n > 1 {
			beside, list = append(beside, list[:n-1]...), list[n-1:]
		}
		return list
	})
	body = bytes.Join(out, nil)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	l.mu.Lock()
	s := l.streams[x.s]
	l.mu.Unlock()
	for _, m := range beside {
		s.tell(m)
	}
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
	if len(x.ids) == 0 { // a GET: the stream of the session
		l.mu.Lock()
		l.streams[x.s] = s
		l.mu.Unlock()
	}
	r.Header.Del("Content-Length")
	r.ContentLength = -1
	r.Body = both{in, from}
	stop := l.p.hear(s, x.s)
	go func() {
		defer stop()
		out.CloseWithError(l.pass(l.p.events(from), s, x))
		from.Close()
	}()
}

// hear lets those who listen for changes, from 2026-07-28 on, be told of them.
func (p *Proxy) hear(s *stream, talk *session) (stop func()) {
	talk.mu.Lock()
	defer talk.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range talk.listens {
		if p.hearers == nil {
			p.hearers = map[*stream]json.RawMessage{}
		}
		p.hearers[s] = id
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.hearers, s)
	}
}

// tellAll tells them that the list of tools has changed.
func (p *Proxy) tellAll() {
	p.mu.Lock()
	hearers := maps.Clone(p.hearers)
	p.mu.Unlock()
	for s, id := range hearers {
		s.tell(listChanged(id))
	}
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
		var news []byte
		out := each(e.Data, func(m []byte) [][]byte {
			list := talk.server(m)
			for len(list) > 1 {
				news, list = append(news, dataEvent(list[0])...), list[1:]
			}
			return list
		})
		if len(out) == 0 {
			return nil
		}
		text = append(news, withData(e, out[0])...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.out.Write(text)
	return err
}
