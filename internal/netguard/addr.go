package netguard

import "net/netip"

// Class is what kind of network an address is in.
type Class string

// The classes, as a refusal words them.
const (
	Public   Class = "public"
	Loopback Class = "loopback"
	Private  Class = "private"
	Metadata Class = "metadata"
	Special  Class = "link-local, multicast or reserved"
	Tunnel   Class = "translated or tunnelled"
)

// opens reports whether naming a host may open it.
func (c Class) opens() bool { return c == Loopback || c == Private }

// network is a block of addresses.
type network struct {
	block string
	class Class
}

// networks are the blocks that are not public, the first that fits counting:
// IANA's special-purpose registries
// (https://www.iana.org/assignments/iana-ipv4-special-registry,
// https://www.iana.org/assignments/iana-ipv6-special-registry), multicast, and
// the clouds' metadata addresses. Of IPv6 only 2000::/3 is public at all.
func networks() []network {
	return []network{
		{"169.254.169.254/32", Metadata},
		{"169.254.170.0/24", Metadata}, // container credentials
		{"100.100.100.200/32", Metadata},
		{"192.0.0.192/32", Metadata},
		{"168.63.129.16/32", Metadata}, // a public number that is not
		{"fd00:ec2::/32", Metadata},
		{"fd20:ce::254/128", Metadata},

		{"127.0.0.0/8", Loopback},
		{"10.0.0.0/8", Private},
		{"172.16.0.0/12", Private},
		{"192.168.0.0/16", Private},
		{"100.64.0.0/10", Private},
		{"198.18.0.0/15", Private},
		{"0.0.0.0/8", Special},
		{"169.254.0.0/16", Special},
		{"192.0.0.0/24", Special},
		{"192.0.2.0/24", Special},
		{"192.88.99.0/24", Tunnel},
		{"198.51.100.0/24", Special},
		{"203.0.113.0/24", Special},
		{"224.0.0.0/3", Special}, // multicast, reserved, broadcast

		{"::1/128", Loopback},
		{"fc00::/7", Private},
		{"::ffff:0:0/96", Tunnel},
		{"::/96", Tunnel}, // unspecified and v4-compatible
		{"64:ff9b::/96", Tunnel},
		{"64:ff9b:1::/48", Tunnel},
		{"2001::/23", Tunnel}, // Teredo, ORCHID and other protocols
		{"2001:db8::/32", Special},
		{"2002::/16", Tunnel}, // 6to4
		{"3fff::/20", Special},
		{"2000::/3", Public},
		{"::/0", Special}, // link-local, site-local, multicast, unassigned
	}
}

// Reach says what kind of network addr is in.
func Reach(addr netip.Addr) Class {
	if !addr.IsValid() || addr.Zone() != "" {
		return Special
	}
	for _, n := range networks() {
		if netip.MustParsePrefix(n.block).Contains(addr) {
			return n.class
		}
	}
	return Public
}
