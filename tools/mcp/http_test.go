package mcp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// conforming is a server made with the library.
func conforming(stateless bool) (*sdk.Server, http.Handler) {
	s := sdk.NewServer(&sdk.Implementation{Name: "conforming", Version: "1"}, nil)
	schema := map[string]any{"type": "object"}
	s.AddTool(&sdk.Tool{Name: "say", InputSchema: schema}, say)
	s.AddTool(&sdk.Tool{Name: "ask", InputSchema: schema}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		//lint:ignore SA1019 servers still ask for it
		_, sampling := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 1})
		//lint:ignore SA1019 likewise
		_, roots := r.Session.ListRoots(ctx, nil)
		_, input := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "key?"})
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(sampling != nil, roots != nil, input != nil)}}}, nil
	})
	return s, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: stateless})
}

func say(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "said " + string(r.Params.Arguments)}}}, nil
}

func TestHTTP(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		server, handler := conforming(stateless)
		h := httptest.NewServer(handler)
		t.Cleanup(h.Close)
		r := newRig(t)
		s := r.start(Server{Name: "web", URL: h.URL})
		if len(s.Problems()) > 0 {
			t.Fatal(s.Problems())
		}
		if got := call(t, s, "web__say", `{"n":12345678901234567890}`); !got.OK || got.out != `said {"n":12345678901234567890}` {
			t.Errorf("stateless %v: %+v", stateless, got)
		}
		if got := call(t, s, "web__ask", `{}`); !stateless && got.out != "true true true" {
			t.Errorf("asked: %+v", got)
		}
		if stateless {
			continue
		}
		server.AddTool(&sdk.Tool{Name: "say", Description: "changed", InputSchema: map[string]any{"type": "object"}}, say)
		known := find(t, s, "web__say")
		poll(t, "the change is known", func() bool {
			got := known(`{}`)
			return !got.OK && strings.Contains(got.Error, "off until")
		})
	}
}

func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 2000 {
		if ok() {
			return
		}
		<-tick.C
	}
	t.Fatalf("never: %s", what)
}

// rogue is a web server that speaks just enough of the protocol by hand, and
// leaves the answer to a call to misbehave.
func rogue(t *testing.T, misbehave http.HandlerFunc) *httptest.Server {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		result := ""
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","serverInfo":{"name":"r","version":"1"},"capabilities":{"tools":{}}}`
		case "tools/list":
			result = `{"tools":[{"name":"say","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			misbehave(w, r)
			return
		case "server/discover":
			http.Error(w, "what?", http.StatusBadRequest)
			return
		default:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(h.Close)
	return h
}

// TestHostileHTTP: what a web server does costs its own call, in bounded memory.
func TestHostileHTTP(t *testing.T) {
	endless := func(w io.Writer, head string) {
		io.WriteString(w, head)
		chunk := bytes.Repeat([]byte("x"), 1<<16)
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	head := `{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"`
	modes := []struct {
		name    string
		handler http.HandlerFunc
		unknown bool
		says    string
	}{
		{"endless JSON", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			endless(w, head)
		}, true, "too long"},
		{"endless event", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			endless(w, "data: "+head)
		}, true, "exceeded"},
		{"gzip bomb", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			endless(z, head)
		}, true, "too long"},
		{"never", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, true, "no answer within"},
		{"cut", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, head)
		}, true, "EOF"},
		{"HTML", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<h1>login</h1>")
		}, true, "content type"},
		{"500", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "oops", http.StatusInternalServerError) }, true, "Internal Server Error"},
		{"401", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "oops", http.StatusUnauthorized) }, false, "not carried out: .*headers in .mcp.json"},
	}
	for _, m := range modes {
		r := newRig(t)
		r.o.CallLimit = time.Minute
		if m.name == "never" {
			r.o.CallLimit = 300 * time.Millisecond
		}
		before := peak(true)
		s := r.start(Server{Name: "bad", URL: rogue(t, m.handler).URL}, r.server("good", "good"))
		for range 2 { // the second time on a new connection
			got := call(t, s, "bad__say", `{}`)
			if got.OK || got.unknown() != m.unknown || !matches(m.says, got.Error) {
				t.Errorf("%s: %+v", m.name, got)
			}
			if other := call(t, s, "good__say", `{}`); !other.OK {
				t.Errorf("%s: the other server: %+v", m.name, other)
			}
		}
		s.Close()
		more := max(0, peak(false)-before)
		t.Logf("%s: %d MiB more at the peak", m.name, more)
		if more > 40*int(r.o.MaxMessage>>20) {
			t.Errorf("%s: %d MiB more", m.name, more)
		}
	}
}

// TestRedirect: headers go to the server that they are for, and no further.
func TestRedirect(t *testing.T) {
	var leaked, asked atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if strings.Contains(fmt.Sprint(r.Header), "canary") {
			leaked.Add(1)
		}
	}))
	defer thief.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, thief.URL, status)
		}))
		s := newRig(t).start(Server{Name: "web", URL: h.URL, Headers: map[string]string{"X-Key": "canary-key-1"}})
		if !has(s.Problems(), "redirects to another server") || has(s.Problems(), "canary") {
			t.Errorf("%d: %q", status, s.Problems())
		}
		h.Close()
	}
	if asked.Load() > 0 || leaked.Load() > 0 {
		t.Errorf("the other server was asked %d times, got the key %d times", asked.Load(), leaked.Load())
	}
}

// TestHTTPGone: a call to a server that is not there any more was not carried out.
func TestHTTPGone(t *testing.T) {
	var got http.Header
	h := rogue(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		http.Error(w, "", http.StatusServiceUnavailable)
	})
	s := newRig(t).start(Server{Name: "web", URL: h.URL, Headers: map[string]string{"X-Key": "mine"}})
	say := find(t, s, "web__say")
	if a := say(`{}`); a.OK || got.Get("X-Key") != "mine" {
		t.Errorf("got %+v, headers %v", a, got)
	}
	h.CloseClientConnections()
	h.Close()
	if a := say(`{}`); a.OK || a.unknown() || !strings.Contains(a.Error, "not carried out") {
		t.Errorf("got %+v", a)
	}
}
