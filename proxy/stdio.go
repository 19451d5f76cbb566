package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"rouse/internal/frame"
	"rouse/internal/object"
	"rouse/internal/proc"
)

// backend is a server as one client has it. What it says goes to a function that
// its maker gave it.
type backend interface {
	// send passes a message on. It may wait for a server that does not read.
	send(message []byte) error
	// close tells the server that the client has gone, and ends it if it stays.
	close()
	// done is closed when the server is gone, and why says why; nil if it is we
	// who ended it.
	done() <-chan struct{}
	why() error
}

// open starts or finds the server.
func (p *Proxy) open(ctx context.Context, s *session, emit func([]byte)) (backend, error) {
	if p.URL != nil {
		return p.dial(ctx, s, emit), nil
	}
	return p.start(ctx, s, emit)
}

// child is a server that is our child.
type child struct {
	process *proc.Process
	input   *os.File
	grace   time.Duration
	gone    chan struct{}
	exit    proc.Exit // set before gone is closed
}

// start starts the server. It is ended with its whole tree when ctx ends.
func (p *Proxy) start(ctx context.Context, s *session, emit func([]byte)) (backend, error) {
	stdin, input, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	defer stdin.Close()
	take := func(text []byte) { p.fromServer(s, text, emit) }
	lost := func(why error) {
		for _, m := range s.fail(why.Error()) {
			emit(m)
		}
	}
	stderr := p.Redact.Writer(p.Stderr)
	c := &child{input: input, grace: p.Grace, gone: make(chan struct{})}
	c.process, err = p.Runner.Start(ctx, proc.Command{
		Argv: p.Command, Box: p.Box, Stdin: stdin, Stdout: p.lines(take, lost), Stderr: stderr,
	})
	if err != nil {
		input.Close()
		return nil, fmt.Errorf("start the server: %w", err)
	}
	p.running.Go(func() {
		c.exit = c.process.Wait()
		stderr.Close()
		input.Close()
		close(c.gone)
	})
	return c, nil
}

// patience is how many times the size of a message a line may have before nobody
// reads on.
const patience = 8

func (p *Proxy) lines(take func([]byte), lost func(error)) *frame.Lines {
	return &frame.Lines{Max: p.MaxMessage, Patience: patience, Line: take, Lost: lost}
}

// fromServer takes one line of the server's output.
func (p *Proxy) fromServer(s *session, text []byte, emit func([]byte)) {
	text = bytes.Clone(bytes.TrimSpace(text))
	if len(text) == 0 {
		return
	}
	for _, m := range each(text, func(m []byte) [][]byte {
		o, err := object.Parse(m)
		if err != nil || o.Get("method") == nil && o.Get("id") == nil {
			return p.garbage(s, m)
		}
		return s.object(o)
	}) {
		emit(m)
	}
}

// garbage is what is no message, such as a line of a log. It is not for the
// client, which may end at it. If it looks like an answer that came to harm,
// nobody knows to what: no open request will have another.
func (p *Proxy) garbage(s *session, text []byte) [][]byte {
	start := text[:min(len(text), 256)]
	if text[0] == '{' && bytes.Contains(start, []byte(`"jsonrpc"`)) {
		return s.fail("the server's answer is not readable")
	}
	said := p.Redact.String(string(text))
	p.say("the server wrote what is no message: " + said[:min(len(said), 256)])
	return nil
}

func (c *child) send(message []byte) error {
	_, err := c.input.Write(line(message))
	return err
}

func (c *child) close() {
	c.input.Close()
	t := time.AfterFunc(c.grace, c.process.End)
	defer t.Stop()
	<-c.gone
}

func (c *child) done() <-chan struct{} { return c.gone }

func (c *child) why() error {
	if c.exit.Err != nil {
		return fmt.Errorf("the server ended: %w", c.exit.Err)
	}
	if c.exit.Cause == proc.Canceled {
		return nil
	}
	return fmt.Errorf("the server ended: %s", c.exit)
}

