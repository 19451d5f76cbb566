// Package netguard keeps connections that somebody else asks for from reaching
// anything but the public Internet and what the operator named: those of http_get,
// and those of processes whose network is listed.
//
// A host is refused if it could be read in two ways, and what was decided on is what
// is dialled. A name is looked up once; if any of its addresses may not be reached
// the name is refused, and the dialler is given the addresses, not the name. The
// socket asks again before it connects.
//
// A host that the operator named may be at private and loopback addresses. A name
// opens neither link-local nor metadata addresses, so that whoever answers for it in
// the DNS cannot turn it to those; a literal address opens itself.
package netguard

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"rouse/internal/text"
)

// Guard decides which hosts and addresses may be reached.
type Guard struct {
	// Named reports whether the operator named the host, or the host with the port;
	// both are normal, see [Normal].
	Named func(host, port string) bool
	// Mend ends a refusal: how the operator can allow it.
	Mend func(host, port string) string
	// Hide takes secrets out of what is quoted; nil has none.
	Hide func(string) string
	// Resolver looks names up; nil is Go's own with the system's configuration.
	Resolver *net.Resolver
	// Dialling, unless nil, is told of each address right before it is connected to,
	// and can stop that.
	Dialling func(netip.AddrPort) error
}

// Refusal is a host that the guard does not let pass.
type Refusal struct{ why string }

func (r *Refusal) Error() string { return "refused: " + r.why }

// Normal is a host in lower case, without the final dot; an address as
// [netip.Addr.String] has it.
func Normal(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.String()
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// Host gives a host as [Normal] has it, if it can be read in one way only. IPv6
// addresses, and no others, have to stand in brackets where they were found.
func (g *Guard) Host(host string, bracketed bool) (string, error) {
	shown := g.Cut(host)
	for _, c := range []byte(host) {
		if c >= 0x80 {
			return "", fmt.Errorf("the host %q is not ASCII; write an international name in its xn-- form", shown)
		}
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" || addr.Is6() != bracketed {
			return "", fmt.Errorf("the address %q is refused: no zones, and IPv6 in brackets", shown)
		}
		return addr.String(), nil
	}
	host = Normal(host)
	labels := strings.Split(host, ".")
	if len(host) > 253 || slices.ContainsFunc(labels, badLabel) {
		return "", fmt.Errorf("%q is not a host name", shown)
	}
	if numeric(labels[len(labels)-1]) {
		return "", fmt.Errorf("%q is an odd way to write an address; write four decimal numbers", shown)
	}
	return host, nil
}

func badLabel(l string) bool {
	return l == "" || len(l) > 63 || strings.ContainsFunc(l, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
}

// numeric reports whether a last label makes the host an IPv4 address to those
// who read addresses leniently (https://url.spec.whatwg.org/#ends-in-a-number-checker).
func numeric(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	set := "0123456789"
	if hex {
		set += "abcdef"
	}
	return strings.Trim(digits, set) == ""
}

// Port gives a port without leading zeros.
func (g *Guard) Port(port string) (string, error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Errorf("%q is not a port", g.Cut(port))
	}
	return strconv.FormatUint(n, 10), nil
}

// Name refuses, before any look-up, addresses and names known to be local.
func (g *Guard) Name(host, port string) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		return g.Addr(host, port, addr)
	}
	if Local(host) && !g.Named(host, port) {
		return &Refusal{fmt.Sprintf("%s is a local name; %s", host, g.Mend(host, port))}
	}
	return nil
}

// Local reports whether a name is of this machine or of a cloud's metadata.
func Local(host string) bool {
	switch host {
	case "localhost", "ip6-localhost", "ip6-loopback", "localhost.localdomain",
		"metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal", "metadata.azure.com",
		"metadata.tencentyun.com", "instance-data", "instance-data.ec2.internal":
		return true
	}
	return strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".metadata.google.internal")
}

// Addr decides on an address that host is or has.
func (g *Guard) Addr(host, port string, addr netip.Addr) error {
	what := Reach(addr)
	literal := host == addr.String()
	switch {
	case what == Public:
		return nil
	case g.Named(host, port) && (literal || what.opens()):
		return nil
	case literal:
		return &Refusal{fmt.Sprintf("%s is a %s address; %s", host, what, g.Mend(host, port))}
	}
	return &Refusal{fmt.Sprintf("%s is at %s, a %s address; %s", host, addr, what, g.Mend(host, port))}
}

// Cut shortens what is quoted in an error, which has lost its secrets before.
func (g *Guard) Cut(s string) string {
	if g.Hide != nil {
		s = g.Hide(s)
	}
	return text.CutBytes(s, 100)
}
