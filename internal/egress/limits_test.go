package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A thousand connections are all served, and never more at once than there are slots.
func TestThousandConnections(t *testing.T) {
	r := newRig(t)
	r.gate.open = 16
	r.open()
	var now, most atomic.Int64
	at := r.serve(func(w http.ResponseWriter, req *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		io.WriteString(w, "ok")
	})
	var wg sync.WaitGroup
	gate := make(chan struct{}, 200) // what the kernel keeps for us to accept has a bound too
	for i := range 1000 {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			c := r.dial()
			defer c.Close()
			fmt.Fprintf(c, "GET http://%s/ HTTP/1.1\r\nHost: x\r\n\r\n", at) // and it does not close by itself
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || resp.StatusCode != 200 {
				t.Error(i, resp, err)
			}
		})
	}
	wg.Wait()
	if most.Load() > 16 {
		t.Errorf("%d were served at once", most.Load())
	}
}

// Who does not finish a header holds nobody up, and loses the connection.
func TestSlowClients(t *testing.T) {
	r := newRig(t)
	at := r.serve(func(w http.ResponseWriter, req *http.Request) { io.WriteString(w, "ok") })
	slow := func() (list []net.Conn) {
		for _, begun := range []string{"", "G", "GET http://" + at + "/ HTTP/1.1\r\n", "CONNECT " + at + " HTTP/1.1\r\nHost: ", "POST http://" + at + "/ HTTP/1.1\r\nX: "} {
			c := r.dial()
			io.WriteString(c, begun)
			list = append(list, c)
		}
		return list
	}
	slow()
	if said := r.get("http://" + at + "/"); !strings.HasSuffix(said, "ok") {
		t.Errorf("%q", said)
	}
	flood := r.dial()
	fmt.Fprintf(flood, "GET http://%s/ HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", at, strings.Repeat("x", 2*maxHeader))
	if said, _ := io.ReadAll(flood); len(said) > 0 && status(string(said)) != 431 {
		t.Errorf("%.100q", said)
	}
	r.gate.header = 50 * time.Millisecond
	r.open()
	for _, c := range slow() {
		if _, err := io.ReadAll(c); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Error(err)
		}
	}
}

// A tunnel in which nobody says anything ends.
func TestQuietTunnel(t *testing.T) {
	r := newRig(t)
	r.gate.quiet = 20 * time.Millisecond
	r.open()
	_, said := r.connected(r.hear(func(c *net.TCPConn) { io.Copy(io.Discard, c) }))
	if _, err := io.ReadAll(said); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
}

// What is under way when the sandbox ends, ends.
func TestClose(t *testing.T) {
	r := newRig(t, "get.test", "connect.test")
	asked, ended := make(chan bool, 9), make(chan bool, 9)
	r.gate.quiet = time.Hour
	r.gate.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		asked <- true
		<-ctx.Done()
		ended <- true
		return nil, ctx.Err()
	}}
	r.open()
	still := r.hear(func(c *net.TCPConn) { asked <- true; io.Copy(io.Discard, c); ended <- true })
	r.connected(still)
	<-asked
	waits := r.dial()
	fmt.Fprintf(waits, "GET http://%s/ HTTP/1.1\r\nHost: x\r\n\r\n", still)
	<-asked
	for _, line := range []string{"GET http://get.test/", "CONNECT connect.test:443"} {
		fmt.Fprintf(r.dial(), "%s HTTP/1.1\r\nHost: x\r\n\r\n", line)
		<-asked
	}
	idle := r.dial()
	fmt.Fprintf(idle, "GET http://no.test/ HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp, err := http.ReadResponse(bufio.NewReader(idle), nil); err != nil || resp.StatusCode != 403 {
		t.Fatal(resp, err)
	}
	if err := r.door.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range []net.Conn{waits, idle} {
		if said, err := io.ReadAll(c); err == nil && strings.Contains(string(said), " 200 ") {
			t.Errorf("%q", said)
		}
	}
	for range 4 {
		<-ended
	}
	if c, err := net.Dial("tcp", r.at); err == nil {
		c.Close()
		t.Error("it still listens")
	}
	if err := r.door.Close(); err != nil {
		t.Error("again:", err)
	}
	r.refused("no.test")
	eventually(t, "nothing is left", func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return !strings.Contains(string(stacks), "egress.(*door)") && !strings.Contains(string(stacks), "egress.(*tunnel)") &&
			!strings.Contains(string(stacks), "egress.(*listener)")
	})
}

// A file that is no listener is said, and closed.
func TestOpenFails(t *testing.T) {
	g, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: t.TempDir() + "/s", Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	if d, err := g.Open(f); err == nil || d != nil || f.Close() == nil {
		t.Error(d, err)
	}
	if _, err := New([]string{"a.test", "http://b.test"}); err == nil || !strings.Contains(err.Error(), `host "http://b.test": name the host alone`) {
		t.Error(err)
	}
}
