// Package proxy stands between any MCP client and any MCP server, and gives the
// client's model what a model in a cycle has: a parameter for notes in every
// tool, and results that are never too large, the rest of which it reads with
// scratchpad_read. See https://modelcontextprotocol.io.
//
// A [Proxy] passes messages on, byte for byte, in both directions. It changes
// three kinds: lists of tools (the parameter, and scratchpad_read), calls (the
// parameter is taken out), and results of calls (a large one is parked). It
// answers calls of scratchpad_read itself, and the open requests when the server
// is gone. It knows no other message, so it need not know the protocol's version.
//
// [Proxy.Serve] speaks with one client over two streams, [Proxy.Handler] with any
// number over streamable HTTP. The server is a program, of which each client has
// its own, or another streamable HTTP server.
package proxy

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"rouse/dispatcher"
	"rouse/internal/proc"
	"rouse/internal/redact"
	"rouse/internal/sandbox"
	"rouse/scratchpad/observation"
	"rouse/tools"
	"rouse/tools/mcp"
)

// Proxy stands before one server. The fields are set once; either Command or URL
// is.
type Proxy struct {
	// Command starts the server, with what Runner gives as its environment.
	Command []string
	Runner  *proc.Runner
	Box     *sandbox.Box // what confines it; nil is nothing
	// URL is a server that speaks streamable HTTP.
	URL *url.URL
	// Header is added to each request to that.
	Header http.Header
	// Plain passes everything on as it is: for servers of Rouse's own, over HTTP.
	Plain bool
	// Mode says whether tools get the parameter for notes, and Notes keeps these.
	Mode  tools.NoteMode
	Notes Log
	// Turn gives the place where large results are kept, and opens it when it is
	// first asked. A result is large from Threshold bytes on; 0 is 4096.
	Turn      func() (*observation.Turn, error)
	Threshold int
	// Redact takes secrets out of notes and of what the server says on stderr.
	Redact *redact.Redactor
	// Token, unless empty, must come as a bearer token with each HTTP request.
	Token string
	// Stderr takes what the server says there, and lines of ours.
	Stderr io.Writer
	// MaxMessage is the size of the largest message, in bytes; 0 is 32 MiB.
	MaxMessage int64
	// Grace is how long the server may take to end once its client has gone; 0
	// is 1.5 s, less than clients give us.
	Grace time.Duration

	once     sync.Once
	shelf    *dispatcher.Shelf
	trip     http.RoundTripper
	parking  sync.Mutex // held while something is put on the shelf
	calls    atomic.Int64
	empty    atomic.Int64 // calls without a note
	parked   atomic.Int64
	warn     sync.Once
	unlogged sync.Once
	speech   sync.Mutex
	running  sync.WaitGroup // servers

	mu    sync.Mutex
	own   map[string]bool // tools by name: whether they have such a parameter themselves
	noted string          // the note that came last
}

// prepare makes what the proxy works with.
func (p *Proxy) prepare() {
	p.once.Do(func() {
		p.Threshold = cmp.Or(max(p.Threshold, 0), 4096)
		p.MaxMessage = cmp.Or(max(p.MaxMessage, 0), 32<<20)
		p.Grace = cmp.Or(max(p.Grace, 0), 1500*time.Millisecond)
		p.shelf = &dispatcher.Shelf{Redact: p.Redact, Turn: p.Turn, Threshold: p.Threshold, Alone: true}
		p.trip = headers{p.Header, mcp.Transport()}
	})
}

// say says something to the operator, in a line.
func (p *Proxy) say(text string) {
	p.speech.Lock()
	defer p.speech.Unlock()
	fmt.Fprintln(p.Stderr, "rouse:", p.Redact.String(text))
}
