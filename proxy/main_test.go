package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/proc"
	"rouse/internal/redact"
	"rouse/scratchpad/observation"
	"rouse/tools"
	"rouse/tools/mcp/mcptest"
)

// serverVariable makes the test binary an MCP server with every feature.
const serverVariable = "PROXY_TEST_SERVER"

func TestMain(m *testing.M) {
	if mode, ok := os.LookupEnv(mcptest.Variable); ok {
		mcptest.Main(mode)
		return
	}
	if dir := os.Getenv(proxyVariable); dir != "" {
		beProxy(dir)
		return
	}
	if os.Getenv(serverVariable) != "" {
		if err := fullServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	disktest.Main(m)
}

// proxyVariable makes it a proxy before such a server, with its home there.
const proxyVariable = "PROXY_TEST_HOME"

func beProxy(dir string) {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	store, err := observation.Open(dir, observation.Options{})
	if err != nil {
		panic(err)
	}
	p := &Proxy{
		Command: []string{exe}, Runner: &proc.Runner{Env: append(proc.Environ(os.Environ()), serverVariable+"=1")}, Mode: tools.NoteRequired, Stderr: os.Stderr,
		Turn:  sync.OnceValues(func() (*observation.Turn, error) { return store.Begin(fmt.Sprint(os.Getpid()), proc.Self()) }),
		Notes: Log{FS: disk.OS{}, Path: filepath.Join(dir, "proxy_x.jsonl"), Now: time.Now},
	}
	if err := p.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		panic(err)
	}
}

const secret = "correct-horse-battery"

// rig is a proxy with a home of its own.
type rig struct {
	*Proxy
	t      testing.TB
	dir    string
	store  *observation.Store
	stderr *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// newRig makes a proxy before this binary, with an environment that makes it a
// server.
func newRig(t testing.TB, env ...string) *rig {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	store, err := observation.Open(dir, observation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	hide := redact.New(map[string]string{"PASS": secret})
	r := &rig{t: t, dir: dir, store: store, stderr: &lockedBuffer{}, Proxy: &Proxy{
		Command: []string{exe}, Mode: tools.NoteRequired, Redact: hide, MaxMessage: 8 << 20, Grace: 300 * time.Millisecond,
		Runner: &proc.Runner{Env: append(proc.Environ(os.Environ()), append(env, "GORACE=atexit_sleep_ms=0")...)},
		Turn:   sync.OnceValues(func() (*observation.Turn, error) { return store.Begin("proxy_test", proc.Self()) }),
		Notes:  Log{FS: disk.OS{}, Path: filepath.Join(dir, "proxy_x.jsonl"), Session: "proxy_test", Redact: hide, Now: time.Now},
	}}
	r.Stderr = r.stderr
	return r
}

// notes is what the log of the notes holds.
func (r *rig) notes() string {
	data, err := os.ReadFile(r.Notes.Path)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

// piped is a client's side of a proxy over two streams.
type piped struct {
	io.Reader
	io.WriteCloser
	end chan error
}

func (r *rig) serve() *piped {
	in, w := io.Pipe()
	out, ow := io.Pipe()
	p := &piped{out, w, make(chan error, 1)}
	go func() {
		p.end <- r.Serve(r.t.Context(), in, ow)
		ow.Close()
		in.Close()
	}()
	return p
}

// over says how a client reaches a server: directly or through a proxy.
type over func(t testing.TB) sdk.Transport

func (r *rig) stdio() sdk.Transport {
	p := r.serve()
	r.t.Cleanup(func() { p.Close() })
	return &sdk.IOTransport{Reader: io.NopCloser(p.Reader), Writer: p.WriteCloser}
}

// listening serves HTTP and gives the address.
func (r *rig) listening() string {
	ctx, stop := context.WithCancel(context.Background())
	s := httptest.NewServer(r.Handler(ctx))
	r.t.Cleanup(func() {
		stop()
		s.CloseClientConnections()
		s.Close()
		r.Close()
	})
	return s.URL + "/mcp"
}

// web serves the full server over HTTP and gives the address.
func web(t testing.TB, stateless bool) string {
	server := fullServer()
	s := httptest.NewServer(sdk.NewStreamableHTTPHandler(
		func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: stateless}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

func at(address string) *url.URL {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	return u
}

// ways are all ways to the full server, the direct ones first.
func ways() map[string]over {
	return map[string]over{
		"stdio directly": func(t testing.TB) sdk.Transport {
			r := newRig(t)
			in, out := io.Pipe()
			back, w := io.Pipe()
			p, err := r.Runner.Start(t.Context(), proc.Command{Argv: r.Command, Env: []string{serverVariable + "=1"}, Stdin: in, Stdout: w, Stderr: os.Stderr})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.End(); p.Wait() })
			return &sdk.IOTransport{Reader: back, Writer: out}
		},
		"http directly":  func(t testing.TB) sdk.Transport { return &sdk.StreamableClientTransport{Endpoint: web(t, false)} },
		"stdio to stdio": func(t testing.TB) sdk.Transport { return newRig(t, serverVariable+"=1").stdio() },
		"http to stdio": func(t testing.TB) sdk.Transport {
			return &sdk.StreamableClientTransport{Endpoint: newRig(t, serverVariable+"=1").listening()}
		},
		"http to http": func(t testing.TB) sdk.Transport {
			return &sdk.StreamableClientTransport{Endpoint: before(t, web(t, false)).listening()}
		},
		"stdio to http": func(t testing.TB) sdk.Transport { return before(t, web(t, false)).stdio() },
	}
}

// before is a proxy before an address.
func before(t testing.TB, address string) *rig {
	r := newRig(t)
	r.Command, r.URL = nil, at(address)
	return r
}
