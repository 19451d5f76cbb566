package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"rouse/internal/netguard"
)

// connect makes a tunnel to a host.
func (d *door) connect(w http.ResponseWriter, r *http.Request) {
	host, port, err := d.target(r)
	hijacked, buffered, failed := w.(http.Hijacker).Hijack()
	if failed != nil {
		return
	}
	client := hijacked.(*conn)
	defer client.Close()
	var server net.Conn
	if err == nil {
		server, err = d.dial(host, port)
	}
	if err != nil {
		status, sentence := d.answer(host, port, err)
		client.hangUp(status, sentence)
		return
	}
	defer server.Close()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	t := &tunnel{door: d, host: host, port: port, client: client, server: server, said: buffered.Reader}
	t.run()
}

// hangUp answers with a sentence, which stands in the status line too: of a failed
// CONNECT most programs show that alone.
func (c *conn) hangUp(status int, sentence string) {
	fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%[2]s\n",
		status, sentence, len(sentence)+1)
	c.CloseWrite()
	c.SetReadDeadline(time.Now().Add(time.Second)) // what is unread at a close would take the answer with it
	io.Copy(io.Discard, io.LimitReader(c, maxHeader))
}

// dial connects to a host that may be asked for.
func (d *door) dial(host, port string) (net.Conn, error) {
	at := net.JoinHostPort(host, port)
	up, err := d.upstream(request(at))
	switch {
	case err != nil:
		return nil, err
	case up != nil:
		return through(d.ctx, up, at)
	}
	return d.guard.Dial(d.ctx, "tcp", at)
}

// tunnel copies between a client in the sandbox and a server.
type tunnel struct {
	door           *door
	host, port     string
	client, server net.Conn
	said           *bufio.Reader // by the client
	quiet          *time.Timer
}

// run returns when both directions have ended, by themselves or because nothing came
// for long.
func (t *tunnel) run() {
	t.quiet = time.AfterFunc(t.door.gate.quiet, t.close)
	defer t.quiet.Stop()
	back := make(chan struct{})
	go func() {
		defer close(back)
		t.copy(t.client, t.server)
	}()
	t.forth()
	<-back
}

func (t *tunnel) close() {
	t.client.Close()
	t.server.Close()
}

// forth copies what the client says, once it is known to be for the host.
func (t *tunnel) forth() {
	first, err := t.said.Peek(1)
	if err == nil && isTLS(first[0]) {
		err = t.greet()
	}
	if err != nil && err != io.EOF {
		t.close()
		return
	}
	t.copy(t.server, t.said)
}

var errTLS = errors.New("TLS for another host")

// greet passes on the first message of TLS if it is for a host that may be reached.
func (t *tunnel) greet() error {
	name, hello, err := serverName(t.said)
	if err != nil {
		return err
	}
	if !t.meant(name) {
		if host, err := t.door.guard.Host(name, false); err == nil {
			t.door.note(host, t.port)
		}
		io.WriteString(t.client, unrecognized)
		return errTLS
	}
	_, err = t.server.Write(hello)
	return err
}

// meant says whether TLS for a name may go to the tunnel's host. That an address has a
// name is nothing to compare.
func (t *tunnel) meant(name string) bool {
	if _, err := netip.ParseAddr(t.host); err == nil || name == "" {
		return true
	}
	name = netguard.Normal(name)
	return name == t.host || t.door.gate.hosts.listed(name, t.port)
}

// copy copies one direction. An end is passed on, an error ends both.
func (t *tunnel) copy(to net.Conn, from io.Reader) {
	_, err := io.Copy(stirring{to, func() { t.quiet.Reset(t.door.gate.quiet) }}, from)
	half, ok := to.(interface{ CloseWrite() error })
	if err != nil || !ok || half.CloseWrite() != nil {
		t.close()
	}
}

// stirring says when something is written.
type stirring struct {
	io.Writer
	stir func()
}

func (s stirring) Write(p []byte) (int, error) {
	s.stir()
	return s.Writer.Write(p)
}
