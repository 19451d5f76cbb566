package egress

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"rouse/internal/netguard"
	"rouse/internal/netguard/netguardtest"
)

// authority is what CONNECT would name of a URL.
func authority(u string) string {
	_, rest, ok := strings.Cut(u, "://")
	if !ok {
		return u
	}
	rest, _, _ = strings.Cut(rest, "/")
	return rest
}

// Nothing reaches an address that is not listed: asked for as URL and by CONNECT, at
// once, after a redirect, or by a name that *.evil.test lists.
func TestForbiddenAddresses(t *testing.T) {
	r := newRig(t, "*.evil.test:PORT", "*.x.localhost:PORT", "*.google.internal:PORT", "127.0.0.2:1", "named.test:PORT")
	turn := r.serve(func(w http.ResponseWriter, req *http.Request) {
		location, _ := url.QueryUnescape(req.URL.RawQuery)
		w.Header().Set("Location", location)
		var code int
		fmt.Sscanf(req.URL.Path, "/%d", &code)
		w.WriteHeader(code)
	})
	r.names.Set("named.test", []string{"127.0.0.1"})
	for _, said := range []string{r.get("http://named.test:" + r.Port + "/"), r.tunnel("named.test:" + r.Port)} {
		if !strings.HasSuffix(said, "SECRET") {
			t.Fatalf("the canary cannot be reached at all: %q", said)
		}
	}
	r.Accepts.Store(0)
	r.Reached()

	tries := 0
	shut := func(u string) {
		t.Helper()
		for _, said := range []string{r.get(u), r.tunnel(authority(u))} {
			tries++
			if code := status(said); code < 400 || code >= 500 || strings.Contains(said, "SECRET") {
				t.Errorf("%q: %q", u, said)
			}
			if d := r.Reached(); len(d) > 0 {
				t.Errorf("%q dialled %v", u, d)
			}
		}
	}
	for i, a := range append(netguardtest.Attacks(), netguardtest.More()...) {
		u := fmt.Sprintf(a.URL, ":"+r.Port)
		shut(u)
		for _, code := range []int{301, 302, 303, 307, 308} {
			said := r.get(fmt.Sprintf("http://%s/%d?%s", turn, code, url.QueryEscape(u)))
			if status(said) != code {
				t.Fatalf("%q", said) // a redirect is the client's to follow
			}
			if d := r.Reached(); slices.ContainsFunc(d, func(at string) bool { return at != turn }) {
				t.Errorf("%d to %q dialled %v", code, u, d)
			}
			_, next, _ := strings.Cut(said, "\r\nLocation: ")
			next, _, _ = strings.Cut(next, "\r\n")
			shut(next)
		}
		if a.DNS != "" {
			name := fmt.Sprintf("n%d.evil.test", i)
			r.names.Set(name, []string{a.DNS})
			if a.DNS[0] == '=' {
				r.names.Set(a.DNS[1:], []string{"127.0.0.1"})
			}
			shut("http://" + name + ":" + r.Port + "/")
		}
	}
	if n := r.Accepts.Load(); n != 0 {
		t.Errorf("%d connections were accepted", n)
	}
	t.Logf("SSRF addresses through the proxy: accepts %d / %d tries", r.Accepts.Load(), tries)
}

