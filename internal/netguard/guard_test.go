package netguard

import (
	"errors"
	"net/netip"
	"testing"
)

// The socket asks again, even if the look-up had let an address pass.
func TestSocketAsksAgain(t *testing.T) {
	g := &Guard{
		Named: func(host, _ string) bool { return host == "named.test" },
		Mend:  func(string, string) string { return "" },
		Dialling: func(a netip.AddrPort) error {
			if !a.Addr().IsLoopback() {
				return errors.New("the test does not leave this machine")
			}
			return nil
		},
	}
	for _, x := range []struct {
		host, at string
		refused  bool
		ok       bool
	}{
		{"public.test", "93.184.216.34:80", false, false}, // by the test alone
		{"evil.test", "127.0.0.1:80", true, false},
		{"evil.test", "[::ffff:127.0.0.1]:80", true, false},
		{"evil.test", "[fe80::1%lo]:80", true, false},
		{"evil.test", "nonsense", false, false},
		{"named.test", "127.0.0.1:80", false, true},
		{"named.test", "10.0.0.1:80", false, false}, // by the test
		{"named.test", "169.254.169.254:80", true, false},
	} {
		err := g.control(x.host)("tcp", x.at, nil)
		var r *Refusal
		if (err == nil) != x.ok || errors.As(err, &r) != x.refused {
			t.Errorf("%s at %s: %v", x.host, x.at, err)
		}
	}
}
