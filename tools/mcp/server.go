package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"rouse/internal/lazy"
	"rouse/internal/redact"
	"rouse/internal/sandbox"
	"rouse/internal/text"
	"rouse/tools"
)

const (
	// restarts are how often a server that ended is started again.
	restarts = 3
	// farewell is how long a session may take to end before it is left.
	farewell = 8 * time.Second
	// codeRejected marks errors of the library's HTTP transport, which are no
	// answers; see ErrRejected in its internal/jsonrpc2.
	codeRejected = -32005
)

// server is one server, and what it has said.
type server struct {
	Server
	o    Options
	ctx  context.Context // its life; the one of Start
	box  *sandbox.Box
	hide *redact.Redactor // for our own messages: also what the operator gave the server alone
	keys *keys            // nil where there is nothing to log in at

	oauth auth.OAuthHandler // while a person logs in

	asked atomic.Pointer[string] // what it wanted of us, the last time
	stale atomic.Bool            // the server has said that its tools changed

	mu       sync.Mutex // held while it is connected or listed
	link     *link
	starts   int
	closed   bool
	offered  []rawTool         // as last listed
	login    bool              // a person has to log in
	accepted map[string]string // the hashes of the accepted ones, nil where that cannot be known
	problems []string
	heard    bool // it was started or asked, so that what is said of it has words of its own
}

// link is a connection to a server.
type link struct {
	session *sdk.ClientSession
	pipes   *pipes             // nil if it is not our child
	cancel  context.CancelFunc // ends all that the connection does
	gone    chan struct{}      // the connection has ended
}

// connect starts the server and lists its tools, within the start limit.
func (s *server) connect(ctx context.Context) error {
	s.starts++
	_ = s.keys.why(nil)
	ctx, stop := context.WithTimeout(ctx, s.startLimit())
	defer stop()
	life, cancel := context.WithCancel(s.ctx)
	l := &link{cancel: cancel, gone: make(chan struct{})}
	err := s.open(ctx, life, l)
	if err == nil {
		s.stale.Store(false)
		var problems []string
		s.offered, problems, err = list(ctx, l.session, s.o)
		if s.starts == 1 {
			s.problems = append(s.problems, problems...)
		}
	}
	if err != nil {
		err = s.keys.why(err)
		_, s.login = errors.AsType[*loginError](err)
		s.heard = s.heard && (l.pipes != nil || !errors.Is(err, errNotSent))
		err = s.explain(ctx, l, err)
		l.close()
		return err
	}
	s.link = l
	return nil
}

func (s *server) open(ctx, life context.Context, l *link) error {
	var transport sdk.Transport
	var err error
	if s.URL != "" {
		transport, err = remote(s)
	} else {
		l.pipes, err = s.start(life)
		transport = l.pipes
	}
	if err != nil {
		close(l.gone)
		return err
	}
	s.heard = true
	client := sdk.NewClient(&sdk.Implementation{Name: "rouse", Version: cmp.Or(s.o.Version, "0")}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{},
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { s.changed() },
	})
	client.AddReceivingMiddleware(s.refuse)
	l.session, err = client.Connect(ctx, transport, nil)
	if err != nil {
		close(l.gone)
		return err
	}
	go func() {
		l.session.Wait()
		close(l.gone)
	}()
	return nil
}

// changed notes that the tools changed, and reports whether that is news.
func (s *server) changed() bool { return !s.stale.Swap(true) }

// refuse answers what a server asks of us: whether we are there, and no more.
func (s *server) refuse(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		switch method {
		case "sampling/createMessage", "elicitation/create", "roots/list":
			return nil, s.refusal(method)
		}
		return next(ctx, method, r)
	}
}

func (s *server) refusal(method string) error {
	method = text.Words(method)
	s.asked.Store(&method)
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: method + " is not offered by this client"}
}

func (s *server) startLimit() time.Duration { return cmp.Or(s.StartTimeout, s.o.StartLimit) }

// explain says why a server did not start.
func (s *server) explain(ctx context.Context, l *link, err error) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer within %v", s.startLimit())
	}
	switch end := l.pipes.ending(); {
	case end != "":
		return s.kept(l, "it ended at once: "+end)
	case l.pipes != nil:
		return s.kept(l, s.clean(err)+l.pipes.said())
	}
	return errors.New(s.clean(err))
}

// kept is why a server did not start, with what the sandbox kept it from.
func (s *server) kept(l *link, why string) error {
	r := tools.Fail("%s", why)
	r.Refuse(s.box.Refused(s.Dir, l.pipes.stderr.String(), nil, l.pipes.refused()))
	return errors.New(r.Error)
}

// maxSaid is how much of a failed call's answer is searched for what the sandbox
// refused, in bytes.
const maxSaid = 16 << 10

// clean is an error of others in one line, without what the operator gave the
// server alone. Of its address it has the part that is no secret.
func (s *server) clean(err error) string {
	if e, ok := errors.AsType[*loginError](err); ok {
		err = e
	}
	said := address.Get().ReplaceAllStringFunc(err.Error(), func(a string) string {
		if u, err := url.Parse(a); err == nil && s.URL != "" && strings.HasPrefix(s.Start(), u.Scheme+"://") && strings.HasSuffix(s.Start(), "/"+u.Host) {
			return s.Start()
		}
		return a
	})
	return text.Brief(s.keys.hide(s.hide).String(said), 600)
}

