// Package loopback tells addresses that only this machine reaches.
package loopback

import (
	"net"
	"strings"
)

// Is says whether an address, with or without a port, is one of loopback: an IP
// address, or the name localhost. Other names may lead anywhere.
func Is(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = strings.Trim(addr, "[]")
	}
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
