package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rouse/internal/text"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// zipped is n bytes of text, compressed.
func zipped(t *testing.T, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	chunk := bytes.Repeat([]byte("boom "), 1<<10)
	for ; n > 0; n -= len(chunk) {
		if _, err := w.Write(chunk[:min(n, len(chunk))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// raw answers a path with bytes of its own choice, then hangs up; endless
// repeats the last of them until the client does.
type raw struct {
	head    string
	endless string
	hang    bool
}

func (a raw) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	_, err = io.WriteString(c, a.head)
	more := strings.Repeat(a.endless, 1000)
	for err == nil && more != "" {
		_, err = io.WriteString(c, more)
	}
	if a.hang {
		io.Copy(io.Discard, c) // until the client gives up
	}
}

func TestBodies(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	gz := string(zipped(t, 16<<20))
	r := newRig(t)
	mux := http.NewServeMux()
	r.server.Config.Handler, r.server.Config.ErrorLog = mux, quiet()
	for i, c := range []struct {
		name   string
		answer raw
		body   string // its beginning, where it is long
		err    string
		meta   map[string]any
	}{
		{"text", raw{head: ok + "Content-Length: 5\r\n\r\nhello"}, "hello", "", map[string]any{"bytes": int64(5), "truncated": false}},
		{"empty", raw{head: ok + "Content-Length: 0\r\n\r\n"}, "", "", map[string]any{"bytes": int64(0)}},
		{"no content", raw{head: "HTTP/1.1 204 No Content\r\n\r\n"}, "", "", map[string]any{"status": 204}},
		{"not found", raw{head: "HTTP/1.1 404 Gone Fishing\r\nContent-Length: 4\r\n\r\nnope"}, "nope", "HTTP 404 Not Found",
			map[string]any{"status": 404, "bytes": int64(4)}},
		{"server error", raw{head: "HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n"}, "", "HTTP 503 Service Unavailable", nil},
		{"binary", raw{head: ok + "Content-Length: 8\r\n\r\n\x89PNG\r\n\x1a\n"}, "\x89PNG\r\n\x1a\n", "",
			map[string]any{"encoding": "binary"}},
		{"latin-1", raw{head: ok + "Content-Length: 5\r\n\r\ncaf\xe9\n"}, "caf\xe9\n", "", map[string]any{"encoding": "binary"}},
		{"gzip", raw{head: ok + "Content-Encoding: gzip\r\n\r\n" + string(zipped(t, 10))}, "boom boom ", "",
			map[string]any{"bytes": int64(10), "truncated": false}},
		{"gzip bomb", raw{head: ok + "Content-Encoding: gzip\r\n\r\n" + gz}, "boom boom", "",
			map[string]any{"bytes": int64(1 << 20), "truncated": true}},
		{"gzip cut off", raw{head: ok + "Content-Encoding: gzip\r\n\r\n" + gz[:500]}, "", "ended early", map[string]any{"truncated": true}},
		{"gzip that is none", raw{head: ok + "Content-Encoding: gzip\r\n\r\nplain text"}, "", "broke off after 0 bytes: gzip", nil},
		{"endless", raw{head: ok + "\r\n", endless: "for ever and "}, "for ever and for", "",
			map[string]any{"bytes": int64(1 << 20), "truncated": true}},
		{"says 2 GB", raw{head: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2000000000\r\n\r\n", endless: `["x"],`},
			`["x"],`, "", map[string]any{"bytes": int64(1 << 20), "truncated": true, "content_type": "application/json"}},
		{"length too large", raw{head: ok + "Content-Length: 50\r\n\r\nhello"}, "hello", "ended early, after 5 bytes of 50",
			map[string]any{"bytes": int64(5), "truncated": true}},
		{"length too small", raw{head: ok + "Content-Length: 2\r\n\r\nhello"}, "he", "", map[string]any{"bytes": int64(2)}},
		{"length negative", raw{head: ok + "Content-Length: -1\r\n\r\nhello"}, "", "Content-Length", nil},
		{"two lengths", raw{head: ok + "Content-Length: 2\r\nContent-Length: 5\r\n\r\nhello"}, "", "Content-Length", nil},
		{"chunk cut off", raw{head: ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n9\r\nwor"}, "hello", "ended early", nil},
		{"bad chunk", raw{head: ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello"}, "", "broke off", nil},
		{"slow head", raw{head: "HTTP/1.1 200 O", hang: true}, "", "no complete answer within 150ms", nil},
		{"slow body", raw{head: ok + "Content-Length: 9\r\n\r\nhell", hang: true}, "hell", "no complete answer within 150ms",
			map[string]any{"bytes": int64(4), "truncated": true}},
		{"header flood", raw{head: ok, endless: "X-Flood: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"}, "", "headers exceeded 65536 bytes", nil},
		{"one endless header", raw{head: ok + "X: ", endless: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}, "", "headers exceeded 65536 bytes", nil},
		{"endless early hints", raw{endless: "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"}, "", " ", nil},
		{"not HTTP", raw{head: "220 smtp ready\r\n"}, "", "malformed HTTP", nil},
		{"nothing", raw{}, "", "EOF", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := fmt.Sprintf("/%d", i)
			mux.Handle(path, c.answer)
			cl := r.client()
			cl.maxBytes = 1 << 20
			if c.answer.hang {
				cl.timeout = 150 * time.Millisecond
			}
			got, body := fetch(t, cl, "http://"+at(r.server)+path, nil)
			if got.OK != (c.err == "") || !strings.Contains(got.Error, c.err) || !strings.HasPrefix(body, c.body) {
				t.Errorf("%+v, body %q", got, body[:min(len(body), 100)])
			}
			for k, v := range c.meta {
				if diff := cmp.Diff(v, got.Metadata[k]); diff != "" {
					t.Errorf("%s: %s", k, diff)
				}
			}
			if got.Metadata["truncated"] == true && got.OK && !strings.HasSuffix(body, "[CUT after 1048576 bytes]") {
				t.Errorf("it does not say that it is cut: %q", body[len(body)-50:])
			}
		})
	}
}

func TestSchemes(t *testing.T) {
	r := newRig(t)
	for _, u := range []string{"file:///etc/passwd", "FILE:///etc/passwd", "gopher://127.0.0.1:6379/_FLUSHALL", "ftp://127.0.0.1/x",
		"unix:///run/docker.sock", "http+unix://%2Frun%2Fdocker.sock/info", "data:text/plain,hi", "javascript:alert(1)", "jar:http://x!/",
		"ws://127.0.0.1/", "", "http", "http:", "://x", strings.Repeat("http://x/", 2000)} {
		if got, _ := fetch(t, r.client(), u, nil); got.OK {
			t.Errorf("%q: %+v", text.CutBytes(u, 100), got)
		}
	}
	if d := r.Reached(); len(d) > 0 {
		t.Errorf("dialled %v", d)
	}
}

func TestMetadata(t *testing.T) {
	r := newRig(t)
	r.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/old" {
			http.Redirect(w, req, "/new?q=1#frag", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "%s %s", req.Host, req.UserAgent())
	})
	got, body := fetch(t, r.client(), "HTTP://"+at(r.server)+"/old", nil)
	want := map[string]any{"url": "http://" + at(r.server) + "/new?q=1", "status": 200, "content_type": "text/html; charset=utf-8",
		"bytes": int64(len(body)), "encoding": "utf-8", "truncated": false}
	if diff := cmp.Diff(want, got.Metadata); diff != "" || body != at(r.server)+" rouse" {
		t.Errorf("body %q\n%s", body, diff)
	}
	if tool := Get(Options{}); tool.ReadOnly || tool.Check([]byte(`{"url":"x","headers":{"a":"b"}}`)) != nil {
		t.Errorf("%+v", tool)
	}
}
