package web

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"rouse/internal/netguard"
)

// guard decides which URLs and addresses may be reached.
type guard struct {
	netguard.Guard
	allow map[string]bool // host and host:port as [netguard.Normal] writes them
	ports []string        // open on any host
}

func newGuard(o Options) *guard {
	g := &guard{allow: map[string]bool{}}
	g.Guard = netguard.Guard{Named: g.allowed, Mend: operator, Hide: o.Redact.String, Resolver: o.Resolver}
	if len(o.Ports) == 0 {
		o.Ports = []int{80, 443, 8080, 8443}
	}
	for _, port := range o.Ports {
		g.ports = append(g.ports, strconv.Itoa(port))
	}
	for _, entry := range o.Allow {
		g.allow[normalEntry(entry)] = true
	}
	return g
}

// normalEntry writes an entry as [guard.allowed] looks it up.
func normalEntry(entry string) string {
	if host, port, err := net.SplitHostPort(entry); err == nil {
		return net.JoinHostPort(netguard.Normal(host), port)
	}
	return netguard.Normal(strings.Trim(entry, "[]"))
}

// allowed reports whether the operator named the host, or the host and port.
func (g *guard) allowed(host, port string) bool {
	return g.allow[host] || g.allow[net.JoinHostPort(host, port)]
}

func operator(string, string) string { return "only the operator can allow it, in tools.http.allow" }

// parse reads a URL that the model wrote. What it gives is normal: host in
// lower case, no user, no fragment, no port where it is the scheme's own.
func (g *guard) parse(raw string) (*url.URL, error) {
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
func (g *guard) redirect(from *url.URL, location string) (*url.URL, error) {
	ref, err := url.Parse(location)
	if err != nil || strings.Contains(location, `\`) {
		return nil, fmt.Errorf("the Location %q cannot be read", g.Cut(location))
	}
	next, err := g.check(from.ResolveReference(ref))
	if err == nil && from.Scheme == "https" && next.Scheme == "http" {
		return nil, errors.New("from https to http is not followed")
	}
	return next, err
}

func (g *guard) check(u *url.URL) (*url.URL, error) {
	u.Scheme = strings.ToLower(u.Scheme)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the scheme %q is refused; use http or https", g.Cut(u.Scheme))
	case u.User != nil:
		return nil, errors.New("a user name in the URL is refused; send an Authorization header if it must be")
	case u.Opaque != "" || u.Hostname() == "":
		return nil, errors.New("the URL names no host")
	}
	host, err := g.Host(u.Hostname(), strings.HasPrefix(u.Host, "["))
	if err != nil {
		return nil, err
	}
	port, err := g.checkPort(u, host)
	if err != nil {
		return nil, err
	}
	if err := g.Name(host, port); err != nil {
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

func (g *guard) checkPort(u *url.URL, host string) (string, error) {
	port, err := g.Port(cmp.Or(u.Port(), schemePort(u.Scheme)))
	if err == nil && !slices.Contains(g.ports, port) && !g.allow[net.JoinHostPort(host, port)] {
		return "", fmt.Errorf("port %s is refused, only %s are open; the operator can open it in tools.http.ports, or %s in tools.http.allow",
			port, strings.Join(g.ports, ", "), net.JoinHostPort(host, port))
	}
	return port, err
}
