package proxy

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"rouse/tools/mcp/mcptest"
)

func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// hostile is a proxy before a server in one of its modes, which works in the rig's
// folder.
func hostile(t testing.TB, mode string) *rig {
	r := newRig(t, mcptest.Variable+"="+mode)
	exe := r.Command[0]
	r.Command = []string{"/bin/sh", "-c", "cd " + r.dir + " && exec " + exe}
	return r
}

// lines reads messages with a limit of time.
type lines struct {
	t  *testing.T
	ch chan string
}

func (p *piped) lines(t *testing.T) lines {
	l := lines{t, make(chan string, 1000)}
	go func() {
		defer close(l.ch)
		s := bufio.NewScanner(p.Reader)
		s.Buffer(nil, 64<<20)
		for s.Scan() {
			l.ch <- s.Text()
		}
	}()
	return l
}

// next is the next message to a request, or "" at the end.
func (l lines) to(id string) string {
	l.t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case m, ok := <-l.ch:
			if !json.Valid([]byte(m)) && ok {
				l.t.Errorf("no JSON: %.200s", m)
			}
			if !ok || strings.Contains(m, `"id":`+id) {
				return m
			}
		case <-limit:
			l.t.Fatalf("no answer to %s", id)
		}
	}
}

func (p *piped) say(t *testing.T, messages ...string) {
	t.Helper()
	for _, m := range messages {
		if _, err := io.WriteString(p.WriteCloser, m+"\n"); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	say   = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"say","arguments":{"text":"hi"}}}`
	again = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"say","arguments":{"text":"hi"}}}`
)

// TestServerFails: what a server does wrong ends cleanly. Every request has an
// answer, and no process is left.
func TestServerFails(t *testing.T) {
	tests := []struct {
		mode, answer, again string // what the answers hold
		end                 string // the error of Serve
	}{
		{"good", "said: hi", "said: hi", ""},
		{"logs", "said: hi", "said: hi", ""},
		{"batch", "said: hi", "said: hi", ""},
		{"exit", "the server ended: exit code 3", "", "the server ended: exit code 3"},
		{"die-before", "the server ended: exit code 7; whether the request had an effect is not known", "", "exit code 7"},
		{"die-during", "whether the request had an effect", "", "exit code 7"},
		{"die-after", "said: hi", "", "exit code 0"},
		{"giant", "longer than 8388608 bytes", "said: hi", ""},
		{"no-newline", "longer than 8388608 bytes", "", "the server ended"},
		{"broken", "not readable", "said: hi", ""},
		{"doubled", "said: hi", "said: hi", ""},
		{"stubborn", "", "", ""},
		{"fork", "said: hi", "said: hi", ""},
		{"utf8", "a", "a", ""},
		{"storm", "said: hi", "said: hi", ""},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			r := hostile(t, tt.mode)
			p := r.serve()
			l := p.lines(t)
			p.say(t, hello)
			if tt.mode != "exit" {
				l.to("1")
			}
			if tt.mode != "exit" {
				p.say(t, say)
			}
			id := map[bool]string{true: "1", false: "2"}[tt.mode == "exit"]
			if tt.answer != "" {
				if got := l.to(id); !strings.Contains(got, tt.answer) {
					t.Errorf("got %.300s", got)
				}
			}
			if tt.again != "" {
				p.say(t, again)
				if got := l.to("3"); !strings.Contains(got, tt.again) {
					t.Errorf("then %.300s", got)
				}
			}
			if tt.end == "" {
				p.Close()
			}
			err := <-p.end
			if (err == nil) != (tt.end == "") || err != nil && !strings.Contains(err.Error(), tt.end) {
				t.Errorf("ended with %v", err)
			}
			if tt.answer == "" {
				if got := l.to("2"); !strings.Contains(got, "the client has gone") {
					t.Errorf("open request: %s", got)
				}
			}
			if list := mcptest.Left(r.dir); len(list) > 0 {
				t.Errorf("left: %q", list)
			}
		})
	}
}

