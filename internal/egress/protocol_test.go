package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Whatever a request says twice or in two ways is passed on in one, or not at all.
func TestNothingIsSmuggled(t *testing.T) {
	r := newRig(t)
	var mu sync.Mutex
	var seen []string
	at := r.serve(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf("%s %s %s %v %q", req.Method, req.Host, req.URL, req.Header["X-Inner"], body))
	})
	u := "http://" + at
	for name, c := range map[string]struct {
		send string
		want int
		seen []string
	}{
		"two lengths":        {"POST " + u + "/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400, nil},
		"the same twice":     {"POST " + u + "/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\nConnection: close\r\n\r\na", 200, []string{"POST AT / [] \"a\""}},
		"chunked and length": {"POST " + u + "/ HTTP/1.1\r\nHost: x\r\nContent-Length: 60\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\na\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n", 200, []string{"POST AT / [] \"a\""}},
		"other coding":       {"POST " + u + "/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501, nil},
		"two codings":        {"POST " + u + "/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", 501, nil},
		"negative length":    {"POST " + u + "/ HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400, nil},
		"two hosts":          {"GET " + u + "/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, nil},
		"no host":            {"GET " + u + "/ HTTP/1.1\r\n\r\n", 400, nil},
		"another Host":       {"GET " + u + "/ HTTP/1.1\r\nHost: forbidden.test\r\nConnection: close\r\n\r\n", 200, []string{"GET AT / [] \"\""}},
		"named hop":          {"GET " + u + "/ HTTP/1.1\r\nHost: x\r\nX-Inner: 1\r\nConnection: close, X-Inner\r\n\r\n", 200, []string{"GET AT / [] \"\""}},
		"space before colon": {"GET " + u + "/ HTTP/1.1\r\nHost: x\r\nX-Inner : 1\r\n\r\n", 400, nil},
		"CR in a header":     {"GET " + u + "/ HTTP/1.1\r\nHost: x\r\nX-Inner: a\rb\r\n\r\n", 400, nil},
		"NUL in a header":    {"GET " + u + "/ HTTP/1.1\r\nHost: x\r\nX-Inner: a\x00b\r\n\r\n", 400, nil},
		"NUL in the name":    {"GET http://127.0.0.1\x00.good.test/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, nil},
		"NUL in CONNECT":     {"CONNECT " + at + "\x00:443 HTTP/1.1\r\nHost: x\r\n\r\n", 400, nil},
		"CR in the name":     {"GET http://127.0.0.1\r.good.test/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, nil},
		"CR LF in CONNECT":   {"CONNECT a.test\r\nX: " + at + " HTTP/1.1\r\n\r\n", 400, nil},
		"path of ours":       {"GET / HTTP/1.1\r\nHost: " + at + "\r\nConnection: close\r\n\r\n", 400, nil},
		"star":               {"OPTIONS * HTTP/1.1\r\nHost: " + at + "\r\nConnection: close\r\n\r\n", 400, nil},
		"a user":             {"GET http://me:word@" + at + "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400, nil},
		"https":              {"GET https://" + at + "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400, nil},
		"ftp":                {"GET ftp://" + at + "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400, nil},
		"path of CONNECT":    {"CONNECT " + at + "/x HTTP/1.1\r\nHost: x\r\n\r\n", 400, nil},
		"user of CONNECT":    {"CONNECT me@" + at + " HTTP/1.1\r\nHost: x\r\n\r\n", 400, nil},
		"CONNECT to a path":  {"CONNECT /x HTTP/1.1\r\nHost: " + at + "\r\n\r\n", 400, nil},
		"no port":            {"CONNECT 127.0.0.1 HTTP/1.1\r\nHost: x\r\n\r\n", 400, nil},
		"HTTP/2 at once":     {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, nil},
		"no HTTP":            {"EHLO there\r\n\r\n", 400, nil},
		"odd escapes":        {"GET " + u + "/a%2fb//c?x=%zz;y&&z HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 200, []string{"GET AT /a%2fb//c?x=%zz;y&&z [] \"\""}},
	} {
		mu.Lock()
		seen = nil
		mu.Unlock()
		said := r.say(c.send)
		for i := range c.seen {
			c.seen[i] = strings.Replace(c.seen[i], "AT", at, 1)
		}
		mu.Lock()
		if status(said) != c.want || strings.Join(seen, "\n") != strings.Join(c.seen, "\n") {
			t.Errorf("%s: %.200q, seen %q", name, said, seen)
		}
		mu.Unlock()
	}
	r.refused()
}

// What belongs to one connection, or to the proxy, stays here; all else goes through.
func TestHeaders(t *testing.T) {
	r := newRig(t)
	var got http.Header
	at := r.serve(func(w http.ResponseWriter, req *http.Request) {
		got = req.Header
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.Header().Set("Set-Cookie", "a=b")
		io.WriteString(w, "not unpacked")
	})
	said := r.say("GET http://" + at + "/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic d29yZA==\r\nProxy-Connection: keep-alive\r\nKeep-Alive: 1\r\n" +
		"Te: gzip\r\nAuthorization: Bearer b\r\nForwarded: for=1\r\nCookie: c=d\r\nConnection: close\r\n\r\n")
	if len(got) != 2 || got.Get("Authorization") != "Bearer b" || got.Get("Cookie") != "c=d" {
		t.Errorf("the server saw %v", got)
	}
	if !strings.HasSuffix(said, "not unpacked") || strings.Contains(said, "Proxy-Auth") || !strings.Contains(said, "Set-Cookie: a=b") {
		t.Errorf("the client saw %q", said)
	}
}

// A connection that was let through once asks for another host: that is another
// question.
func TestReuse(t *testing.T) {
	r := newRig(t)
	at := r.serve(func(w http.ResponseWriter, req *http.Request) { io.WriteString(w, req.Host) })
	c := r.dial()
	said := bufio.NewReader(c)
	for _, x := range []struct {
		host string
		want int
	}{{at, 200}, {"localhost:" + r.Port, 403}, {"other.test", 403}, {at, 200}, {"127.0.0.1:" + r.Port, 403}, {"other.test", 403}, {"other.test:8080", 403}} {
		fmt.Fprintf(c, "GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n", x.host, at)
		resp, err := http.ReadResponse(said, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != x.want || x.want == 403 && !strings.HasSuffix(string(body), "rouse allow host "+x.host+"\n") {
			t.Errorf("%s: %d %q %v", x.host, resp.StatusCode, body, err)
		}
	}
	if r.Accepts.Load() > 0 {
		t.Error("a canary was reached")
	}
	r.refused("localhost:"+r.Port, "other.test", "127.0.0.1:"+r.Port, "other.test:8080")
}

// The refusal of a CONNECT is read where programs show it: in its status line.
func TestRefusedTunnel(t *testing.T) {
	r := newRig(t)
	const want = "refused: a.test is not a host that this sandbox reaches; only the operator can allow it: rouse allow host a.test"
	said := r.tunnel("A.test.:443")
	if !strings.HasPrefix(said, "HTTP/1.1 403 "+want+"\r\n") || !strings.HasSuffix(said, "\r\n\r\n"+want+"\n") {
		t.Errorf("%q", said)
	}
	if _, err := r.client().Get("https://a.test/"); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	r.refused("a.test")
}

// Only so many refusals are kept.
func TestRefusedIsBounded(t *testing.T) {
	r := newRig(t)
	for i := range maxRefused + 50 {
		r.door.note(fmt.Sprint("n", i/2, ".test"), "443")
		r.door.note(fmt.Sprint("n", i, ".test"), "80")
	}
	if n := len(r.door.Refused()); n != maxRefused {
		t.Errorf("%d are kept", n)
	}
}

// A listed host serves and hears streams: nothing waits for an end.
func TestStreams(t *testing.T) {
	r := newRig(t)
	at := r.serve(func(w http.ResponseWriter, req *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		w.(http.Flusher).Flush()
		for lines := bufio.NewScanner(req.Body); lines.Scan(); w.(http.Flusher).Flush() {
			fmt.Fprintln(w, lines.Text())
		}
		w.Header().Set(http.TrailerPrefix+"Sum", "7")
	})
	body, pen := io.Pipe()
	resp, err := r.client().Post("http://"+at+"/", "", body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	back := bufio.NewReader(resp.Body)
	for i := range 3 {
		fmt.Fprintln(pen, "line", i)
		if line, err := back.ReadString('\n'); err != nil || line != fmt.Sprintln("line", i) {
			t.Fatalf("%q %v", line, err)
		}
	}
	pen.Close()
	io.Copy(io.Discard, back)
	if resp.Trailer.Get("Sum") != "7" {
		t.Errorf("trailer %v", resp.Trailer)
	}
}

// A protocol is switched to, as for a web socket.
func TestUpgrade(t *testing.T) {
	r := newRig(t)
	at := r.serve(func(w http.ResponseWriter, req *http.Request) {
		c, said, _ := http.NewResponseController(w).Hijack()
		defer c.Close()
		fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", req.Header.Get("Upgrade"))
		line, _ := said.ReadString('\n')
		fmt.Fprint(c, "back ", line)
		said.ReadString('\n')
	})
	c := r.dial()
	fmt.Fprintf(c, "GET http://%s/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", at)
	said := bufio.NewReader(c)
	resp, err := http.ReadResponse(said, nil)
	if err != nil || resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "websocket" {
		t.Fatal(resp, err)
	}
	fmt.Fprintln(c, "hello")
	if line, err := said.ReadString('\n'); line != "back hello\n" {
		t.Fatalf("%q %v", line, err)
	}
	r.door.Close()
	if _, err := said.ReadByte(); err == nil {
		t.Error("it goes on after the end of the sandbox")
	}
}

// Each side of a tunnel may end before the other.
func TestHalfOpen(t *testing.T) {
	r := newRig(t)
	waits := r.hear(func(c *net.TCPConn) {
		said, _ := io.ReadAll(c)
		fmt.Fprintf(c, "got %q", said)
	})
	c, back := r.connected(waits)
	io.WriteString(c, "all")
	c.(*net.TCPConn).CloseWrite()
	if said, err := io.ReadAll(back); string(said) != `got "all"` {
		t.Errorf("%q %v", said, err)
	}
	heard := make(chan string, 1)
	first := r.hear(func(c *net.TCPConn) {
		io.WriteString(c, "bye")
		c.CloseWrite()
		said, _ := io.ReadAll(c)
		heard <- string(said)
	})
	c, back = r.connected(first)
	if said, err := io.ReadAll(back); string(said) != "bye" {
		t.Errorf("%q %v", said, err)
	}
	io.WriteString(c, "later")
	c.Close()
	if said := <-heard; said != "later" {
		t.Errorf("%q", said)
	}
	eventually(t, "all tunnels end", func() bool { r.door.mu.Lock(); defer r.door.mu.Unlock(); return len(r.door.conns) == 0 })
}
