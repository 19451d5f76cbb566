package egress

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TLS in a tunnel is for its host, or for another that is listed, or for none by name.
func TestServerName(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { io.WriteString(w, "private line") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	r := newRig(t, "a.test:"+port, "b.test:"+port, "*.c.test:"+port, "127.0.0.1:"+port)
	for _, name := range []string{"a.test", "b.test"} {
		r.names.Set(name, []string{"127.0.0.1"})
	}
	for _, c := range []struct {
		connect, name string
		ok            bool
	}{
		{"a.test", "a.test", true}, {"a.test", "A.Test", true}, {"a.test", "b.test", true}, {"a.test", "x.c.test", true}, {"a.test", "", true},
		{"127.0.0.1", "evil.test", true}, {"a.test", "evil.test", false}, {"a.test", "c.test", false}, {"b.test", "a.test.evil.test", false},
	} {
		tunnel, _ := r.connected(c.connect + ":" + port)
		line := tls.Client(tunnel, &tls.Config{ServerName: c.name, InsecureSkipVerify: true})
		err := line.Handshake()
		if (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "unrecognized name") {
			t.Errorf("%s for %q: %v", c.connect, c.name, err)
		}
		tunnel.Close()
	}
	r.refused("evil.test:"+port, "c.test:"+port, "a.test.evil.test:"+port)

	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	client := r.client()
	client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: pool}
	resp, err := client.Get("https://127.0.0.1:" + port)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); string(body) != "private line" {
		t.Errorf("%q %v", body, err)
	}
}

// What begins like TLS and is none, or tells its name after a warning, gets no further
// than what is; what does not begin like it is passed on as it comes.
func TestFirstBytes(t *testing.T) {
	got := make(chan string, 1)
	r := newRig(t, "a.test:PORT")
	at := r.hear(func(c *net.TCPConn) {
		said, _ := io.ReadAll(c)
		got <- string(said)
	})
	_, port, _ := net.SplitHostPort(at)
	r.list("a.test:" + port)
	r.names.Set("a.test", []string{"127.0.0.1"})
	hello := record(t, "evil.test")
	for name, c := range map[string]struct{ said, got string }{
		"nothing":     {"", ""},
		"ssh":         {"SSH-2.0-x\r\n", "SSH-2.0-x\r\n"},
		"broken":      {"\x16\x03\x01\x00\x05hello", ""},
		"evil":        {hello, ""},
		"after alert": {"\x15\x03\x01\x00\x02\x01\x5a" + hello, ""},
		"half":        {hello[:20], ""},
	} {
		tunnel, back := r.connected("a.test:" + port)
		io.WriteString(tunnel, c.said)
		tunnel.(*net.TCPConn).CloseWrite()
		io.ReadAll(back)
		if said := <-got; said != c.got {
			t.Errorf("%s: the server got %q", name, said)
		}
	}
}

// record is the first record of TLS for a name.
func record(t *testing.T, name string) string {
	t.Helper()
	here, there := net.Pipe()
	go func() {
		tls.Client(here, &tls.Config{ServerName: name}).Handshake()
		here.Close()
	}()
	defer there.Close()
	said := make([]byte, 64<<10)
	n, err := there.Read(said)
	if err != nil {
		t.Fatal(err)
	}
	return string(said[:n])
}