// address matches an address in an error.
var address = lazy.Regexp{Expr: `https?://[^\s"'<>]+`}

// close ends the connection and what stands behind it.
func (l *link) close() {
	defer l.cancel()
	if l.pipes != nil {
		l.pipes.Close()
	}
	if l.session == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		l.session.Close()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(farewell):
	}
}

func (l *link) ended() bool {
	select {
	case <-l.gone:
		return true
	default:
	}
	if l.pipes == nil {
		return false
	}
	select {
	case <-l.pipes.dead:
		return true
	default:
		return false
	}
}

// ready gives a connection for a call of t: one to a server that ended is made
// anew, and if the tools changed, t must still be what was accepted.
func (s *server) ready(ctx context.Context, t rawTool) (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the server is closed")
	}
	var err error
	if s.link == nil || s.link.ended() {
		err = s.restart(ctx)
	} else if s.stale.Load() {
		err = s.relist(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s.link, s.same(t)
}

func (s *server) restart(ctx context.Context) error {
	if s.link != nil {
		s.link.close()
		s.link = nil
	}
	if s.starts > restarts {
		return fmt.Errorf("the server ended %d times and is not started again", s.starts)
	}
	if err := s.connect(ctx); err != nil {
		return fmt.Errorf("the server does not start again: %w", err)
	}
	return nil
}

func (s *server) relist(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, s.startLimit())
	defer stop()
	s.stale.Store(false)
	offered, _, err := list(ctx, s.link.session, s.o)
	if err != nil {
		s.stale.Store(true)
		return fmt.Errorf("its tools changed, and the new list does not come: %s", s.clean(err))
	}
	s.offered = offered
	return nil
}

// same says whether the server still offers t as it was.
func (s *server) same(t rawTool) error {
	for _, now := range s.offered {
		if now.Name == t.Name && now.hash() == t.hash() {
			return nil
		}
		if now.Name == t.Name {
			return fmt.Errorf("the tool changed during the cycle, so it is off until the operator has looked at it and runs: rouse mcp accept %s", s.Name)
		}
	}
	return errors.New("the server does not have the tool any more")
}

// call carries out one call.
func (s *server) call(ctx context.Context, t rawTool, call tools.Call) tools.Result {
	l, err := s.ready(ctx, t)
	if err != nil {
		return tools.Fail("%s: not carried out: %s", quoted(s.Name), s.clean(err))
	}
	limit := cmp.Or(s.Timeout, s.o.CallLimit)
	limited, stop := context.WithTimeout(ctx, limit)
	defer stop()
	c := &capture{max: s.o.MaxMessage}
	args := call.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	before := l.pipes.refused()
	s.asked.Store(nil)
	res, err := l.session.CallTool(withCapture(limited, c), &sdk.CallToolParams{Name: t.Name, Arguments: args})
	switch {
	case err == nil && res.InputRequests != nil:
		return tools.Fail("%s: the tool asks for more input, which is not on offer", quoted(s.Name))
	case err == nil:
		var said text.Ends
		said.Head = maxSaid
		hide, out := s.keys.hide(s.o.Redact), s.keys.hide(nil).Writer(call.Output)
		r := unwrapper{out: io.MultiWriter(out, &said), hide: hide}.unwrap(res, c.raw())
		out.Close()
		words := ""
		if head, _, _ := said.Kept(); !r.OK {
			words = r.Error + "\n" + string(head)
		}
		if asked := s.asked.Load(); asked != nil {
			r.Tell("refused", *asked+", which nobody answers here: give the tool all that it needs in its arguments")
		}
		r.Refuse(s.box.Refused(s.Dir, words, before, l.pipes.refused()))
		return r
	case ctx.Err() != nil:
		return s.unknown("stopped: " + context.Cause(ctx).Error())
	case limited.Err() != nil:
		return s.unknown(fmt.Sprintf("no answer within %v; it was told to stop", limit))
	}
	return s.failed(l, err)
}

// failed is the result of a call that got an error for an answer.
func (s *server) failed(l *link, err error) tools.Result {
	var wire *jsonrpc.Error
	switch {
	case errors.Is(err, errNotSent), errors.Is(err, errRefused):
		return tools.Fail("%s: not carried out: %s", quoted(s.Name), s.clean(err))
	case errors.As(err, &wire) && wire.Code != codeRejected:
		return tools.Fail("%s answers with an error: %s (%d)", quoted(s.Name), s.clean(errors.New(wire.Message)), wire.Code)
	}
	if end := l.pipes.ending(); end != "" {
		return s.unknown("the server ended during the call: " + end)
	}
	return s.unknown(s.clean(err))
}

// unknown is the result of a call that may have taken effect.
func (s *server) unknown(why string) tools.Result {
	r := tools.Fail("%s: outcome unknown, it may have taken effect: look before you repeat it: %s", quoted(s.Name), why)
	r.Metadata = map[string]any{"outcome": "unknown"}
	return r
}

// close ends the server; no call is carried out after.
func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.link != nil {
		s.link.close()
	}
}
