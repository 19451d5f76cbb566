package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
)

// dial connects to one of the addresses of a host that [guard.check] let pass,
// provided that all of them may be reached.
func (c *client) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	addrs, err := c.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		if err := c.guard.checkAddr(host, port, addr); err != nil {
			return nil, err
		}
	}
	d := &net.Dialer{Timeout: perAddress, Control: c.control(host)}
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
func (c *client) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	addrs, err := c.resolver.LookupNetIP(ctx, "ip", host)
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

// control is asked with the address that the socket is about to connect to.
func (c *client) control(host string) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if err := c.guard.checkAddr(host, strconv.Itoa(int(at.Port())), at.Addr()); err != nil {
			return err
		}
		if c.dialling != nil {
			return c.dialling(at)
		}
		return nil
	}
}
