package netguard

import (
	"net/netip"
	"testing"
)

func TestReach(t *testing.T) {
	for addr, want := range map[string]Class{
		"8.8.8.8": Public, "1.1.1.1": Public, "172.15.255.255": Public, "172.32.0.1": Public, "100.63.255.255": Public,
		"100.128.0.1": Public, "169.253.255.255": Public, "198.20.0.1": Public, "223.255.255.255": Public,
		"2606:4700:4700::1111": Public, "2001:4860:4860::8888": Public, "2a00:1450::1": Public,
		"126.255.255.255": Public, "128.0.0.1": Public, "11.0.0.1": Public, "9.255.255.255": Public,
		"240.0.0.1": Special, "203.0.113.9": Special, "3fff::1": Special, "5f00::1": Special, "100::1": Special,
		"fe80::1%eth0": Special, "febf::1": Special, "fdff::1": Private, "::8.8.8.8": Tunnel, "::ffff:8.8.8.8": Tunnel,
		"169.254.1.1": Special, "192.88.99.1": Tunnel,
	} {
		if got := Reach(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
	if got := Reach(netip.Addr{}); got == Public {
		t.Error("no address is public")
	}
}
