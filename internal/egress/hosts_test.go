package egress

import (
	"net"
	"strings"
	"testing"

	"rouse/internal/netguard"
)

func TestListed(t *testing.T) {
	g, err := New([]string{"Example.com.", "*.wild.test", "port.test:8443", "*.deep.wild.test:81", "10.0.0.1", "[::1]:8080", "::2", "MÜNCHEN.de", "*.bücher.example"})
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{
		"example.com:80": "named", "example.com:443": "named", "example.com:8080": "", "example.com:22": "", "www.example.com:80": "",
		"notexample.com:80": "", "com:80": "", "a.wild.test:443": "listed", "a.b.wild.test:80": "listed", "wild.test:80": "", "awild.test:80": "", ".wild.test:80": "listed",
		"a.wild.test:81": "", "a.deep.wild.test:81": "listed", "a.deep.wild.test:80": "listed", "deep.wild.test:81": "", "port.test:8443": "named", "port.test:443": "", "port.test:80": "",
		"10.0.0.1:80": "named", "10.0.0.1:81": "", "10.0.0.2:80": "", "[::1]:8080": "named", "[::1]:80": "", "[::2]:443": "named",
		"xn--mnchen-3ya.de:80": "named", "a.xn--bcher-kva.example:80": "listed", "münchen.de:80": "", "*.wild.test:80": "",
	} {
		host, port, _ := net.SplitHostPort(at)
		if at == ".wild.test:80" || at == "*.wild.test:80" {
			if _, err := (&netguard.Guard{}).Host(host, false); err == nil {
				t.Errorf("%s is a host", at)
			}
			continue
		}
		got := ""
		if g.hosts.listed(host, port) {
			got = "listed"
		}
		if g.hosts.named(host, port) {
			got = "named"
		}
		if got != want {
			t.Errorf("%s is %q, want %q", at, got, want)
		}
	}
}

func TestEntry(t *testing.T) {
	for text, want := range map[string]string{
		"pypi.org": "pypi.org", "localhost": "localhost", "a.example:8443": "a.example:8443", "*.A.example": "*.a.example", "*.a.example:08443": "*.a.example:8443",
		"A-b.Example.": "a-b.example", "my_host": "my_host", "xn--bcher-kva.example": "xn--bcher-kva.example", "127.0.0.1": "127.0.0.1", "127.0.0.1:80": "127.0.0.1:80",
		"::1": "::1", "[::1]": "::1", "[0::1]:8080": "[::1]:8080", "bücher.example": "xn--bcher-kva.example", "*.Bücher.example:81": "*.xn--bcher-kva.example:81",
	} {
		got, err := Entry(text)
		if err != nil || got != want {
			t.Errorf("%q is %q, want %q: %v", text, got, want, err)
		}
	}
	for text, want := range map[string]string{
		"": "no name of a host", "https://pypi.org": "name the host alone", "me@a.example": "name the host alone", "a b": "name the host alone",
		"*": "a * stands only", "*.com": "a * stands only", "a.*.example": "a * stands only", "*a.example": "a * stands only", "*.10.0.0.1": "no name", "*.[::1]": "a * stands only",
		"*.com.": "a * stands only", "*.*.example": "a * stands only", "a..example": "no name", ".example.com": "no name", "pypi.org/simple": "name the host alone", "a.example:": "a port is", "a.example:+80": "a port is", "a.example:0": "a port is", "a:70000": "a port is", "[::1": "no name",
		"[a.example]:80": "no name", "[::1]80": "no name", "127.1": "no name", "2130706433": "no name", "0x7f.1": "no name", "127。0。0。1": "no name", "①②⑦.0.0.1": "no name",
		"fe80::1%lo": "no zones", "a\x00b.test": "no name", "a\r\nb.test": "no name", "ü\r\nHost: b.test": "name the host alone", strings.Repeat("a", 64): "no name",
	} {
		if got, err := Entry(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %q: %v, want %q", text, got, err, want)
		}
	}
}

// An entry that is read lists what it names, in one form, and no neighbours.
func FuzzHosts(f *testing.F) {
	for _, e := range []string{"example.com", "*.example.com:81", "[::1]:8080", "::1", "münchen.de", "127。0。0。1", "*.com", "a:b:c", "[x]:1", "ſ.example.com"} {
		f.Add(e, "www.example.com")
	}
	f.Fuzz(func(t *testing.T, text, other string) {
		normal, err := Entry(text)
		if err != nil {
			return
		}
		if again, err := Entry(normal); err != nil || again != normal {
			t.Fatalf("%q is %q, and that is %q: %v", text, normal, again, err)
		}
		h := hosts{normal: true}
		host, port, ported := splitPort(normal)
		if !ported {
			port = "443"
		}
		below, wild := strings.CutPrefix(host, "*.")
		if h.listed(below, port) == wild || h.named(below, port) == wild || wild && (!h.listed("a."+below, port) || h.named("a."+below, port)) {
			t.Errorf("%q lists other than it says", normal)
		}
		if h.listed(below, "22") != (!wild && port == "22") {
			t.Errorf("%q opens port 22", normal)
		}
		other, err = (&netguard.Guard{}).Host(other, false)
		if err == nil && h.listed(other, port) && other != host && !(wild && strings.HasSuffix(other, "."+below)) {
			t.Errorf("%q lists %q", normal, other)
		}
	})
}
