package page

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rouse/internal/sweep"
)

// TestRequests: what no page of this server sends is refused, and does nothing. Names of
// hosts are in TestHosts, origins in TestOrigins.
func TestRequests(t *testing.T) {
	t.Parallel()
	folder := ran(t, "h", 1)
	r := serve(t, folder, Act)
	r.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	here, err := url.Parse(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	mine := r.Jar.Cookies(here)
	s, err := open(filepath.Join(folder, "h"))
	if err != nil {
		t.Fatal(err)
	}
	cycle, err := s.Home.Newest()
	if err != nil {
		t.Fatal(err)
	}
	before := content(t, folder)
	const token = "the token of those who look"
	own := []string{"Sec-Fetch-Site", "same-origin"}
	rows := 0
	for name, ask := range map[string]struct {
		method, path string
		headers      []string
		cookie       string // instead of the session's
		code         int
	}{
		"GET for a POST":              {"GET", "/h/h/pause?reason=x", own, "", 404},
		"HEAD for a POST":             {"HEAD", "/h/h/pause", own, "", 404},
		"a method in a field":         {"GET", "/h/h/pause?_method=POST&reason=x", own, "", 404},
		"a method in a header":        {"GET", "/h/h/pause", append(own, "X-HTTP-Method-Override", "POST"), "", 404},
		"a form of another site":      {"POST", "/h/h/pause", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, "", 403},
		"text of another site":        {"POST", "/h/h/pause", []string{"Origin", "https://evil.example", "Content-Type", "text/plain"}, "", 403},
		"no session":                  {"POST", "/h/h/pause", own, "none", 303},
		"an old session":              {"POST", "/h/h/pause", own, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", 303},
		"a token in the query":        {"GET", "/h/h?token=" + url.QueryEscape(token), own, "none", 303},
		"a token in the login":        {"GET", "/login?token=" + url.QueryEscape(token), own, "none", 200},
		"a link by HEAD":              {"HEAD", r.Link(Act), own, "none", 200},
		"a link before it is clicked": {"GET", r.Link(Act), append(own, "Sec-Purpose", "prefetch"), "none", 200},
		"a stream of another origin":  {"GET", "/h/h/cycles/" + cycle + "/events", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"}, "", 403},
		"a stream of another port":    {"GET", "/h/h/cycles/" + cycle + "/events", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}, "", 403},
		"a stream of an old browser":  {"GET", "/h/h/cycles/" + cycle + "/events", []string{"Origin", "http://127.0.0.1:1"}, "", 403},
		"a socket":                    {"GET", "/h/h", []string{"Origin", "null", "Connection", "Upgrade", "Upgrade", "websocket"}, "", 403},
		"a frame":                     {"GET", "/h/h", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, "", 403},
		"a picture":                   {"GET", "/h/h", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, "", 403},
		"a snapshot elsewhere":        {"GET", "/h/h/cycles/..%2f..%2frules.md", own, "", 404},
		"a cycle below":               {"GET", "/h/h/cycles/" + cycle + "%2f..%2f..", own, "", 404},
		"an observation elsewhere":    {"GET", "/h/h/observations/..%2f..%2factive.yaml/file", own, "", 404},
		"a notebook elsewhere":        {"GET", "/h/h/notebooks/..%2f..%2flogs", own, "", 404},
		"a home elsewhere":            {"GET", "/h/..%2fh", own, "", 404},
		"too much":                    {"POST", "/h/h/tell?much", append(own, "Content-Type", "application/x-www-form-urlencoded"), "", 400},
	} {
		rows++
		var body io.Reader = strings.NewReader("reason=x")
		if name == "too much" {
			body = io.MultiReader(strings.NewReader("task="), io.LimitReader(much{}, maxBody+1))
		}
		req, err := http.NewRequestWithContext(t.Context(), ask.method, r.URL+ask.path, body)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(ask.headers); i += 2 {
			req.Header.Set(ask.headers[i], ask.headers[i+1])
		}
		client := *r.Client
		if ask.cookie != "" {
			client.Jar = nil
			req.AddCookie(&http.Cookie{Name: mine[0].Name, Value: ask.cookie})
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		h := res.Header
		if res.StatusCode != ask.code || h.Get("Set-Cookie") != "" || strings.Contains(string(text), "Log out") && ask.cookie != "" {
			t.Errorf("%s: %d, want %d: %s", name, res.StatusCode, ask.code, text)
		}
		if h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != "no-store" || h.Get("X-Frame-Options") != "SAMEORIGIN" || !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'self'") {
			t.Errorf("%s: headers %v", name, h)
		}
	}
	after := content(t, folder)
	acts := after[s.Home.Acts()] // has that too much was refused
	delete(after, s.Home.Acts())
	same(t, before, after)
	if strings.Count(acts, "\n") != 1 || strings.Contains(acts+strings.Join(r.Said, ""), token) {
		t.Errorf("%q %q", acts, r.Said)
	}
	t.Logf("accepted 0 of %d", rows)
}

// much is a text without an end.
type much struct{}

func (much) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// TestGuesses: all strangers together try ten tokens, and one each ten seconds; a right one
// counts for nothing, and a new session ends the one before it.
func TestGuesses(t *testing.T) {
	r := serve(t, t.TempDir(), Act)
	now := time.Now()
	r.doors.now = func() time.Time { return now }
	try := func(token string) int {
		code, _ := r.ask(http.MethodPost, "/login", url.Values{"token": {token}})
		return code
	}
	for range 30 {
		try("the token of those who look")
	}
	if n := len(r.doors.sessions); n != 1 {
		t.Errorf("one browser has %d sessions", n)
	}
	let := 0
	for range 1000 {
		if try("a guess") == http.StatusForbidden {
			let++
		}
	}
	for range 60 {
		now = now.Add(time.Second)
		if try("a guess") == http.StatusForbidden {
			let++
		}
	}
	if let != maxTries+6 {
		t.Errorf("%d guesses were let try", let)
	}
}

// TestPanic: a defect in a page ends that request, is told, and nothing else.
func TestPanic(t *testing.T) {
	r := serve(t, t.TempDir(), Act)
	said, broken := make(chan string, 9), new(atomic.Bool)
	r.Say = func(line string) { said <- line }
	r.doors.now = func() time.Time {
		if broken.Load() {
			panic("no time")
		}
		return time.Now()
	}
	broken.Store(true)
	if _, err := r.Get(r.URL + "/"); err == nil {
		t.Error("there is an answer")
	}
	if line := <-said; !strings.Contains(line, "GET /: a defect: no time") {
		t.Error(line)
	}
	broken.Store(false)
	r.get("/")
}

// TestCrowd: those who connect and ask nothing keep nobody out, and hold little.
func TestCrowd(t *testing.T) {
	t.Parallel()
	r := serve(t, t.TempDir(), Act)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx, l) }()
	n := sweep.Of(2000, 2000, 10000)
	for range n {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: ") // it may be gone already
	}
	honest := http.Client{Timeout: time.Minute}
	res, err := honest.Get("http://" + l.Addr().String() + "/login")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if g := runtime.NumGoroutine(); res.StatusCode != http.StatusOK || g > 4*maxConnections {
		t.Errorf("%s, %d goroutines", res.Status, g)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	t.Logf("%d connections", n)
}

// pipes is a listener of connections within the process, whose time is the test's.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestSlow: who sends or reads slowly is given up on.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Now: time.Now, Say: func(string) {}})
		l, ctx := make(pipes), t.Context()
		ctx, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- s.Serve(ctx, l) }()
		for request, within := range map[string]time.Duration{"GET /login HTTP/1.1\r\nHost: ": 6 * time.Second, "GET /assets/style.css HTTP/1.1\r\nHost: localhost\r\n\r\n": writeTime + time.Second} {
			theirs, ours := net.Pipe()
			l <- theirs
			began := time.Now()
			if _, err := io.WriteString(ours, request); err != nil {
				t.Fatal(err)
			}
			time.Sleep(within)
			all, err := io.ReadAll(bufio.NewReader(ours))
			if took := time.Since(began); took > within || err != nil || strings.Contains(string(all), " 200 ") {
				t.Errorf("%q: closed after %v, %v: %s", request, took, err, all)
			}
			ours.Close()
		}
		stop()
		close(l)
		if err := <-done; err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}
