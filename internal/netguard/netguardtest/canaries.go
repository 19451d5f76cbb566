package netguardtest

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
)

// Canaries listen on one port of several loopback addresses, and answer SECRET.
type Canaries struct {
	Port    string
	Accepts atomic.Int64
}

// NewCanaries starts some that end with the test.
func NewCanaries(t testing.TB) *Canaries {
	t.Helper()
	c := &Canaries{Port: "0"}
	for _, host := range []string{"127.0.0.1", "127.0.0.2", "127.255.255.254", "::1"} {
		l, err := net.Listen("tcp", net.JoinHostPort(host, c.Port))
		if err != nil && c.Port == "0" {
			t.Fatal(err)
		} else if err != nil {
			continue // not every system has it
		}
		_, c.Port, _ = net.SplitHostPort(l.Addr().String())
		t.Cleanup(func() { l.Close() })
		go c.serve(l)
	}
	return c
}

func (c *Canaries) serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		c.Accepts.Add(1)
		http.ReadRequest(bufio.NewReader(conn))
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nSECRET")
		conn.Close()
	}
}
