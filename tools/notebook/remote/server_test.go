package remote_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"rouse/tools/notebook"
	"rouse/tools/notebook/notebooktest"
	"rouse/tools/notebook/remote"
	"rouse/tools/notebook/wire"
)

// ask makes one request and gives the status and the body.
func (r *rig) ask(t testing.TB, method, path, bearer, body string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if bearer != "" {
		q.Header.Set("Authorization", bearer)
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// waitFor waits until something is so.
func waitFor(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 60_000 {
		if is() {
			return
		}
		<-tick.C
	}
	t.Fatalf("%s did not come", what)
}

func (c *counted) has(what string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.did, what)
}

const anID = `{"id":"0123456789abcdef"`

func TestRefusals(t *testing.T) {
	t.Parallel()
	server, ran := newCounted(t)
	ann := "Bearer " + token("ann")
	for _, tt := range []struct {
		method, path, bearer, body string
		status                     int
		says                       string
	}{
		{"GET", "/v1/info", "", "", 401, "the token is missing or wrong"},
		{"GET", "/v1/info", "Bearer ", "", 401, ""},
		{"GET", "/v1/info", "Bearer " + token("eve"), "", 401, ""},
		{"GET", "/v1/info", "Bearer " + token("ann") + "x", "", 401, ""},
		{"GET", "/v1/info", "Basic " + token("ann"), "", 401, ""},
		{"GET", "/v1/info", token("ann"), "", 401, ""},
		{"GET", "/v1/info", "bearer " + token("ann"), "", 200, `"tenant":"ann"`},
		{"GET", "/nothing", "", "", 401, ""},
		{"GET", "/v1/info?token=" + token("ann"), "", "", 401, ""},
		{"GET", "/v1/info", ann, "", 200, `"tenant":"ann"`},
		{"GET", "/resolve", ann, "", 404, ""},
		{"GET", "/v1/notebooks/main/execute", ann, "", 404, ""},
		{"POST", "/v1/notebooks/main/explode", ann, anID + "}", 404, "no such action"},
		{"POST", "/v1/notebooks/..%2fbob/execute", ann, anID + "}", 400, "notebook name"},
		{"POST", "/v1/notebooks/Main/execute", ann, anID + "}", 400, "notebook name"},
		{"POST", "/v1/notebooks/main/execute", ann, `{"id":"../../x"}`, 400, "id: use"},
		{"POST", "/v1/notebooks/main/execute", ann, `{}`, 400, "id: use"},
		{"POST", "/v1/notebooks/main/execute", ann, `[]`, 400, "not one JSON object"},
		{"POST", "/v1/notebooks/main/execute", ann, anID + "}{}", 400, "not one JSON object"},
		{"POST", "/v1/notebooks/main/start", ann, anID + `,"env":["PATH=/tmp"]}`, 400, "DS_NAME"},
		{"POST", "/v1/notebooks/main/execute", ann, anID + `,"code":"` + strings.Repeat("x", wire.MaxBody) + `"}`, 413, "more than"},
		{"POST", "/v1/notebooks/main/cancel", ann, `{"id":"../x"}`, 400, ""},
		{"POST", "/v1/notebooks/main/cells/0123456789abcdef/answers/1", ann, `{}`, 404, "nobody asked"},
		{"GET", "/v1/notebooks/main/cells/0123456789abcdef", ann, "", 404, "no such cell"},
	} {
		status, text := server.ask(t, tt.method, tt.path, tt.bearer, tt.body)
		if status != tt.status || !strings.Contains(text, tt.says) {
			t.Errorf("%s %s: %d %.200s, want %d %q", tt.method, tt.path, status, text, tt.status, tt.says)
		}
	}
	if len(ran.runs)+len(ran.did) > 0 {
		t.Errorf("something ran: %v %v", ran.runs, ran.did)
	}
}

// TestTenants: two tenants have two notebooks of one name, and the one cannot
// ask for a cell of the other.
func TestTenants(t *testing.T) {
	server, ran := newCounted(t)
	id := ""
	c := server.client("ann")
	c.LLM = (&notebooktest.Model{}).Ask
	c.HTTP = &http.Client{Transport: transport(func(q *http.Request) (*http.Response, error) {
		if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/answers/1") {
			id = strings.Split(q.URL.Path, "/")[5]
		}
		return http.DefaultTransport.RoundTrip(q)
	})}
	notebooktest.Want(t, notebooktest.Exec(t, open(t, c, "main"), "a"), "echo: a")
	if status, _ := server.ask(t, "GET", "/v1/notebooks/main/cells/"+id, "Bearer "+token("ann"), ""); status != 200 {
		t.Errorf("ann: %d", status)
	}
	if status, _ := server.ask(t, "GET", "/v1/notebooks/main/cells/"+id, "Bearer "+token("bob"), ""); status != 404 {
		t.Errorf("bob: %d", status)
	}
	bob := server.client("bob")
	bob.LLM = c.LLM
	notebooktest.Want(t, notebooktest.Exec(t, open(t, bob, "main"), "b"), "echo: b")
	for _, dir := range []string{"ann/main", "bob/main"} {
		if _, err := os.Stat(filepath.Join(server.Dir, dir)); err != nil {
			t.Error(err)
		}
	}
	if ran.runs["a"] != 1 || ran.runs["b"] != 1 {
		t.Errorf("runs: %v", ran.runs)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(q *http.Request) (*http.Response, error) { return t(q) }

// TestRestarted: a server that is restarted while a cell runs makes its outcome
// unknown, once; before a cell it is only told.
func TestRestarted(t *testing.T) {
	first, ran := newCounted(t)
	second, then := newCounted(t)
	ran.wait = make(chan struct{})
	p := newProxy(t, first.host(), func(int) (int64, int64) { return -1, -1 })
	c := &remote.Client{Endpoint: p.url(), Token: token("ann"), LLM: (&notebooktest.Model{}).Ask, Patience: 20 * time.Second}
	r := open(t, c, "main")
	got := notebooktest.Cell{}
	got.Outcome, _ = r.Execute(t.Context(), notebook.Job{ID: "x", Code: "a"}, func(e notebook.Event) {
		p.cutAll(second.host())
	})
	if got.Ended != notebook.Died || !got.Lost || !strings.Contains(got.Error, "outcome unknown, it may have taken effect") || !strings.Contains(got.Error, "restarted") {
		t.Errorf("ended %q: %s", got.Ended, got.Error)
	}
	c2 := notebooktest.Exec(t, r, "b")
	if c2.Ended != notebook.OK || !c2.Note("the notebook server was restarted") {
		t.Errorf("then %q, notes %q, %s", c2.Ended, c2.Notes, c2.Error)
	}
	if ran.runs["a"] != 1 || then.runs["a"] != 0 || then.runs["b"] != 1 {
		t.Errorf("runs %v and %v", ran.runs, then.runs)
	}
	close(ran.wait)
}

// TestGone: a server that does not come back makes the outcome unknown, and one
// that never was an error.
func TestGone(t *testing.T) {
	t.Parallel()
	server, _ := newCounted(t)
	p := newProxy(t, server.host(), func(int) (int64, int64) { return -1, -1 })
	c := &remote.Client{Endpoint: p.url(), Token: token("ann"), LLM: (&notebooktest.Model{}).Ask, Patience: 50 * time.Millisecond}
	out, err := open(t, c, "main").Execute(t.Context(), notebook.Job{ID: "x", Code: "a"}, func(notebook.Event) {
		p.Close()
		p.cutAll("")
	})
	if err != nil || out.Ended != notebook.Died || !strings.Contains(out.Error, "outcome unknown") || !strings.Contains(out.Error, "is lost") {
		t.Errorf("ended %q: %s, %v", out.Ended, out.Error, err)
	}
	never := &remote.Client{Endpoint: "http://127.0.0.1:1", Token: token("ann")}
	if _, err := open(t, never, "main").Execute(t.Context(), notebook.Job{ID: "x", Code: "a"}, nil); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("never: %v", err)
	}
}

// TestNobodyListens: a cell whose client is gone for good is canceled.
func TestNobodyListens(t *testing.T) {
	server, ran := newCounted(t)
	server.Grace = 20 * time.Millisecond
	ran.wait = make(chan struct{})
	body := `{"id":"0123456789abcdef","code":"a"}`
	ctx, leave := context.WithCancel(t.Context())
	q, _ := http.NewRequestWithContext(ctx, "POST", server.url+"/v1/notebooks/main/execute", strings.NewReader(body))
	q.Header.Set("Authorization", "Bearer "+token("ann"))
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	resp.Body.Close()
	waitFor(t, "the end", func() bool { return ran.has("canceled") })
	if _, text := server.ask(t, "POST", "/v1/notebooks/main/execute", "Bearer "+token("ann"), body); !strings.Contains(text, "event: cell") {
		t.Errorf("asked for it: %s", text)
	}
	if ran.runs["a"] != 1 {
		t.Errorf("ran %d times", ran.runs["a"])
	}
}

// TestKeep: a notebook that nobody uses is closed, and opened when it is used.
func TestKeep(t *testing.T) {
	server, ran := newCounted(t)
	server.Keep = time.Millisecond
	c := server.client("ann")
	c.LLM = (&notebooktest.Model{}).Ask
	r := open(t, c, "main")
	notebooktest.Exec(t, r, "a")
	waitFor(t, "the close", func() bool { return ran.has("close") })
	notebooktest.Want(t, notebooktest.Exec(t, r, "b"), "echo: b")
}

func TestMaxNotebooks(t *testing.T) {
	server, _ := newCounted(t)
	server.MaxNotebooks = 2
	c := server.client("ann")
	c.LLM = (&notebooktest.Model{}).Ask
	one := open(t, c, "one")
	notebooktest.Exec(t, one, "a")
	notebooktest.Exec(t, open(t, c, "two"), "a")
	if err := open(t, c, "three").Start(t.Context()); err == nil || !strings.Contains(err.Error(), "too many notebooks are open: 2") {
		t.Errorf("a third one: %v", err)
	}
	if err := one.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := open(t, c, "three").Start(t.Context()); err != nil {
		t.Errorf("in the place of one: %v", err)
	}
}

// TestResolve: an endpoint may name the address to use; it is never one that
// shows the token.
func TestResolve(t *testing.T) {
	server, _ := newCounted(t)
	to, status := server.url, http.StatusOK
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/team/resolve" || q.Header.Get("Authorization") != "Bearer "+token("ann") {
			t.Errorf("asked %s", q.URL)
		}
		w.Header().Set("Location", server.url)
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"endpoint":%q}`, to)
	}))
	defer front.Close()
	c := &remote.Client{Endpoint: front.URL + "/team/", Token: token("ann"), LLM: (&notebooktest.Model{}).Ask}
	found, err := c.Check(t.Context())
	if err != nil || found.Endpoint != server.url || found.Tenant != "ann" || found.Version != "test" {
		t.Errorf("found %+v, %v", found, err)
	}
	notebooktest.Want(t, notebooktest.Exec(t, open(t, c, "main"), "a"), "echo: a")
	for _, row := range []struct {
		to     string
		status int
		want   string
	}{
		{"ftp://x", 200, "not an address"}, {"http://u:p@x", 200, "not an address"}, {"", 200, "not an address"},
		{server.url, 307, "sends to another address"}, {server.url, 403, "does not accept the token"},
	} {
		to, status = row.to, row.status
		if _, err := c.Check(t.Context()); err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), token("ann")) {
			t.Errorf("%s, %d: %v", row.to, row.status, err)
		}
	}
}

// TestTLS: over TLS all is the same, and nothing leads out of it.
func TestTLS(t *testing.T) {
	server, _ := newCounted(t)
	named := ""
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/resolve" && named != "" {
			fmt.Fprintf(w, `{"endpoint":%q}`, named)
			return
		}
		server.Handler().ServeHTTP(w, q)
	}))
	defer web.Close()
	c := &remote.Client{Endpoint: web.URL, Token: token("ann"), LLM: (&notebooktest.Model{}).Ask, HTTP: web.Client()}
	notebooktest.Want(t, notebooktest.Exec(t, open(t, c, "main"), "a"), "echo: a")
	named = server.url
	if _, err := c.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "without https") {
		t.Errorf("led out of TLS: %v", err)
	}
}

// TestNothingIsLeft: after the server's close no goroutine of it or of its
// clients is left, and the notebooks are closed.
func TestNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	server, ran := newCounted(t)
	ran.wait = make(chan struct{})
	c := server.client("ann")
	c.LLM = (&notebooktest.Model{}).Ask
	c.HTTP = &http.Client{Transport: &http.Transport{}}
	r := open(t, c, "main")
	out, err := r.Execute(t.Context(), notebook.Job{ID: "x", Code: "a"}, func(notebook.Event) {
		go server.Close(context.Background())
	})
	if err != nil || out.Ended == notebook.OK {
		t.Errorf("ended %q, %v", out.Ended, err)
	}
	waitFor(t, "the close", func() bool { return ran.has("close") })
	if err := r.Start(t.Context()); err != nil && !strings.Contains(err.Error(), "stopping") {
		t.Errorf("start: %v", err)
	}
	c.HTTP.CloseIdleConnections()
	waitFor(t, "the end of the goroutines", func() bool { return runtime.NumGoroutine() <= before+4 }) // the test server's
}
