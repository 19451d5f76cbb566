package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"rouse/internal/netguard/netguardtest"
)

// rig is an open gate with an own name server, and canaries that count who connects.
type rig struct {
	t     *testing.T
	names *netguardtest.NameServer
	*netguardtest.Canaries
	gate *Gate
	door *door
	at   string // where the proxy is
	netguardtest.Dials
}

func newRig(t *testing.T, hosts ...string) *rig {
	t.Helper()
	r := &rig{t: t, names: netguardtest.NewNameServer(t), Canaries: netguardtest.NewCanaries(t)}
	for i, h := range hosts {
		hosts[i] = strings.ReplaceAll(h, "PORT", r.Port)
	}
	g, err := New(hosts)
	if err != nil {
		t.Fatal(err)
	}
	g.Resolver, g.dialling = r.names.Resolver(), r.Dialling
	r.gate = g
	r.open()
	return r
}

// open opens the gate, anew after a change of it.
func (r *rig) open() {
	r.t.Helper()
	if r.door != nil {
		r.door.Close()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	defer l.Close()
	inside, err := l.(*net.TCPListener).File()
	if err != nil {
		r.t.Fatal(err)
	}
	d, err := r.gate.Open(inside)
	if err != nil {
		r.t.Fatal(err)
	}
	r.door, r.at = d.(*door), l.Addr().String()
	r.t.Cleanup(func() { d.Close() })
}

// serve starts a server, and lists it.
func (r *rig) serve(h http.HandlerFunc) string {
	r.t.Helper()
	s := httptest.NewServer(h)
	r.t.Cleanup(s.Close)
	return r.list(s.Listener.Addr().String())
}

// list adds to the hosts, before anything is asked for.
func (r *rig) list(at string) string {
	r.gate.hosts[at] = true
	return at
}

// dial connects to the proxy.
func (r *rig) dial() net.Conn {
	r.t.Helper()
	c, err := net.Dial("tcp", r.at)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

// say sends bytes and gives all that comes back.
func (r *rig) say(lines string) string {
	r.t.Helper()
	c := r.dial()
	defer c.Close()
	if _, err := io.WriteString(c, lines); err != nil {
		r.t.Fatal(err)
	}
	said, err := io.ReadAll(c)
	if err != nil {
		r.t.Errorf("%.200q: %v after %q", lines, err, said)
	}
	return string(said)
}

// get and tunnel ask in the two ways.
func (r *rig) get(u string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(u, "http://"), "/")
	return r.say("GET " + u + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n")
}

func (r *rig) tunnel(at string) string {
	return r.say("CONNECT " + at + " HTTP/1.1\r\nHost: " + at + "\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
}

// connected is a connection in a tunnel.
func (r *rig) connected(at string) (net.Conn, *bufio.Reader) {
	r.t.Helper()
	c := r.dial()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", at)
	said := bufio.NewReader(c)
	resp, err := http.ReadResponse(said, &http.Request{Method: http.MethodConnect})
	if err != nil || resp.StatusCode != 200 {
		r.t.Fatal(resp, err)
	}
	return c, said
}

// client is one of net/http that uses the proxy.
func (r *rig) client() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: r.at})},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       time.Minute,
	}
}

// hear starts a server that speaks no HTTP, and lists it.
func (r *rig) hear(speak func(*net.TCPConn)) string {
	r.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				speak(c.(*net.TCPConn))
			}()
		}
	}()
	return r.list(l.Addr().String())
}

// refused checks what the door tells the operator.
func (r *rig) refused(want ...string) {
	r.t.Helper()
	if got := r.door.Refused(); !slices.Equal(got, want) {
		r.t.Errorf("refused are %q, want %q", got, want)
	}
}

// status is that of a raw answer; 0 is none.
func status(said string) (code int) {
	fmt.Sscanf(said, "HTTP/1.1 %d", &code)
	return code
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}
