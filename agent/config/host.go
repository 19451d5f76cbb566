package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"rouse/internal/lazy"
)

// CheckHost says what is wrong with an entry of sandbox.hosts. It is a name, an
// address, or *. and a name for all below it, and may end with a port.
func CheckHost(entry string) error {
	if strings.ContainsAny(entry, "/@? ") {
		return fmt.Errorf("%q: name the host alone, as in a.example or a.example:8443", entry)
	}
	host, port, ported := splitPort(entry)
	if n, err := strconv.Atoi(port); ported && (err != nil || n < 1 || n > 65535 || port[0] == '+') {
		return fmt.Errorf("%q: a port is 1 to 65535", entry)
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	name, all := strings.CutPrefix(host, "*.")
	switch {
	case strings.Contains(name, "*") || all && !strings.Contains(strings.TrimSuffix(name, "."), "."):
		return fmt.Errorf("%q: a * stands only at the beginning, before two names or more, as in *.a.example", entry)
	case !hostName().MatchString(name) || len(name) > 253:
		return fmt.Errorf("%q is no name of a host; write it as a.example, *.a.example or a.example:8443, in ASCII", entry)
	}
	return nil
}

// hostName matches names as resolvers know them.
var hostName = lazy.Regexp(`^([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.?$`)

// splitPort takes a port off a host, which may be an address in brackets.
func splitPort(entry string) (host, port string, ok bool) {
	if rest, found := strings.CutPrefix(entry, "["); found {
		if host, after, closed := strings.Cut(rest, "]"); closed && strings.Contains(host, ":") {
			port, ok = strings.CutPrefix(after, ":")
			if ok || after == "" {
				return host, port, ok
			}
		}
		return entry, "", false
	}
	if strings.Count(entry, ":") == 1 {
		return strings.Cut(entry, ":")
	}
	return entry, "", false
}
