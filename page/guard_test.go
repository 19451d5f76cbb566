package page

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestHosts: only the names of this machine and of its proxy are answered, however they are said.
func TestHosts(t *testing.T) {
	r := serve(t, t.TempDir(), Act)
	r.Hosts = []string{"rouse.example.com", "other.example:8443"}
	port := r.URL[strings.LastIndex(r.URL, ":"):]
	for host, want := range map[string]string{
		"127.0.0.1" + port: "303", "localhost" + port: "303", "LOCALHOST": "303", "[::1]" + port: "303", "rouse.example.com": "303", "Rouse.Example.com:443": "303", "other.example:8443": "303",
		"evil.example" + port: "421", "localhost.evil" + port: "421", "localhost." + port: "421", "x.localhost": "421", "": "421", "127.1" + port: "421", "0.0.0.0" + port: "421",
		"other.example": "421", "rouse.example.com.": "421", "a b": "400", "127.0.0.1" + port + "\r\nHost: evil.example": "400",
	} {
		if line := r.raw("GET / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n"); !strings.Contains(line, " "+want+" ") {
			t.Errorf("Host %q: %s, want %s", host, line, want)
		}
	}
	if line := r.raw("GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"); !strings.Contains(line, " 421 ") {
		t.Errorf("an absolute target: %s", line)
	}
}

// TestOrigins: no other page can press a button, whatever it sends.
func TestOrigins(t *testing.T) {
	r := serve(t, t.TempDir(), Act)
	for name, header := range map[string]http.Header{
		"another site": {"Sec-Fetch-Site": {"cross-site"}}, "another port": {"Origin": {"http://127.0.0.1:1"}}, "null": {"Origin": {"null"}},
		"the same site": {"Sec-Fetch-Site": {"same-site"}}, "as text": {"Origin": {"https://evil.example"}, "Content-Type": {"text/plain"}},
		"an override": {"Origin": {"https://evil.example"}, "X-Http-Method-Override": {"GET"}},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+"/logout", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header
		res, err := r.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("from %s: %s", name, res.Status)
		}
	}
	r.get("/") // still logged in
}

// TestDoors: a link works once, a token as often as it is given, and a role is kept.
func TestDoors(t *testing.T) {
	r := serve(t, t.TempDir(), Act)
	link := r.Link(Act)
	r.get(link)
	if code, text := r.ask(http.MethodGet, link, nil); code != http.StatusForbidden || !strings.Contains(text, "used") {
		t.Errorf("the second time: %d", code)
	}
	r.ask(http.MethodPost, "/logout", nil)
	if text := r.get("/h/x"); !strings.Contains(text, "Print a new link") {
		t.Errorf("logged out, and still shown: %s", text)
	}
	r.ask(http.MethodPost, "/login/link", nil)
	if len(r.Said) != 1 || !strings.Contains(r.Said[0], "/login?once=") {
		t.Errorf("no link was printed: %q", r.Said)
	}
	if r.ask(http.MethodPost, "/login/link", nil); len(r.Said) != 1 {
		t.Error("a stranger fills the terminal")
	}
	if code, _ := r.ask(http.MethodPost, "/login", url.Values{"token": {"a guess"}}); code != http.StatusForbidden {
		t.Errorf("a guess: %d", code)
	}
	if code, text := r.ask(http.MethodPost, "/login", url.Values{"token": {"the token of those who look"}, "to": {"//evil.example/"}}); code != http.StatusOK || !strings.Contains(text, "you may look") {
		t.Errorf("by token: %d %s", code, text)
	}
}

// TestLocal: a login leads nowhere else.
func TestLocal(t *testing.T) {
	for to, want := range map[string]string{"/h/a?x=1": "/h/a?x=1", "//evil.example": "", "https://evil.example/": "", `/\evil.example`: "", "": "", "h": "", "/%2f/evil": ""} {
		if got := local(to); got != want {
			t.Errorf("%q: %q, want %q", to, got, want)
		}
	}
}

// TestHome shows the home in which a cycle ran.
func TestHome(t *testing.T) {
	t.Parallel()
	r := serve(t, ran(t, "my agent", 1), View)
	if text := r.get("/"); !strings.Contains(text, `href="/h/my%20agent"`) {
		t.Error(text)
	}
	if text := r.get("/h/my%20agent"); !strings.Contains(text, "<h1>my agent</h1>") {
		t.Error(text)
	}
	for _, path := range []string{"/h/none", "/h/..%2fx", "/x"} {
		if code, _ := r.ask(http.MethodGet, path, nil); code != http.StatusNotFound {
			t.Errorf("%s: %d", path, code)
		}
	}
}
