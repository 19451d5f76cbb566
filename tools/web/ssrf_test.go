package web

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// The URLs that must reach nothing. %s is the port of the canaries, with a
// colon; dns is the address as the DNS could answer it, where it could.
func attacks() []struct{ url, dns, want string } {
	return []struct{ url, dns, want string }{
		// Loopback spellings.
		{"http://127.0.0.1%s/", "127.0.0.1", "loopback"},
		{"http://127.1%s/", "", "odd way"},
		{"http://127.0.1%s/", "", "odd way"},
		{"http://2130706433%s/", "", "odd way"},
		{"http://0x7f000001%s/", "", "odd way"},
		{"http://0x7f.1%s/", "", "odd way"},
		{"http://017700000001%s/", "", "odd way"},
		{"http://0177.0.0.1%s/", "", "odd way"},
		{"http://127.000.000.001%s/", "", "odd way"},
		{"http://127.0.0.2%s/", "127.0.0.2", "loopback"},
		{"http://127.255.255.254%s/", "127.255.255.254", "loopback"},
		{"http://0%s/", "", "odd way"},
		{"http://0.0.0.0%s/", "0.0.0.0", "reserved"},
		{"http://localhost%s/", "=localhost.test", "local name"},
		{"http://LOCALHOST%s/", "", "local name"},
		{"http://localhost.%s/", "", "local name"},
		{"http://x.localhost%s/", "", "local name"},
		// IPv6.
		{"http://[::1]%s/", "::1", "loopback"},
		{"http://[::]%s/", "::", "tunnelled"},
		{"http://[0:0:0:0:0:0:0:1]%s/", "", "loopback"},
		{"http://[::ffff:127.0.0.1]%s/", "::ffff:127.0.0.1", "tunnelled"},
		{"http://[::ffff:7f00:1]%s/", "", "tunnelled"},
		{"http://[::127.0.0.1]%s/", "::127.0.0.1", "tunnelled"},
		{"http://[64:ff9b::7f00:1]%s/", "64:ff9b::7f00:1", "tunnelled"},
		{"http://[64:ff9b:1::a00:1]%s/", "64:ff9b:1::a00:1", "tunnelled"},
		{"http://[2002:7f00:1::]%s/", "2002:7f00:1::", "tunnelled"},
		{"http://[fe80::1%%25lo]%s/", "fe80::1", "no zones"},
		{"http://[fc00::1]%s/", "fc00::1", "private"},
		{"http://[ff02::1]%s/", "ff02::1", "multicast"},
		// Unicode.
		{"http://127。0。0。1%s/", "", "not ASCII"},
		{"http://①②⑦.0.0.1%s/", "", "not ASCII"},
		{"http://１２７.0.0.1%s/", "", "not ASCII"},
		{"http://local\u00adhost%s/", "", "not ASCII"},
		// Private and special nets.
		{"http://10.0.0.1%s/", "10.0.0.1", "private"},
		{"http://172.16.0.1%s/", "172.16.0.1", "private"},
		{"http://172.31.255.255%s/", "172.31.255.255", "private"},
		{"http://192.168.0.1%s/", "192.168.0.1", "private"},
		{"http://100.64.0.1%s/", "100.64.0.1", "private"},
		{"http://198.18.0.1%s/", "198.18.0.1", "private"},
		{"http://192.0.0.8%s/", "192.0.0.8", "reserved"},
		{"http://224.0.0.1%s/", "224.0.0.1", "multicast"},
		{"http://255.255.255.255%s/", "255.255.255.255", "reserved"},
		// Metadata.
		{"http://169.254.169.254%s/latest/meta-data/", "169.254.169.254", "metadata"},
		{"http://[fd00:ec2::254]%s/", "fd00:ec2::254", "metadata"},
		{"http://169.254.170.2%s/", "169.254.170.2", "metadata"},
		{"http://100.100.100.200%s/", "100.100.100.200", "metadata"},
		{"http://192.0.0.192%s/", "192.0.0.192", "metadata"},
		{"http://metadata.google.internal%s/", "=metadata.google.internal", "local name"},
		// Parser confusion.
		{"http://good@127.0.0.1%s/", "", "user name"},
		{"http://127.0.0.1%s#@good/", "", "loopback"},
		{"http://127.0.0.1%s?@good/", "", "loopback"},
		{`http://good\@127.0.0.1%s/`, "", ""},
		{"http://a@b@127.0.0.1%s/", "", ""},
		{"http://127.0.0.1%%00.good%s/", "", "cannot be read"},
		{"http://127.0.0.1\r\n.good%s/", "", ""},
		{"http://127.0.0.1\t.good%s/", "", ""},
		{"http://%%6cocalhost%s/", "", "cannot be read"},
	}
}

