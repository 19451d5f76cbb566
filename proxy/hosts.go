package proxy

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"rouse/internal/frame"
	"rouse/internal/object"
)

const (
	maxHosts = 64               // clients at a time, each of which has a server of its own
	idle     = 30 * time.Minute // without a request or a stream; then the client has gone
)

// hosts gives each client over HTTP a server of its own, which is our child.
type hosts struct {
	p   *Proxy
	ctx context.Context

	mu   sync.Mutex
	list map[string]*host // by session
}

// host is a session: a server, and the streams to its client that are open.
type host struct {
	s     *session
	b     backend
	stop  context.CancelFunc
	timer *time.Timer

	mu      sync.Mutex
	answers map[string]*outlet // by the key of the request
	tokens  map[string]*outlet // by progress token
	unasked *outlet            // of a GET

	ended chan struct{}
}

// outlet is the answer to one HTTP request: a stream of messages.
type outlet struct {
	messages chan []byte
	gone     chan struct{} // the client does not want it any more
	left     int           // answers that must come
}

func (h *hosts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	h.mu.Lock()
	c := h.list[id]
	h.mu.Unlock()
	switch {
	case id == "" && r.Method == http.MethodPost:
		h.begin(w, r)
	case id == "":
		http.Error(w, "the header "+sessionHeader+" is missing", http.StatusBadRequest)
	case c == nil:
		http.Error(w, "session not found", http.StatusNotFound)
	case r.Method == http.MethodPost:
		if body, ok := body(w, r); ok {
			c.post(w, r, body)
		}
	case r.Method == http.MethodGet:
		c.get(w, r)
	case r.Method == http.MethodDelete:
		c.b.close()
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "no such method", http.StatusMethodNotAllowed)
	}
}

func body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the message is too long, or did not come whole", http.StatusRequestEntityTooLarge)
		return nil, false
	}
	return data, true
}

