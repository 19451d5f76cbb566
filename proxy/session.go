package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"rouse/internal/object"
	"rouse/tools"
)

// session is what is known of one client's talk with one server: which requests
// wait for an answer, and whether something was parked.
type session struct {
	p *Proxy

	mu      sync.Mutex
	open    map[string]request // by the key of their id
	ours    map[string]context.CancelFunc
	dead    map[string]bool // requests that we answered in the server's place
	version string          // that was agreed upon
}

// request is one that the client made.
type request struct {
	id           json.RawMessage
	method, tool string
	step         int
}

func (p *Proxy) newSession() *session {
	return &session{
		p: p, open: map[string]request{}, ours: map[string]context.CancelFunc{}, dead: map[string]bool{},
	}
}

// passed is what becomes of a message from the client.
type passed struct {
	forward []byte // to the server
	// answer, unless nil, is called for an answer to the client; it may take a while.
	answer func(ctx context.Context) []byte
}

// client takes a message from the client. What is no message is passed on as it
// is: the server says what it thinks of it.
func (s *session) client(text []byte) passed {
	o, err := object.Parse(text)
	if err != nil {
		return passed{forward: text}
	}
	id, method := o.Get("id"), o.String("method")
	key := idKey(id)
	switch {
	case method == "notifications/cancelled":
		return s.cancel(o, text)
	case method == "" || key == "":
		return passed{forward: text}
	}
	if s.p.Plain && method != "initialize" {
		method = "" // of nothing that is changed
	}
	r := request{id: id, method: method}
	params := o.Sub("params")
	if method == "tools/call" {
		r.tool = params.String("name")
		if r.tool == readName && !s.p.theirs() {
			return s.read(key, id, params.Get("arguments"))
		}
		text = s.call(o, params, &r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.dead, key)
	s.open[key] = r
	return passed{forward: text}
}

// call takes the note out of a call.
func (s *session) call(o, params *object.Object, r *request) []byte {
	r.step = int(s.p.calls.Add(1))
	if s.p.Mode == tools.NoteOff || s.p.hasOwn(r.tool) {
		return o.Text
	}
	args := params.Get("arguments")
	rest, note := tools.TakeNote(args)
	s.p.note(r, note)
	if len(rest) == len(args) {
		return o.Text
	}
	return o.With("params", params.With("arguments", rest))
}

// read answers a call of scratchpad_read.
func (s *session) read(key string, id, args json.RawMessage) passed {
	return passed{answer: func(ctx context.Context) []byte {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s.mu.Lock()
		s.ours[key] = cancel
		s.mu.Unlock()
		result := s.p.read(ctx, args)
		s.mu.Lock()
		delete(s.ours, key)
		s.mu.Unlock()
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
	}}
}

// cancel passes a cancellation on, unless it is of a call that we answer. A server
// need not answer what was cancelled, so nobody waits for that any more.
func (s *session) cancel(o *object.Object, text []byte) passed {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := idKey(o.Sub("params").Get("requestId"))
	stop, ok := s.ours[key]
	if !ok {
		delete(s.open, key)
		return passed{forward: text}
	}
	stop()
	return passed{}
}

// server takes a message from the server and gives what the client gets: one
// message, or none.
func (s *session) server(text []byte) [][]byte {
	o, err := object.Parse(text)
	if err != nil {
		return [][]byte{text}
	}
	return s.object(o)
}

func (s *session) object(o *object.Object) [][]byte {
	if o.Get("method") != nil {
		return [][]byte{o.Text}
	}
	key := idKey(o.Get("id"))
	s.mu.Lock()
	r, ok := s.open[key]
	dead := s.dead[key]
	delete(s.open, key)
	s.mu.Unlock()
	switch {
	case dead:
		return nil
	case !ok || o.Get("result") == nil:
		return [][]byte{o.Text}
	}
	return s.answer(o, r)
}

// answer rewrites the answer to a request.
func (s *session) answer(o *object.Object, r request) [][]byte {
	result, changed := o.Get("result"), false
	switch r.method {
	case "initialize":
		s.agree(result)
	case "tools/list":
		result, changed = s.p.list(result)
	case "tools/call", "tasks/result":
		result, changed = s.p.park(r, result)
	}
	if !changed {
		return [][]byte{o.Text}
	}
	return [][]byte{o.With("result", result)}
}

// agree notes which version of the protocol is spoken.
func (s *session) agree(result []byte) {
	if o, err := object.Parse(result); err == nil {
		s.mu.Lock()
		s.version = o.String("protocolVersion")
		s.mu.Unlock()
	}
}

// negotiated is the version that was agreed upon, or "".
func (s *session) negotiated() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// isOpen says whether a request waits for its answer.
func (s *session) isOpen(id json.RawMessage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.open[idKey(id)]
	return ok
}

// fail answers all requests that are open. What the server says to them later is
// not passed on.
func (s *session) fail(why string) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list [][]byte
	for _, key := range slices.Sorted(maps.Keys(s.open)) {
		list = append(list, failure(s.open[key].id, codeEnded, why))
		s.dead[key] = true
	}
	clear(s.open)
	return list
}

// waits says whether a request is open.
func (s *session) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) > 0
}

// unknown answers all requests that are open when the talk has ended.
func (s *session) unknown(why error) [][]byte {
	reason := "the client has gone"
	if why != nil {
		reason = why.Error()
	}
	return s.fail(reason + "; whether the request had an effect is not known")
}

// failOne answers one request, if it is open.
func (s *session) failOne(id json.RawMessage, why string) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.open[idKey(id)]
	if !ok {
		return nil
	}
	delete(s.open, idKey(id))
	return [][]byte{failure(r.id, codeEnded, why)}
}
