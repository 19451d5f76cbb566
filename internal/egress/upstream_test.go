package egress

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// other is a proxy as the operator's network may have one: it finds far.test where
// nobody else does, and writes down what it is asked.
type other struct {
	port string
	mu   sync.Mutex
	said []string
}

func (o *other) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.said = append(o.said, r.Method+" "+r.Host+" "+r.Header.Get("Proxy-Authorization"))
	o.mu.Unlock()
	if !strings.HasPrefix(r.Host, "far.test:") {
		http.Error(w, "no", http.StatusBadGateway)
		return
	}
	if r.Method != http.MethodConnect {
		io.WriteString(w, "SECRET")
		return
	}
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	server, err := net.Dial("tcp", "127.0.0.1:"+o.port)
	if err != nil {
		return
	}
	defer server.Close()
	go io.Copy(server, c)
	io.Copy(c, server)
}

// asked gives what it was asked since, in order of the alphabet.
func (o *other) asked() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.said
	o.said = nil
	slices.Sort(out)
	return out
}

// Where Rouse uses a proxy, listed hosts are asked for there, and others nowhere.
func TestUpstream(t *testing.T) {
	r := newRig(t, "far.test:PORT", "direct.test:PORT", "*.x.localhost:PORT", "refuses.test:PORT")
	o := &other{port: r.Port}
	front := httptest.NewServer(o)
	defer front.Close()
	r.gate.Upstream = func(req *http.Request) (*url.URL, error) {
		if strings.HasPrefix(req.URL.Host, "direct.test") {
			return nil, nil
		}
		return &url.URL{Scheme: "http", Host: front.Listener.Addr().String(), User: url.UserPassword("me", "word")}, nil
	}
	r.open()
	const word = "Basic bWU6d29yZA=="
	r.names.Set("direct.test", []string{"127.0.0.1"})
	for _, c := range []struct {
		host string
		want int
		up   bool
		says string
	}{
		{"far.test", 200, true, "SECRET"},
		{"direct.test", 200, false, "SECRET"},
		{"near.test", 403, false, "rouse allow host near.test"},
		{"a.x.localhost", 403, false, "is a local name"},
		{"127.0.0.1", 403, false, "rouse allow host 127.0.0.1"},
		{"refuses.test", 502, true, ""},
	} {
		host := c.host + ":" + r.Port
		for method, said := range map[string]string{"GET": r.get("http://" + host + "/"), "CONNECT": r.tunnel(host)} {
			if status(said) != c.want || !strings.Contains(said, c.says) || strings.Contains(said, "word") {
				t.Errorf("%s %s: %q", method, host, said)
			}
		}
		var want []string
		if c.up {
			want = []string{"CONNECT " + host + " " + word, "GET " + host + " " + word}
		}
		got := o.asked()
		if !slices.Equal(got, want) {
			t.Errorf("%s: the proxy was asked %q, want %q", c.host, got, want)
		}
	}
}

// What the environment says of a proxy can be wrong, or of a kind that cannot be used;
// no password of it is told.
func TestUpstreamFails(t *testing.T) {
	r := newRig(t, "far.test")
	for want, up := range map[string]func(*http.Request) (*url.URL, error){
		"cannot be read":          func(*http.Request) (*url.URL, error) { return nil, errors.New("word") },
		"chained to HTTP proxies": func(*http.Request) (*url.URL, error) { return url.Parse("socks5://me:word@127.0.0.1:1") },
		"connection refused":      func(*http.Request) (*url.URL, error) { return url.Parse("http://me:word@127.0.0.1:1") },
	} {
		r.gate.Upstream = up
		r.open()
		if said := r.tunnel("far.test:443"); status(said) != 502 || !strings.Contains(said, want) || strings.Contains(said, "word") {
			t.Errorf("%s: %q", want, said)
		}
		if said := r.get("http://far.test/"); status(said) != 502 || strings.Contains(said, "word") {
			t.Errorf("%s: %q", want, said)
		}
	}
	r.refused()
}

// The server may speak at once: what comes with the proxy's answer is not lost.
func TestUpstreamSpeaksFirst(t *testing.T) {
	r := newRig(t, "far.test:25")
	at := r.hear(func(c *net.TCPConn) {
		c.Read(make([]byte, 4<<10))
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n220 ready\r\n")
	})
	r.gate.Upstream = func(*http.Request) (*url.URL, error) { return &url.URL{Scheme: "http", Host: at}, nil }
	r.open()
	_, said := r.connected("far.test:25")
	if line, err := said.ReadString('\n'); line != "220 ready\r\n" {
		t.Errorf("%q %v", line, err)
	}
}