// A name answers differently each time, in two families, by aliases: what was decided
// on is what is dialled.
func TestNamesThatTurn(t *testing.T) {
	r := newRig(t, "*.wild.test:PORT", "meta.test:PORT", "local.test:PORT", "*.wild.test:80")
	r.names.Set("rebind.wild.test", []string{"93.184.216.34"}, []string{"127.0.0.1"})
	r.names.Set("mixed.wild.test", []string{"93.184.216.34", "::1"})
	r.names.Set("chain.wild.test", []string{"=chain1.test"})
	r.names.Set("chain1.test", []string{"=chain2.test"})
	r.names.Set("chain2.test", []string{"127.0.0.1"})
	r.names.Set("meta.test", []string{"169.254.169.254"})
	r.names.Set("local.test", []string{"fe80::1"})
	for _, c := range []struct {
		host, dialled, want string
	}{
		{"rebind.wild.test", "93.184.216.34:" + r.Port, netguardtest.ErrStays.Error()},
		{"rebind.wild.test", "", "refused: rebind.wild.test is at 127.0.0.1, a loopback address; only the operator can allow it: rouse allow host rebind.wild.test:" + r.Port},
		{"mixed.wild.test", "", "is at ::1, a loopback address"},
		{"chain.wild.test", "", "is at 127.0.0.1"},
		{"meta.test", "", "a metadata address"},
		{"local.test", "", "a link-local"},
		{"missing.wild.test", "", "there is no host missing.wild.test"},
	} {
		for _, ask := range []func(string) string{func(at string) string { return r.get("http://" + at + "/") }, r.tunnel} {
			if c.host == "rebind.wild.test" { // one look-up each
				r.names.Set(c.host, []string{map[bool]string{true: "93.184.216.34", false: "127.0.0.1"}[c.dialled != ""]})
			}
			said := ask(c.host + ":" + r.Port)
			if !strings.Contains(said, c.want) || strings.Join(r.Reached(), " ") != c.dialled {
				t.Errorf("%s: %q", c.host, said)
			}
		}
	}
	if r.Accepts.Load() > 0 {
		t.Error("a canary was reached")
	}
}

// Only the ports of an entry are open, and no variable of the environment counts.
func TestPorts(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	r := newRig(t, "mail.test", "127.0.0.1", "own.test:8080")
	r.names.Set("mail.test", []string{"93.184.216.34"})
	r.names.Set("own.test", []string{"93.184.216.34"})
	for at, ok := range map[string]bool{
		"mail.test:22": false, "mail.test:25": false, "mail.test:6379": false, "mail.test:465": false, "mail.test:587": false, "mail.test:8080": false, "127.0.0.1:22": false,
		"mail.test:0": false, "mail.test:65536": false, "mail.test:00022": false, "mail.test:-1": false, "mail.test:x": false, "own.test:80": false,
		"mail.test:80": true, "mail.test:443": true, "mail.test:0443": true, "own.test:8080": true,
	} {
		for way, ask := range map[string]func(string) string{"url": func(at string) string { return r.get("http://" + at + "/") }, "connect": r.tunnel} {
			said := ask(at)
			d := r.Reached()
			want := map[bool]int{true: 502, false: 403}[ok]
			if (len(d) > 0) != ok || status(said) != want && status(said) != 400 {
				t.Errorf("%s by %s: dialled %v, %.300q", at, way, d, said)
			}
		}
	}
}

// However a request is written, what is let through is a listed name in its one form.
func FuzzTarget(f *testing.F) {
	for _, a := range append(netguardtest.Attacks(), netguardtest.More()...) {
		u := fmt.Sprintf(a.URL, ":8080")
		f.Add("GET " + u + " HTTP/1.1\r\nHost: x\r\n\r\n")
		f.Add("CONNECT " + authority(u) + " HTTP/1.1\r\nHost: x\r\n\r\n")
	}
	f.Add("CONNECT Example.com.:0443 HTTP/1.1\r\n\r\n")
	f.Add("GET http://a.wild.test:81/?x HTTP/1.0\r\n\r\n")
	g, err := New([]string{"example.com", "*.wild.test:81", "[::1]:82"})
	if err != nil {
		f.Fatal(err)
	}
	d := &door{gate: g, guard: netguard.Guard{Named: g.hosts.named, Mend: mend}}
	f.Fuzz(func(t *testing.T, raw string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
		if err != nil {
			return
		}
		host, port, err := d.target(r)
		if err != nil {
			return
		}
		sub, wild := strings.CutSuffix(host, ".wild.test")
		switch at := net.JoinHostPort(host, port); {
		case at == "example.com:80", at == "example.com:443", at == "[::1]:82":
		case wild && port == "81" && sub != "" && !strings.ContainsAny(sub, "\x00/:@ \r\n%"):
		default:
			t.Errorf("%q passed as %s", raw, at)
		}
	})
}
