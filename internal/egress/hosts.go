package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"rouse/internal/netguard"
)

// hosts are entries as [Entry] writes them.
type hosts map[string]bool

// listed reports whether a host, as [netguard.Normal] has it, may be asked for.
func (h hosts) listed(host, port string) bool {
	if h.has(host, port) {
		return true
	}
	for _, below, ok := strings.Cut(host, "."); ok; _, below, ok = strings.Cut(below, ".") {
		if h.has("*."+below, port) {
			return true
		}
	}
	return false
}

// named reports whether a host is listed by its own name or address.
func (h hosts) named(host, port string) bool { return h.has(host, port) }

func (h hosts) has(host, port string) bool {
	return h[net.JoinHostPort(host, port)] || usual(port) && h[host]
}

// usual are the ports of an entry that names none.
func usual(port string) bool { return port == "80" || port == "443" }

// entry is what lists a host and port.
func entry(host, port string) string {
	if usual(port) {
		return host
	}
	return net.JoinHostPort(host, port)
}

// Entry reads an entry of a list of hosts and gives its normal form: example.com,
// *.example.com (all below it, not itself), 192.0.2.1, ::1 or [::1], each with a :port
// or for the ports 80 and 443. An international name is given in its xn-- form.
func Entry(text string) (string, error) {
	normal, err := parse(text)
	if err != nil {
		return "", fmt.Errorf("%q: %w", text, err)
	}
	return normal, nil
}

var (
	errName = errors.New("no name of a host; write it as example.com, *.example.com or example.com:8443")
	errStar = errors.New("a * stands only at the beginning, before two names or more, as in *.example.com")
)

func parse(text string) (string, error) {
	if strings.ContainsAny(text, "/@? ") {
		return "", errors.New("name the host alone, as in example.com or example.com:8443")
	}
	host, port, ported := splitPort(text)
	if ported {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return "", errors.New("a port is 1 to 65535")
		}
		port = strconv.FormatUint(n, 10)
	}
	host, err := name(host)
	if err != nil || !ported {
		return host, err
	}
	return net.JoinHostPort(host, port), nil
}

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

// name is a host of an entry in the form in which requests name it.
func name(host string) (string, error) {
	var g netguard.Guard
	if addr, err := netip.ParseAddr(host); err == nil {
		return g.Host(host, addr.Is6())
	}
	name, below := strings.CutPrefix(host, "*.")
	if strings.Contains(name, "*") || below && !strings.Contains(strings.TrimSuffix(name, "."), ".") {
		return "", errStar
	}
	name, err := ascii(name)
	if err == nil {
		name, err = g.Host(name, false)
	}
	if _, addr := netip.ParseAddr(name); err != nil || addr == nil {
		return "", errName
	}
	if below {
		name = "*." + name
	}
	return name, nil
}

// ascii is an international name in its xn-- form. net/http can write that, and shows
// it only in how it writes a request.
func ascii(host string) (string, error) {
	if strings.IndexFunc(host, func(r rune) bool { return r >= 0x80 }) < 0 {
		return host, nil
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r >= 0x80 && !unicode.In(r, unicode.L, unicode.M, unicode.Nd) }) {
		return "", errName
	}
	var b bytes.Buffer
	r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/"}, Host: strings.ToLower(host)}
	if err := r.Write(&b); err != nil {
		return "", err
	}
	sent, err := http.ReadRequest(bufio.NewReader(&b))
	if err != nil {
		return "", err
	}
	return sent.Host, nil
}
