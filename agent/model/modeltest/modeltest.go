// Package modeltest is a Chat Completions server with replies written in
// advance, well-formed or broken in every way that a network can break them. It
// serves real HTTP on loopback and needs nothing of package testing, so that
// command line scripts can use it too.
package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"rouse/agent/model"
)

// Reply is what the server answers to one request. The zero Reply is an empty
// answer that ends with "stop".
type Reply struct {
	// Text and Calls are the answer, sent in pieces where the request asks for a stream.
	Text  string       `json:"text,omitempty"`
	Calls []model.Call `json:"calls,omitempty"`
	// Action is an answer in the protocol of the request: a native call where it
	// offers tools, else a text that holds the action, {"tool": …, "args": …}.
	Action json.RawMessage `json:"action,omitempty"`
	// Finish is the finish reason; "" means "stop", or "tool_calls" after calls.
	Finish string `json:"finish,omitempty"`
	// Usage is sent if it is set, and for a stream only if it was asked for.
	Usage *model.Usage `json:"usage,omitempty"`
	// API is the one that the server then speaks; requests of others find nothing
	// there. Kept is what it sends of reasoning.
	API  string            `json:"api,omitempty"`
	Kept []json.RawMessage `json:"kept,omitempty"`
	// Stream says whether to stream whatever the request asks for.
	Stream *bool `json:"stream,omitempty"`

	// Status is the HTTP status; 0 means 200. Any other is sent with Body, or
	// with an error object that holds Text.
	Status int `json:"status,omitempty"`
	// Headers are set on the response.
	Headers map[string]string `json:"headers,omitempty"`
	// Body is sent as it is in place of an answer.
	Body string `json:"body,omitempty"`

	// Delay is waited for before the response, such as "100ms".
	Delay string `json:"delay,omitempty"`
	// Cut, if not 0, resets the connection after so many bytes of the body.
	Cut int `json:"cut,omitempty"`
	// Stall sends the headers and then nothing until the client goes.
	Stall bool `json:"stall,omitempty"`
	// Repeat, on the last reply, answers all further requests with it.
	Repeat bool `json:"repeat,omitempty"`
}

// Request is what a client sent.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte
	Remote       string // the client's address, one for each connection
}

// Server answers requests with its replies in order, then with status 500.
type Server struct {
	http   *http.Server
	addr   string
	closed chan struct{}
	answer func(Request) Reply // unless nil, in place of replies

	mu       sync.Mutex
	replies  []Reply
	requests []Request
}

// New starts a server on a free port of 127.0.0.1. Like httptest, it panics if
// there is none.
func New(replies ...Reply) *Server {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(fmt.Sprintf("modeltest: %v", err))
	}
	s := &Server{replies: replies, addr: listener.Addr().String(), closed: make(chan struct{})}
	s.http = &http.Server{Handler: s}
	go s.http.Serve(listener)
	return s
}

// Answer starts a server that answers each request as a function says, which may be called
// several times at once. It keeps no requests.
func Answer(answer func(Request) Reply) *Server {
	s := New()
	s.answer = answer
	return s
}

// Load starts a server with the replies of a file: one JSON object a line, with
// the fields of [Reply]. Empty lines are skipped, unknown fields are errors.
func Load(path string) (*Server, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	replies, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return New(replies...), nil
}

func parse(text []byte) ([]Reply, error) {
	var replies []Reply
	for i, line := range bytes.Split(text, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var r Reply
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("line %d: %v", i+1, err)
		}
		if _, err := r.delay(); err != nil {
			return nil, fmt.Errorf("line %d: delay: %v", i+1, err)
		}
		replies = append(replies, r)
	}
	return replies, nil
}

func (r Reply) delay() (time.Duration, error) {
	if r.Delay == "" {
		return 0, nil
	}
	return time.ParseDuration(r.Delay)
}

// URL is the base URL for a client, ending in /v1.
func (s *Server) URL() string { return "http://" + s.addr + "/v1" }

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Close ends the server and all its connections.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
	default:
		close(s.closed)
		s.http.Close()
	}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models") { // asked by the doctor
		_, _ = io.WriteString(w, `{"object":"list","data":[]}`)
		return
	}
	body, _ := io.ReadAll(r.Body) // a client that goes is what some tests are about
	reply := s.next(Request{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: body, Remote: r.RemoteAddr})
	if !s.wait(r, reply) {
		return
	}
	var asked struct {
		Stream  bool
		Tools   []json.RawMessage
		Options struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	_ = json.Unmarshal(body, &asked) // what is not JSON asks for nothing
	reply.act(len(asked.Tools) > 0)
	if reply.Stream != nil {
		asked.Stream = *reply.Stream
	}
	w.Header().Set("Content-Type", "application/json")
	if asked.Stream && reply.Status == 0 {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	for name, value := range reply.Headers {
		w.Header().Set(name, value)
	}
	if reply.Status != 0 {
		w.WriteHeader(reply.Status)
	}
	s.send(w, r, reply, reply.body(asked.Stream, asked.Options.Usage))
}

func (s *Server) next(r Request) Reply {
	if s.answer != nil {
		return s.answer(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	path := "/chat/completions"
	if len(s.replies) > 0 && s.replies[0].API != "" {
		path = "/" + s.replies[0].API
	}
	if !strings.HasSuffix(r.Path, path) {
		return Reply{Status: http.StatusNotFound, Text: "no such path: " + r.Path}
	}
	if len(s.replies) == 0 {
		return Reply{Status: http.StatusInternalServerError, Text: "modeltest: no more replies"}
	}
	reply := s.replies[0]
	if len(s.replies) > 1 || !reply.Repeat {
		s.replies = s.replies[1:]
	}
	return reply
}

// wait waits for the reply's delay and reports whether the client is still there.
func (s *Server) wait(r *http.Request, reply Reply) bool {
	delay, err := reply.delay()
	if err != nil {
		panic(fmt.Sprintf("modeltest: delay: %v", err))
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-s.closed:
	}
	return false
}

// send writes the chunks, each at once, or as far as the reply allows.
func (s *Server) send(w http.ResponseWriter, r *http.Request, reply Reply, chunks [][]byte) {
	control := http.NewResponseController(w)
	if reply.Stall {
		_ = control.Flush() // an error means that the client has gone
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
		return
	}
	left := reply.Cut
	for _, chunk := range chunks {
		if reply.Cut > 0 {
			chunk = chunk[:min(left, len(chunk))]
			left -= len(chunk)
		}
		if _, err := w.Write(chunk); err != nil || control.Flush() != nil {
			return
		}
	}
	if reply.Cut > 0 {
		reset(control)
	}
}

// reset ends the connection so that the client sees an error, not an end.
func reset(control *http.ResponseController) {
	conn, _, err := control.Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}
