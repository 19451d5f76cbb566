package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"rouse/internal/frame"
	"rouse/internal/proc"
	"rouse/internal/redact"
	"rouse/internal/text"
)

const (
	// discoverLimit is how long a server may think about server/discover, which
	// older ones do not know and some of them never answer.
	discoverLimit = 3 * time.Second
	// replies are how many answers to the server's own requests may wait for it
	// to read them; more are dropped.
	replies = 16
	// patience is how many times the size of a message a server may write without a
	// line break before it is ended.
	patience = 8
	// tailSize is how much of a server's standard error is kept, in bytes.
	tailSize = 4 << 10
)

// errNotSent means that a request was not sent, so that it had no effect.
var errNotSent = errors.New("the server is not running")

// pipes are the connection to a server that is our child: a message a line. It
// is a [sdk.Connection] of its own because that of the library ends at the
// first line that is not a message, and waits for ever for a server that does
// not read.
type pipes struct {
	process *proc.Process
	input   *io.PipeWriter
	hide    *redact.Redactor
	stderr  *redact.Tail
	changed func() bool // the tools changed; it reports whether that is news
	refusal func(method string) error

	incoming chan jsonrpc.Message
	outgoing chan []byte
	closed   chan struct{} // we have closed it
	dead     chan struct{} // the process and its tree are gone
	exit     proc.Exit     // set before dead is closed, as is
	unasked  bool          // whether it ended before we closed it
	grace    time.Duration
	once     sync.Once

	mu      sync.Mutex
	waiting map[jsonrpc.ID]*capture // our requests that have no answer yet
}

// start starts the server. It is ended when ctx ends, or by Close.
func (s *server) start(ctx context.Context) (*pipes, error) {
	source, input := io.Pipe()
	p := &pipes{
		input: input, hide: s.hide, stderr: s.hide.NewTail(tailSize), changed: s.changed, refusal: s.refusal, grace: s.o.Grace,
		incoming: make(chan jsonrpc.Message, 1), outgoing: make(chan []byte, replies),
		closed: make(chan struct{}), dead: make(chan struct{}), waiting: map[jsonrpc.ID]*capture{},
	}
	var env []string
	for name, value := range s.Env {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	var err error
	p.process, err = s.o.Runner.Start(ctx, proc.Command{
		Argv: append([]string{s.Command}, s.Args...), Dir: s.Dir, Env: env,
		Box: s.box, Stdin: source, Stdout: &frame.Lines{Max: s.o.MaxMessage, Patience: patience, Line: p.line, Lost: p.lost}, Stderr: p.stderr,
	})
	if err != nil {
		return nil, err
	}
	if s.o.Started != nil {
		s.o.Started(p.process.Identity())
	}
	go p.write()
	go func() {
		p.exit = p.process.Wait()
		select {
		case <-p.closed:
		default:
			p.unasked = true
		}
		close(p.dead)
		p.input.CloseWithError(errNotSent)
	}()
	return p, nil
}

// Connect makes p the transport of itself.
func (p *pipes) Connect(context.Context) (sdk.Connection, error) { return p, nil }

func (p *pipes) SessionID() string { return "" }

// write feeds the server, which may not read.
func (p *pipes) write() {
	for {
		select {
		case data := <-p.outgoing:
			if _, err := p.input.Write(data); err != nil {
				return
			}
		case <-p.closed:
			p.input.Close()
			return
		case <-p.dead:
			return
		}
	}
}

// Write sends a message. It waits no longer than ctx for a server that does not read.
func (p *pipes) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	r, isRequest := msg.(*jsonrpc.Request)
	if isRequest && r.IsCall() {
		p.expect(r, captureOf(ctx))
	}
	select {
	case <-p.dead: // preferred to a place in the queue
		return errNotSent
	default:
	}
	select {
	case p.outgoing <- append(data, '\n'):
		return nil
	case <-p.dead:
		return errNotSent
	case <-p.closed:
		return errNotSent
	case <-ctx.Done():
		return ctx.Err()
	}
}

