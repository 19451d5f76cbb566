package web

import "net/netip"

// class is what kind of network an address is in.
type class string

const (
	public   class = "public"
	loopback class = "loopback"
	inside   class = "private"
	metadata class = "metadata"
	special  class = "link-local, multicast or reserved"
	tunnel   class = "translated or tunnelled"
)

// private reports whether naming a host may open it.
func (c class) private() bool { return c == loopback || c == inside }

// network is a block of addresses.
type network struct {
	block string
	class class
}

// networks are the blocks that are not public, the first that fits counting:
// IANA's special-purpose registries
// (https://www.iana.org/assignments/iana-ipv4-special-registry,
// https://www.iana.org/assignments/iana-ipv6-special-registry), multicast, and
// the clouds' metadata addresses. Of IPv6 only 2000::/3 is public at all.
func networks() []network {
	return []network{
		{"169.254.169.254/32", metadata},
		{"169.254.170.0/24", metadata}, // container credentials
		{"100.100.100.200/32", metadata},
		{"192.0.0.192/32", metadata},
		{"168.63.129.16/32", metadata}, // a public number that is not
		{"fd00:ec2::/32", metadata},
		{"fd20:ce::254/128", metadata},

		{"127.0.0.0/8", loopback},
		{"10.0.0.0/8", inside},
		{"172.16.0.0/12", inside},
		{"192.168.0.0/16", inside},
		{"100.64.0.0/10", inside},
		{"198.18.0.0/15", inside},
		{"0.0.0.0/8", special},
		{"169.254.0.0/16", special},
		{"192.0.0.0/24", special},
		{"192.0.2.0/24", special},
		{"192.88.99.0/24", tunnel},
		{"198.51.100.0/24", special},
		{"203.0.113.0/24", special},
		{"224.0.0.0/3", special}, // multicast, reserved, broadcast

		{"::1/128", loopback},
		{"fc00::/7", inside},
		{"::ffff:0:0/96", tunnel},
		{"::/96", tunnel}, // unspecified and v4-compatible
		{"64:ff9b::/96", tunnel},
		{"64:ff9b:1::/48", tunnel},
		{"2001::/23", tunnel}, // Teredo, ORCHID and other protocols
		{"2001:db8::/32", special},
		{"2002::/16", tunnel}, // 6to4
		{"3fff::/20", special},
		{"2000::/3", public},
		{"::/0", special}, // link-local, site-local, multicast, unassigned
	}
}

// reach says what kind of network addr is in.
func reach(addr netip.Addr) class {
	if !addr.IsValid() || addr.Zone() != "" {
		return special
	}
	for _, n := range networks() {
		if netip.MustParsePrefix(n.block).Contains(addr) {
			return n.class
		}
	}
	return public
}
