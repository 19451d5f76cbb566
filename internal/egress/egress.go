// Package egress is the way out of a sandbox whose network is listed: an HTTP proxy,
// served from outside on a listener inside, which reaches the hosts that the operator
// listed and no others. It takes requests in absolute form and CONNECT, and tells who
// asks for another host that only the operator can allow it.
//
// A name is looked up here, outside; inside, DNS does not work. What is dialled is an
// address that package netguard has let pass: a host that is listed by its own name or
// address may be private, one that only *.example.com lists may not, as whoever holds
// that domain's DNS could turn a name of his to any address.
//
// A request goes to the host of its URL, whatever its Host header says, and is framed
// anew. Of a tunnel the first bytes are looked at: TLS for the name of a host that is
// not listed is refused. What else is said in a tunnel stays unseen, so a listed host
// that relays, or serves others' sites at its address, can be asked to.
//
// Where Rouse itself uses a proxy, that is asked in turn: names are still checked, but
// the addresses are those that it finds.
package egress

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"time"

	"rouse/internal/netguard"
	"rouse/internal/sandbox"
)

const (
	maxOpen    = 128 // connections of one sandbox at once; others wait
	maxHeader  = 64 << 10
	maxRefused = 100
	headerTime = 30 * time.Second // for a request's header, or a proxy's answer
	idleTime   = 30 * time.Second // between requests
	quietTime  = 10 * time.Minute // of a tunnel, in both directions
)

// Gate is the way out for sandboxes that share a list of hosts.
type Gate struct {
	// Upstream says by which proxy Rouse itself would make a request, as
	// [http.ProxyFromEnvironment] does; nil is by none.
	Upstream func(*http.Request) (*url.URL, error)
	// Resolver looks names up; nil is Go's own with the system's configuration.
	Resolver *net.Resolver

	hosts    hosts
	open     int
	header   time.Duration
	quiet    time.Duration
	dialling func(netip.AddrPort) error
}

// New makes a gate to hosts in the forms that [Entry] reads.
func New(entries []string) (*Gate, error) {
	g := &Gate{hosts: hosts{}, open: maxOpen, header: headerTime, quiet: quietTime}
	for _, e := range entries {
		normal, err := Entry(e)
		if err != nil {
			return nil, fmt.Errorf("host %w", err)
		}
		g.hosts[normal] = true
	}
	return g, nil
}

// Lists reports whether a host is listed, on a port that needs no naming.
func (g *Gate) Lists(host string) bool { return g.hosts.listed(host, "443") }

// Open serves what inside accepts. It takes the file over.
func (g *Gate) Open(inside sandbox.Listener) (sandbox.Door, error) {
	d, err := g.serve(inside)
	if err != nil {
		return nil, fmt.Errorf("proxy of a listed network: %w", err)
	}
	return d, nil
}

func (g *Gate) serve(inside *os.File) (*door, error) {
	defer inside.Close()
	l, err := net.FileListener(inside)
	if err != nil {
		return nil, err
	}
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		l.Close()
		return nil, fmt.Errorf("a listener of %s, not of TCP", l.Addr().Network())
	}
	d := &door{gate: g, slots: make(chan struct{}, g.open), conns: map[*conn]bool{}}
	d.guard = netguard.Guard{Named: g.hosts.named, Mend: mend, Resolver: g.Resolver, Dialling: g.dialling}
	d.ctx, d.end = context.WithCancel(context.Background())
	d.direct = d.transport(d.guard.Dial)
	d.chained = d.transport((&net.Dialer{Timeout: headerTime}).DialContext)
	d.chained.Proxy = g.Upstream
	quiet := log.New(io.Discard, "", 0)
	d.forwarder = d.reverse(quiet)
	d.server = &http.Server{
		Handler: d, BaseContext: func(net.Listener) context.Context { return d.ctx }, ErrorLog: quiet, DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout: g.header, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
	}
	go d.server.Serve(&listener{tcp, d})
	return d, nil
}

// mend is how the operator allows a host.
func mend(host, port string) string {
	return "only the operator can allow it: rouse allow host " + entry(host, port)
}