// expect notes a request, so that its answer is known when it comes.
func (p *pipes) expect(r *jsonrpc.Request, c *capture) {
	p.mu.Lock()
	p.waiting[r.ID] = c
	p.mu.Unlock()
	if r.Method != "server/discover" {
		return
	}
	time.AfterFunc(discoverLimit, func() {
		if _, ok := p.answered(r.ID); ok {
			p.deliver(&jsonrpc.Response{ID: r.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no answer"}})
		}
	})
}

// answered takes a request off the list; ok is false if it was not on it, or not any more.
func (p *pipes) answered(id jsonrpc.ID) (*capture, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.waiting[id]
	delete(p.waiting, id)
	return c, ok
}

// lost answers all open requests in the server's place. There is mostly one.
func (p *pipes) lost(why error) {
	p.mu.Lock()
	open := p.waiting
	p.waiting = map[jsonrpc.ID]*capture{}
	p.mu.Unlock()
	for id := range open {
		p.deliver(&jsonrpc.Response{ID: id, Error: why})
	}
}

// line takes one line that the server wrote. What is not a message, such as a
// line of a log, is kept for the case that the server fails.
func (p *pipes) line(line []byte) {
	list, _ := frame.Messages(line)
	for _, m := range list {
		msg, err := jsonrpc.DecodeMessage(m)
		switch msg := msg.(type) {
		case *jsonrpc.Response:
			p.response(msg)
		case *jsonrpc.Request:
			p.request(msg)
		default:
			said := p.hide.String(string(m))
			p.stderr.Write([]byte(said[:min(len(said), tailSize)] + "\n"))
			if strings.Contains(string(m[:min(len(m), 256)]), `"jsonrpc"`) {
				p.lost(fmt.Errorf("its answer is not readable: %w", err))
			}
		}
	}
}

func (p *pipes) response(r *jsonrpc.Response) {
	c, ok := p.answered(r.ID)
	if !ok {
		return // late, doubled, or an answer nobody asked for
	}
	if c != nil {
		c.set(r.Result)
	}
	p.deliver(r)
}

// request answers what the server asks. It may ask whether we are there; all
// else (sampling, elicitation, roots) is not on offer.
func (p *pipes) request(r *jsonrpc.Request) {
	if !r.IsCall() {
		if r.Method == "notifications/tools/list_changed" && p.changed() {
			p.deliver(r)
		}
		return
	}
	reply := &jsonrpc.Response{ID: r.ID, Result: []byte(`{}`)}
	if r.Method != "ping" {
		reply = &jsonrpc.Response{ID: r.ID, Error: p.refusal(r.Method)}
	}
	data, err := jsonrpc.EncodeMessage(reply)
	if err != nil {
		return
	}
	select {
	case p.outgoing <- append(data, '\n'):
	default:
	}
}

// deliver hands a message to the session; a server that floods waits for it.
func (p *pipes) deliver(m jsonrpc.Message) {
	select {
	case p.incoming <- m:
	case <-p.closed:
	case <-p.dead:
	}
}

// Read gives the next message, or why there will be none.
func (p *pipes) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-p.incoming:
		return m, nil
	default:
	}
	select {
	case m := <-p.incoming:
		return m, nil
	case <-p.closed:
		return nil, io.EOF
	case <-p.dead:
		return nil, io.EOF
	}
}

// ending says how the server ended by itself; empty as long as it did not.
func (p *pipes) ending() string {
	if p == nil {
		return ""
	}
	select {
	case <-p.dead:
	default:
		return ""
	}
	if !p.unasked {
		return ""
	}
	return p.exit.String() + p.said()
}

// refused are the hosts that the sandbox has kept the server from.
func (p *pipes) refused() []string {
	if p == nil {
		return nil
	}
	return p.process.Refused()
}

// said is what the server said last, in one line to be put after a message.
func (p *pipes) said() string {
	said := text.Words(p.stderr.String())
	if said == "" {
		return ""
	}
	return "; it said: " + text.Tail(said, 500)
}

// Close ends the server with its whole tree: it closes its input, waits, and
// then ends it by force.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	t := time.AfterFunc(p.grace, p.process.End)
	defer t.Stop()
	go func() { // a writer that is stuck in a full pipe does not see the end
		select {
		case <-p.dead:
		case <-time.After(p.grace / 4):
			p.input.Close()
		}
	}()
	<-p.dead
	return nil
}