// errClient says that the client does not take what we write.
var errClient = errors.New("the client has gone")

// Serve speaks with one client until it has gone, which is no error, the server
// has, or ctx ends. Nothing of the server is left then, and each open request has
// its answer.
func (p *Proxy) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	p.prepare()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := newClient(out, func() { stop(errClient) })
	s := p.newSession()
	b, err := p.open(ctx, s, c.emit)
	if err != nil {
		return err
	}
	end := make(chan error, 1)
	t := &talk{s: s, b: b, emit: c.emit}
	go func() { end <- p.listen(ctx, in, t) }()
	select {
	case err = <-end: // no more from the client
	case <-b.done():
		err = b.why()
	case <-ctx.Done():
		if err = context.Cause(ctx); errors.Is(err, errClient) {
			err = nil
		}
	}
	hurry := time.AfterFunc(p.Grace+farewell, func() {
		stop(nil)
		close(c.late)
	})
	defer hurry.Stop()
	b.close()
	t.working.Wait()
	if err == nil && s.waits() {
		err = b.why() // the client had said all, and waited
	}
	for _, m := range s.unknown(err) {
		c.emit(m)
	}
	c.close()
	return err
}

// farewell is how long a client that does not read is waited for, beyond the grace.
const farewell = time.Second

// client is where messages to the client go. They are written by a goroutine of
// their own, so that one who does not read cannot keep us from ending.
type client struct {
	lines   chan []byte
	ended   chan struct{} // no more is said
	written chan struct{} // all is written, or cannot be
	late    chan struct{} // nobody waits any more
}

func newClient(out io.Writer, lost func()) *client {
	c := &client{lines: make(chan []byte), ended: make(chan struct{}), written: make(chan struct{}), late: make(chan struct{})}
	go func() {
		defer close(c.written)
		for {
			select {
			case m := <-c.lines:
				if _, err := out.Write(m); err != nil {
					lost()
					return
				}
			case <-c.ended:
				return
			}
		}
	}()
	return c
}

// emit writes a message, in one line; after the end it does nothing, for whoever
// reads from the client may still be at it.
func (c *client) emit(message []byte) {
	select {
	case c.lines <- line(message):
	case <-c.written:
	case <-c.late:
	}
}

// line is a message as a line of its own; line breaks are only between its parts.
func line(message []byte) []byte {
	message = bytes.TrimSpace(message)
	l := append(append(make([]byte, 0, len(message)+1), message...), '\n')
	for i, b := range l[:len(l)-1] {
		if b == '\n' || b == '\r' {
			l[i] = ' '
		}
	}
	return l
}

func (c *client) close() {
	close(c.ended)
	select {
	case <-c.written:
	case <-c.late:
	}
}

// talk is a client and its server.
type talk struct {
	s       *session
	b       backend
	emit    func([]byte)   // to the client
	working sync.WaitGroup // answers of ours that are being made
}

// listen passes on what a client says, until there is no more.
func (p *Proxy) listen(ctx context.Context, in io.Reader, t *talk) error {
	take := func(text []byte) {
		if text = bytes.TrimSpace(text); len(text) > 0 {
			t.take(ctx, bytes.Clone(text))
		}
	}
	lost := func(why error) { t.emit(failure(nil, codeInvalid, "the message is too long: "+why.Error())) }
	lines := p.lines(take, lost)
	_, err := io.Copy(lines, in)
	_, _ = lines.Write([]byte("\n")) // a last line without its end
	if err != nil {
		return fmt.Errorf("read from the client: %w", err)
	}
	return nil
}

// take passes one message on, or answers it.
func (t *talk) take(ctx context.Context, text []byte) {
	for _, m := range each(text, func(m []byte) [][]byte {
		pass := t.s.client(m)
		if pass.answer != nil {
			t.working.Go(func() { t.emit(pass.answer(ctx)) })
		}
		if pass.forward == nil {
			return nil
		}
		return [][]byte{pass.forward}
	}) {
		_ = t.b.send(m) // the end of the server is noticed elsewhere
	}
}
