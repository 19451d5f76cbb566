package remote_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy stands between client and server and cuts connections.
type proxy struct {
	net.Listener
	// limits says after how many bytes the nth connection is cut, counted from 0:
	// of what the client sends, and of what it gets; below 0 is never.
	limits func(n int) (up, down int64)
	cuts   atomic.Int64

	mu    sync.Mutex
	to    string
	conns []net.Conn
}

func newProxy(t testing.TB, to string, limits func(n int) (up, down int64)) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, to: to, limits: limits}
	go p.serve()
	t.Cleanup(func() { l.Close() })
	return p
}

func (p *proxy) url() string { return "http://" + p.Addr().String() }

func (p *proxy) serve() {
	for n := 0; ; n++ {
		in, err := p.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		to := p.to
		p.mu.Unlock()
		out, err := net.Dial("tcp", to)
		if err != nil {
			in.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		up, down := p.limits(n)
		go p.copy(out, in, up)
		go p.copy(in, out, down)
	}
}

// cutAll cuts what is connected now; what connects from then on gets to another
// address.
func (p *proxy) cutAll(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = to
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// copy copies so many bytes, and then cuts both ways.
func (p *proxy) copy(to, from net.Conn, limit int64) {
	var r io.Reader = from
	if limit >= 0 {
		r = io.LimitReader(from, limit)
	}
	if n, _ := io.Copy(to, r); n == limit {
		p.cuts.Add(1)
	}
	to.Close()
	from.Close()
}
