package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

// perAddress is how long connecting to one address may take.
const perAddress = 10 * time.Second

// Dial connects to one of the addresses of a host that [Guard.Name] let pass,
// provided that all of them may be reached. The socket asks once more before it
// connects.
func (g *Guard) Dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	addrs, err := g.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		if err := g.Addr(host, port, addr); err != nil {
			return nil, err
		}
	}
	d := &net.Dialer{Timeout: perAddress, Control: g.control(host)}
	var failed error
	for _, addr := range addrs {
		conn, err := d.DialContext(ctx, network, net.JoinHostPort(addr.String(), port))
		if err == nil {
			return conn, nil
		}
		failed = err
	}
	return nil, failed
}

// lookup gives the addresses of a host, v4-mapped ones as the IPv4 addresses
// that would be connected to.
func (g *Guard) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	addrs, err := g.resolver().LookupNetIP(ctx, "ip", host)
	if err != nil {
		if dns := (*net.DNSError)(nil); errors.As(err, &dns) && dns.IsNotFound {
			return nil, fmt.Errorf("there is no host %s", host)
		}
		return nil, fmt.Errorf("look up %s: %w", host, err)
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("%s has no address", host)
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, nil
}

func (g *Guard) resolver() *net.Resolver {
	if g.Resolver != nil {
		return g.Resolver
	}
	return &net.Resolver{PreferGo: true}
}

// control is asked with the address that the socket is about to connect to.
func (g *Guard) control(host string) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if err := g.Addr(host, strconv.Itoa(int(at.Port())), at.Addr()); err != nil {
			return err
		}
		if g.Dialling != nil {
			return g.Dialling(at)
		}
		return nil
	}
}