// more are spellings beside the list.
func more() []struct{ url, dns, want string } {
	return []struct{ url, dns, want string }{
		{"http://127.0.0.1.%s/", "", "odd way"},
		{"http://0x7F.0.0.1%s/", "", "odd way"},
		{"http://1.2.3.4.0x%s/", "", "odd way"},
		{"http://local\u200bhost%s/", "", "not ASCII"},
		{"http://ｌｏｃａｌｈｏｓｔ%s/", "", "not ASCII"},
		{"http://%%e2%%91%%a0.0.0.1%s/", "", "not ASCII"},
		{"http://[fec0::1]%s/", "fec0::1", "link-local"},
		{"http://[2001:0:7f00:1::]%s/", "2001:0:7f00:1::", "tunnelled"},
		{"http://[2001:db8::1]%s/", "2001:db8::1", "reserved"},
		{"http://168.63.129.16%s/", "168.63.129.16", "metadata"},
		{"http://metadata%s/", "", "local name"},
		{"http://Metadata.Google.Internal.%s/", "", "local name"},
		{"http://[127.0.0.1]%s/", "", ""},
		{"http://::1%s/", "", ""},
		{"http:127.0.0.1%s/", "", "no host"},
		{"http:///127.0.0.1%s/", "", "no host"},
		{"http://%s/", "", "no host"},
		{"//127.0.0.1%s/", "", ""},
		{"127.0.0.1%s/", "", ""},
		{" http://127.0.0.1%s/", "", ""},
		{"http://127.0.0.1%s:1/", "", ""},
		{"http://exa mple%s/", "", ""},
		{"http://a..b%s/", "", "not a host name"},
		{"http://-%s@127.0.0.1/", "", ""},
	}
}

func TestForbiddenAddresses(t *testing.T) {
	r := newRig(t)
	c := r.client()
	if r, body := fetch(t, r.client("127.0.0.1"), "http://127.0.0.1:"+r.port, nil); !r.OK || body != "SECRET" {
		t.Fatalf("the canary cannot be reached at all: %+v", r)
	}
	r.accepts.Store(0)
	r.reached()

	tries := 0
	refused := func(what, u, want string) {
		t.Helper()
		tries++
		got, body := fetch(t, c, u, nil)
		if got.OK || body != "" || !strings.Contains(got.Error, want) {
			t.Errorf("%s %q: %+v, body %q, want error %q", what, u, got, body, want)
		}
		if d := r.reached(); len(d) > 0 {
			t.Errorf("%s %q dialled %v", what, u, d)
		}
	}
	for i, a := range append(attacks(), more()...) {
		u := fmt.Sprintf(a.url, ":"+r.port)
		refused("direct", u, a.want)
		for _, status := range []int{301, 302, 303, 307, 308} {
			// The text can differ: the server's Location is also a relative one.
			refused(fmt.Sprint("redirect ", status), fmt.Sprintf("http://%s/%d?%s", at(r.server), status, url.QueryEscape(u)), "")
		}
		if a.dns != "" {
			name := fmt.Sprintf("n%d.evil.test", i)
			r.names.set(name, []string{a.dns})
			want := "refused: " + name + " is at "
			if a.dns[0] == '=' { // an alias of a local name that the DNS resolves
				r.names.set(a.dns[1:], []string{"127.0.0.1"})
			}
			refused("by name", fmt.Sprintf("http://%s:%s/", name, r.port), want)
			refused("redirect to name", fmt.Sprintf("http://%s/302?http://%s:%s/", at(r.server), name, r.port), want)
		}
	}
	if n := r.accepts.Load(); n != 0 {
		t.Errorf("%d connections were accepted", n)
	}
	if n := len(attacks()); n != 57 {
		t.Errorf("the list has %d addresses, not 57", n)
	}
	t.Logf("SSRF addresses: accepts %d / %d tries", r.accepts.Load(), tries)
}

// Whatever passes the check and is an address is a public one, and is what a
// second reading finds too.
func FuzzParse(f *testing.F) {
	for _, a := range append(attacks(), more()...) {
		f.Add(fmt.Sprintf(a.url, ":8080"))
	}
	f.Add("https://xn--mnchen-3ya.de./a?b#c")
	f.Add("http://[2606:4700::1111]:443")
	g := newGuard([]string{"ok.test:99"}, nil, nil)
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := g.parse(raw)
		if err != nil {
			return
		}
		host := u.Hostname()
		if addr, err := netip.ParseAddr(host); err == nil && reach(addr) != public {
			t.Errorf("%q reaches %s, a %s address", raw, addr, reach(addr))
		}
		if u.User != nil || u.Scheme != "http" && u.Scheme != "https" || host != strings.ToLower(host) || local(host) {
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

func TestReach(t *testing.T) {
	for addr, want := range map[string]class{
		"8.8.8.8": public, "1.1.1.1": public, "172.15.255.255": public, "172.32.0.1": public, "100.63.255.255": public,
		"100.128.0.1": public, "169.253.255.255": public, "198.20.0.1": public, "223.255.255.255": public,
		"2606:4700:4700::1111": public, "2001:4860:4860::8888": public, "2a00:1450::1": public,
		"126.255.255.255": public, "128.0.0.1": public, "11.0.0.1": public, "9.255.255.255": public,
		"240.0.0.1": special, "203.0.113.9": special, "3fff::1": special, "5f00::1": special, "100::1": special,
		"fe80::1%eth0": special, "febf::1": special, "fdff::1": inside, "::8.8.8.8": tunnel, "::ffff:8.8.8.8": tunnel,
		"169.254.1.1": special, "192.88.99.1": tunnel,
	} {
		if got := reach(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
	if got := reach(netip.Addr{}); got == public {
		t.Error("no address is public")
	}
}