// TestClientFails: a client that goes, floods or talks nonsense leaves nothing.
func TestClientFails(t *testing.T) {
	t.Run("does not read", func(t *testing.T) {
		r := hostile(t, "storm")
		p := r.serve()
		p.say(t, hello, say)
		p.Close()
		if err := <-p.end; err != nil || len(mcptest.Left(r.dir)) > 0 {
			t.Errorf("%v, left %q", err, mcptest.Left(r.dir))
		}
	})
	t.Run("stops reading for good", func(t *testing.T) {
		r := hostile(t, "good")
		p := r.serve()
		p.Reader.(*io.PipeReader).CloseWithError(errors.New("gone"))
		p.say(t, hello)
		if err := <-p.end; err != nil || len(mcptest.Left(r.dir)) > 0 {
			t.Errorf("%v, left %q", err, mcptest.Left(r.dir))
		}
	})
	t.Run("nonsense", func(t *testing.T) {
		r := hostile(t, "good")
		p := r.serve()
		l := p.lines(t)
		p.say(t, "", "nonsense", `{"id":`, "[]", `[1,2]`, "null", `{"method":7,"id":{}}`, `{"jsonrpc":"2.0","id":null,"method":"tools/call","params":[]}`, hello)
		l.to("1")
		p.say(t, say)
		if got := l.to("2"); !strings.Contains(got, "said: hi") {
			t.Error(got)
		}
		p.Close()
		if err := <-p.end; err != nil {
			t.Error(err)
		}
	})
	t.Run("a giant", func(t *testing.T) {
		r := hostile(t, "good")
		p := r.serve()
		l := p.lines(t)
		p.say(t, hello)
		l.to("1")
		p.say(t, `{"jsonrpc":"2.0","id":9,"method":"`+strings.Repeat("x", 9<<20)+`"}`)
		if got := l.to("null"); !strings.Contains(got, "too long") {
			t.Error(got)
		}
		p.say(t, say)
		l.to("2")
		p.Close()
		<-p.end
	})
	t.Run("the last line has no end", func(t *testing.T) {
		r := hostile(t, "good")
		p := r.serve()
		l := p.lines(t)
		io.WriteString(p.WriteCloser, hello)
		p.Close()
		if got := l.to("1"); !strings.Contains(got, "mcptest") {
			t.Error(got)
		}
		<-p.end
	})
}

// TestDoor: web pages, and those without the token, get nothing.
func TestDoor(t *testing.T) {
	r := newRig(t, serverVariable+"=1")
	r.Token = "open-" + "sesame-42"
	address := r.listening()
	for _, tt := range []struct {
		host, origin, token string
		want                int
	}{
		{"", "", r.Token, 200}, {"", "", "", 401}, {"", "", "wrong", 401}, {"evil.example", "", r.Token, 403},
		{"", "http://evil.example", r.Token, 403}, {"", "null", r.Token, 403}, {"localhost:80", "http://localhost:3000", r.Token, 200}, {"", "http://localhost.evil.example", r.Token, 403},
	} {
		req, err := http.NewRequest("POST", address, strings.NewReader(hello))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = tt.host
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if tt.origin != "" {
			req.Header.Set("Origin", tt.origin)
		}
		if tt.token != "" {
			req.Header.Set("Authorization", "Bearer "+tt.token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("%+v: %s", tt, resp.Status)
		}
	}
}

// TestRemoteFails: a server at an address that is not there, refuses, or breaks off.
func TestRemoteFails(t *testing.T) {
	answers := map[string]http.HandlerFunc{
		"refuses": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) },
		"breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: message\ndata: {\"jsonrpc\"")
		},
		"says nothing": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) },
		"lies": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "garbage")
		},
		"is giant": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, strings.Repeat("x", 9<<20))
		},
		"is a giant stream": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: "+strings.Repeat("x", 9<<20)+"\n\n")
		},
		"sends elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://evil.example/", http.StatusTemporaryRedirect)
		},
	}
	for name, answer := range answers {
		s := httptest.NewServer(answer)
		defer s.Close()
		r := before(t, s.URL)
		p := r.serve()
		l := p.lines(t)
		p.say(t, hello)
		if got := l.to("1"); !strings.Contains(got, `"error"`) {
			t.Errorf("%s, stdio: %s", name, got)
		}
		p.Close()
		if err := <-p.end; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, nil)
		if _, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: before(t, s.URL).listening(), MaxRetries: -1}, nil); err == nil {
			t.Errorf("%s, http: connected", name)
		}
	}
	r := before(t, "http://127.0.0.1:1/")
	p := r.serve()
	p.say(t, hello)
	if got := p.lines(t).to("1"); !strings.Contains(got, "connection refused") {
		t.Error(got)
	}
	p.Close()
	<-p.end
}

// TestCancelled: a server may leave a request unanswered that was cancelled.
func TestCancelled(t *testing.T) {
	r := newRig(t)
	r.Command = []string{"/bin/sh", "-c", "cat >/dev/null"}
	p := r.serve()
	l := p.lines(t)
	p.say(t, say, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	p.Close()
	if err := <-p.end; err != nil {
		t.Errorf("ended with %v", err)
	}
	if got := l.to("2"); got != "" {
		t.Errorf("told of it: %s", got)
	}
}

// TestLateClient: what a client says once its server has ended harms nothing.
func TestLateClient(t *testing.T) {
	r := newRig(t)
	r.Command, r.MaxMessage = []string{"/bin/sh", "-c", "exit 3"}, 100
	in, client := io.Pipe()
	if err := r.Serve(t.Context(), in, io.Discard); err == nil || !strings.Contains(err.Error(), "exit code 3") {
		t.Errorf("ended with %v", err)
	}
	for range 2 { // the second is taken once the first is answered
		if _, err := io.WriteString(client, strings.Repeat("x", 101)+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	client.Close()
}
