package egress

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"sync"

	"rouse/internal/netguard"
)

// door is a gate opened for one sandbox.
type door struct {
	gate            *Gate
	guard           netguard.Guard
	server          *http.Server
	forwarder       *httputil.ReverseProxy
	direct, chained *http.Transport
	ctx             context.Context // ends what waits for others when the door is closed
	end             context.CancelFunc
	slots           chan struct{} // one is filled for each connection

	mu      sync.Mutex
	conns   map[*conn]bool
	refused []string
	reached []string
}

// ServeHTTP answers one request of the sandbox.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		d.connect(w, r)
		return
	}
	if len(d.slots) == cap(d.slots) && r.Header.Get("Upgrade") == "" { // others may wait
		w.Header().Set("Connection", "close")
	}
	d.forward(w, r)
}

// Refused are the hosts that were refused, each once, in the form in which they would
// be listed.
func (d *door) Refused() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.refused)
}

// Reached are the hosts that were asked for and may be reached, each once.
func (d *door) Reached() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.reached)
}

func (d *door) note(host, port string) { d.add(&d.refused, entry(host, port)) }

func (d *door) add(list *[]string, host string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(*list) < maxRefused && !slices.Contains(*list, host) {
		*list = append(*list, host)
	}
}

// Close ends all connections, tunnels too, and what is still being dialled.
func (d *door) Close() error {
	d.end()
	err := d.server.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.conns {
		c.TCPConn.Close()
	}
	d.direct.CloseIdleConnections()
	d.chained.CloseIdleConnections()
	return err
}

// listener accepts as many connections as there are slots.
type listener struct {
	*net.TCPListener
	door *door
}

// Accept waits until there is a slot, too.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.door.slots <- struct{}{}:
	case <-l.door.ctx.Done():
		return nil, net.ErrClosed
	}
	tcp, err := l.AcceptTCP()
	if err != nil {
		<-l.door.slots
		return nil, err
	}
	return l.door.admit(tcp), nil
}

// conn is a connection from inside. The server forgets those that became tunnels; the
// door does not.
type conn struct {
	*net.TCPConn
	door *door
	once sync.Once
}

func (d *door) admit(tcp *net.TCPConn) *conn {
	c := &conn{TCPConn: tcp, door: d}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conns[c] = true
	if d.ctx.Err() != nil {
		tcp.Close()
	}
	return c
}

func (c *conn) Close() error {
	c.once.Do(func() {
		c.door.mu.Lock()
		delete(c.door.conns, c)
		c.door.mu.Unlock()
		<-c.door.slots
	})
	return c.TCPConn.Close()
}