// begin begins a session with the first message of a client.
func (h *hosts) begin(w http.ResponseWriter, r *http.Request) {
	data, ok := body(w, r)
	if !ok {
		return
	}
	o, err := object.Parse(data)
	if err != nil || o.String("method") != "initialize" {
		refuse(w, r, o)
		return
	}
	c, id, err := h.start()
	if err != nil {
		h.p.say(err.Error())
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set(sessionHeader, id)
	c.post(w, r, data)
}

// refuse answers what comes without a session. Clients of 2026-07-28, which knows
// none, learn which versions are spoken here.
func refuse(w http.ResponseWriter, r *http.Request, o *object.Object) {
	if v := r.Header.Get(versionHeader); v >= stateless && o != nil {
		requested, _ := json.Marshal(v) // a text
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"only versions with sessions are spoken here","data":`+
			`{"supported":["2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":%s}}}`, orNull(o.Get("id")), requested)
		return
	}
	http.Error(w, "the header "+sessionHeader+" is missing", http.StatusBadRequest)
}

func orNull(id json.RawMessage) json.RawMessage {
	if len(id) == 0 {
		return json.RawMessage("null")
	}
	return id
}

// start starts a server for a new session.
func (h *hosts) start() (*host, string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.list) >= maxHosts {
		return nil, "", fmt.Errorf("there are %d clients already", maxHosts)
	}
	ctx, stop := context.WithCancel(h.ctx)
	c := &host{s: h.p.newSession(), stop: stop, answers: map[string]*outlet{}, tokens: map[string]*outlet{}, ended: make(chan struct{})}
	var err error
	if c.b, err = h.p.open(ctx, c.s, c.emit); err != nil {
		stop()
		return nil, "", err
	}
	id := rand.Text()
	h.list[id] = c
	c.timer = time.AfterFunc(idle, c.leave)
	go h.end(c, id)
	return c, id, nil
}

// leave ends a session whose client has gone: no stream is open.
func (c *host) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unasked == nil && len(c.answers) == 0 {
		c.stop()
		return
	}
	c.timer.Reset(idle)
}

// end answers what is open when a server has ended, and forgets it.
func (h *hosts) end(c *host, id string) {
	<-c.b.done()
	h.mu.Lock()
	delete(h.list, id)
	h.mu.Unlock()
	for _, m := range c.s.unknown(c.b.why()) {
		c.emit(m)
	}
	c.stop()
	c.timer.Stop()
	close(c.ended)
}

// post takes a message of the client; if it has requests, the HTTP answer is open
// until they have theirs.
func (c *host) post(w http.ResponseWriter, r *http.Request, data []byte) {
	c.timer.Reset(idle)
	t := &talk{s: c.s, b: c.b, emit: c.emit}
	out := &outlet{messages: make(chan []byte, 16), gone: make(chan struct{})}
	for _, id := range c.expect(data, out) {
		defer c.forget(id, out)
	}
	defer close(out.gone)
	t.take(r.Context(), data)
	if out.left == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	out.write(w, r, nil)
}

// expect notes where the answers to the requests in a message go.
func (c *host) expect(data []byte, out *outlet) (keys []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, _ := frame.Messages(data)
	for _, m := range list {
		o, err := object.Parse(m)
		if err != nil || o.Get("method") == nil || idKey(o.Get("id")) == "" {
			continue
		}
		key := idKey(o.Get("id"))
		c.answers[key] = out
		keys = append(keys, key)
		out.left++
		if token := progressToken(o.Sub("params")); token != "" {
			c.tokens[token] = out
		}
	}
	return keys
}

func progressToken(params *object.Object) string {
	return cmp.Or(idKey(params.Get("progressToken")), idKey(params.Sub("_meta").Get("progressToken")))
}

func (c *host) forget(key string, out *outlet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers[key] == out {
		delete(c.answers, key)
	}
	for token, o := range c.tokens {
		if o == out {
			delete(c.tokens, token)
		}
	}
}

// get opens the stream of what the server says unasked.
func (c *host) get(w http.ResponseWriter, r *http.Request) {
	out := &outlet{messages: make(chan []byte, 16), gone: make(chan struct{})}
	c.mu.Lock()
	busy := c.unasked != nil
	if !busy {
		c.unasked = out
	}
	c.mu.Unlock()
	if busy {
		http.Error(w, "there is such a stream already", http.StatusConflict)
		return
	}
	defer func() {
		c.mu.Lock()
		if c.unasked == out {
			c.unasked = nil
		}
		c.mu.Unlock()
		close(out.gone)
	}()
	out.left = -1
	out.write(w, r, c.ended)
}

// write writes messages as events until all answers have come, the client has
// gone, or ended is closed.
func (o *outlet) write(w http.ResponseWriter, r *http.Request, ended <-chan struct{}) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	flush := http.NewResponseController(w)
	_ = flush.Flush() // who waits for the headers gets them now
	for o.left != 0 {
		select {
		case m := <-o.messages:
			if _, err := w.Write(dataEvent(m)); err != nil {
				return
			}
			_ = flush.Flush()
			if p, err := object.Parse(m); err != nil || p.Get("method") == nil {
				o.left--
			}
		case <-r.Context().Done():
			return
		case <-ended:
			return
		}
	}
}

// emit sends a message of the server to the stream where it belongs: an answer to
// that of its request, progress too, everything else to the stream for what is
// unasked, or to any that is open.
func (c *host) emit(message []byte) {
	list, _ := frame.Messages(message)
	for _, m := range list {
		if out := c.outlet(m); out != nil {
			select {
			case out.messages <- bytes.Clone(m):
			case <-out.gone:
			}
		}
	}
}

func (c *host) outlet(m []byte) *outlet {
	o, err := object.Parse(m)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.Get("method") == nil {
		key := idKey(o.Get("id"))
		out := c.answers[key]
		delete(c.answers, key)
		return out
	}
	if out := c.tokens[progressToken(o.Sub("params"))]; out != nil && o.String("method") == "notifications/progress" {
		return out
	}
	if c.unasked != nil {
		return c.unasked
	}
	for _, out := range c.answers {
		return out
	}
	return nil
}
