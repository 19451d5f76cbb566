package web

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"rouse/internal/netguard"
	"rouse/internal/netguard/netguardtest"
)

func TestForbiddenAddresses(t *testing.T) {
	r := newRig(t)
	c := r.client()
	if r, body := fetch(t, r.client("127.0.0.1"), "http://127.0.0.1:"+r.Port, nil); !r.OK || body != "SECRET" {
		t.Fatalf("the canary cannot be reached at all: %+v", r)
	}
	r.Accepts.Store(0)
	r.Reached()

	tries := 0
	refused := func(what, u, want string) {
		t.Helper()
		tries++
		got, body := fetch(t, c, u, nil)
		if got.OK || body != "" || !strings.Contains(got.Error, want) {
			t.Errorf("%s %q: %+v, body %q, want error %q", what, u, got, body, want)
		}
		if d := r.Reached(); len(d) > 0 {
			t.Errorf("%s %q dialled %v", what, u, d)
		}
	}
	for i, a := range append(netguardtest.Attacks(), netguardtest.More()...) {
		u := fmt.Sprintf(a.URL, ":"+r.Port)
		refused("direct", u, a.Want)
		for _, status := range []int{301, 302, 303, 307, 308} {
			// The text can differ: the server's Location is also a relative one.
			refused(fmt.Sprint("redirect ", status), fmt.Sprintf("http://%s/%d?%s", at(r.server), status, url.QueryEscape(u)), "")
		}
		if a.DNS != "" {
			name := fmt.Sprintf("n%d.evil.test", i)
			r.names.Set(name, []string{a.DNS})
			want := "refused: " + name + " is at "
			if a.DNS[0] == '=' { // an alias of a local name that the DNS resolves
				r.names.Set(a.DNS[1:], []string{"127.0.0.1"})
			}
			refused("by name", fmt.Sprintf("http://%s:%s/", name, r.Port), want)
			refused("redirect to name", fmt.Sprintf("http://%s/302?http://%s:%s/", at(r.server), name, r.Port), want)
		}
	}
	if n := r.Accepts.Load(); n != 0 {
		t.Errorf("%d connections were accepted", n)
	}
	if n := len(netguardtest.Attacks()); n != 57 {
		t.Errorf("the list has %d addresses, not 57", n)
	}
	t.Logf("SSRF addresses: accepts %d / %d tries", r.Accepts.Load(), tries)
}

// Whatever passes the check and is an address is a public one, and is what a
// second reading finds too.
func FuzzParse(f *testing.F) {
	for _, a := range append(netguardtest.Attacks(), netguardtest.More()...) {
		f.Add(fmt.Sprintf(a.URL, ":8080"))
	}
	f.Add("https://xn--mnchen-3ya.de./a?b#c")
	f.Add("http://[2606:4700::1111]:443")
	g := newGuard(Options{Allow: []string{"ok.test:99"}})
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := g.parse(raw)
		if err != nil {
			return
		}
		host := u.Hostname()
		if addr, err := netip.ParseAddr(host); err == nil && netguard.Reach(addr) != netguard.Public {
			t.Errorf("%q reaches %s, a %s address", raw, addr, netguard.Reach(addr))
		}
		if u.User != nil || u.Scheme != "http" && u.Scheme != "https" || host != strings.ToLower(host) || netguard.Local(host) {
			t.Errorf("%q passed as %q", raw, u)
		}
		if p := u.Port(); p != "" && !strings.Contains("80 443 8080 8443", p) && u.Host != "ok.test:99" {
			t.Errorf("%q passed with port %s", raw, p)
		}
		again, err := g.parse(u.String())
		if err != nil || again.String() != u.String() {
			t.Errorf("%q is %q, and that is %q, %v", raw, u, again, err)
		}
	})
}
