package web

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"rouse/internal/redact"
	"rouse/internal/text"
)

// guard decides which URLs and addresses may be reached.
type guard struct {
	allow map[string]bool // host and host:port as [normal] writes them
	ports []string        // open on any host
	hide  *redact.Redactor
}

func newGuard(allow []string, ports []int, hide *redact.Redactor) guard {
	g := guard{hide: hide, allow: map[string]bool{}}
	if len(ports) == 0 {
		ports = []int{80, 443, 8080, 8443}
	}
	for _, port := range ports {
		g.ports = append(g.ports, strconv.Itoa(port))
	}
	for _, entry := range allow {
		g.allow[normalEntry(entry)] = true
	}
	return g
}

// normalEntry writes an entry as [guard.allowed] looks it up.
func normalEntry(entry string) string {
	if host, port, err := net.SplitHostPort(entry); err == nil {
		return net.JoinHostPort(normal(host), port)
	}
	return normal(strings.Trim(entry, "[]"))
}

// normal is a host in lower case, without the final dot; an address as
// [netip.Addr.String] has it.
func normal(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.String()
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// allowed reports whether the operator named the host, or the host and port.
func (g guard) allowed(host, port string) bool {
	return g.allow[host] || g.allow[net.JoinHostPort(host, port)]
}

// parse reads a URL that the model wrote. What it gives is normal: host in
// lower case, no user, no fragment, no port where it is the scheme's own.
func (g guard) parse(raw string) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, fmt.Errorf("the URL is longer than %d bytes", maxURL)
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return nil, errors.New("the URL has a space, a control character or a backslash; write them percent-encoded")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("the URL cannot be read: %w", errors.Unwrap(err))
	}
	return g.check(u)
}

// redirect reads the Location that from answered with.
func (g guard) redirect(from *url.URL, location string) (*url.URL, error) {
	ref, err := url.Parse(location)
	if err != nil || strings.Contains(location, `\`) {
		return nil, fmt.Errorf("the Location %q cannot be read", g.cut(location))
	}
	next, err := g.check(from.ResolveReference(ref))
	if err == nil && from.Scheme == "https" && next.Scheme == "http" {
		return nil, errors.New("from https to http is not followed")
	}
	return next, err
}

func (g guard) check(u *url.URL) (*url.URL, error) {
	u.Scheme = strings.ToLower(u.Scheme)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the scheme %q is refused; use http or https", g.cut(u.Scheme))
	case u.User != nil:
		return nil, errors.New("a user name in the URL is refused; send an Authorization header if it must be")
	case u.Opaque != "" || u.Hostname() == "":
		return nil, errors.New("the URL names no host")
	}
	host, err := g.checkHost(u)
	if err != nil {
		return nil, err
	}
	port, err := g.checkPort(u, host)
	if err != nil {
		return nil, err
	}
	if err := g.checkName(host, port); err != nil {
		return nil, err
	}
	u.Host, u.Fragment, u.RawFragment = hostPort(u.Scheme, host, port), "", ""
	return u, nil
}

// hostPort leaves out the scheme's own port, as servers expect of a Host header.
func hostPort(scheme, host, port string) string {
	joined := net.JoinHostPort(host, port)
	if port == schemePort(scheme) {
		return strings.TrimSuffix(joined, ":"+port)
	}
	return joined
}

func schemePort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// checkHost gives the host as [normal] has it, if it can be read in one way only.
func (g guard) checkHost(u *url.URL) (string, error) {
	host := u.Hostname()
	shown := g.cut(host)
	for _, c := range []byte(host) {
		if c >= 0x80 {
			return "", fmt.Errorf("the host %q is not ASCII; write an international name in its xn-- form", shown)
		}
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		bracketed := strings.HasPrefix(u.Host, "[")
		if addr.Zone() != "" || addr.Is6() != bracketed {
			return "", fmt.Errorf("the address %q is refused: no zones, and IPv6 in brackets", shown)
		}
		return addr.String(), nil
	}
	host = normal(host)
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

func (g guard) checkPort(u *url.URL, host string) (string, error) {
	port := cmp.Or(u.Port(), schemePort(u.Scheme))
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Errorf("%q is not a port", g.cut(port))
	}
	port = strconv.FormatUint(n, 10)
	if !slices.Contains(g.ports, port) && !g.allow[net.JoinHostPort(host, port)] {
		return "", fmt.Errorf("port %s is refused, only %s are open; the operator can open it in tools.http.ports, or %s in tools.http.allow",
			port, strings.Join(g.ports, ", "), net.JoinHostPort(host, port))
	}
	return port, nil
}

// checkName refuses, before any look-up, addresses and names known to be local.
func (g guard) checkName(host, port string) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		return g.checkAddr(host, port, addr)
	}
	if local(host) && !g.allowed(host, port) {
		return fmt.Errorf("refused: %s is a local name; %s", host, operator)
	}
	return nil
}

// local reports whether a name is of this machine or of a cloud's metadata.
func local(host string) bool {
	switch host {
	case "localhost", "ip6-localhost", "ip6-loopback", "localhost.localdomain",
		"metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal", "metadata.azure.com",
		"metadata.tencentyun.com", "instance-data", "instance-data.ec2.internal":
		return true
	}
	return strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".metadata.google.internal")
}

const operator = "only the operator can allow it, in tools.http.allow"

// checkAddr decides on an address that host is or has.
func (g guard) checkAddr(host, port string, addr netip.Addr) error {
	what := reach(addr)
	literal := host == addr.String()
	switch {
	case what == public:
		return nil
	case g.allowed(host, port) && (literal || what.private()):
		return nil
	case literal:
		return fmt.Errorf("refused: %s is a %s address; %s", host, what, operator)
	}
	return fmt.Errorf("refused: %s is at %s, a %s address; %s", host, addr, what, operator)
}

// cut shortens what is quoted in an error, which has lost its secrets before.
func (g guard) cut(s string) string { return text.CutBytes(g.hide.String(s), 100) }
