package web

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"rouse/internal/netguard/netguardtest"
	"rouse/tools"
)

// A name that answered with a public address and then with a loopback one.
func TestRebinding(t *testing.T) {
	r := newRig(t)
	c := r.client()
	r.names.Set("rebind.test", []string{"93.184.216.34"}, []string{"127.0.0.1"})
	u := "http://rebind.test:" + r.Port + "/"
	if got, _ := fetch(t, c, u, nil); !strings.Contains(got.Error, netguardtest.ErrStays.Error()) {
		t.Errorf("first: %+v", got)
	}
	if d := r.Reached(); !slices.Equal(d, []string{"93.184.216.34:" + r.Port}) {
		t.Errorf("first dialled %v", d)
	}
	if got, _ := fetch(t, c, u, nil); !strings.Contains(got.Error, "is at 127.0.0.1, a loopback address") {
		t.Errorf("second: %+v", got)
	}
	if d := r.Reached(); len(d) > 0 || r.Accepts.Load() > 0 {
		t.Errorf("second dialled %v", d)
	}
}

func TestMixedAnswersAndAliases(t *testing.T) {
	r := newRig(t)
	r.names.Set("mixed.test", []string{"93.184.216.34", "::1"})
	r.names.Set("mixed4.test", []string{"93.184.216.34", "127.0.0.1"})
	r.names.Set("chain.test", []string{"=chain1.test"})
	r.names.Set("chain1.test", []string{"=chain2.test"})
	r.names.Set("chain2.test", []string{"127.0.0.1"})
	r.names.Set("empty.test", []string{"=nowhere.test"})
	for name, want := range map[string]string{
		"mixed.test": "is at ::1, a loopback address", "mixed4.test": "is at 127.0.0.1", "chain.test": "is at 127.0.0.1",
		"empty.test": "no host", "missing.test": "there is no host missing.test",
	} {
		got, _ := fetch(t, r.client(), "http://"+name+":"+r.Port, nil)
		if got.OK || !strings.Contains(got.Error, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if d := r.Reached(); len(d) > 0 || r.Accepts.Load() > 0 {
		t.Errorf("dialled %v, %d accepts", d, r.Accepts.Load())
	}
}

func TestRedirects(t *testing.T) {
	r := newRig(t)
	var hits atomic.Int64
	r.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		n := hits.Add(1)
		switch req.URL.Path {
		case "/chain":
			http.Redirect(w, req, fmt.Sprintf("/chain?%d", n), http.StatusFound)
		case "/five":
			if n < 6 {
				http.Redirect(w, req, "/five", http.StatusMovedPermanently)
			}
			fmt.Fprint(w, "there")
		case "/none":
			w.WriteHeader(http.StatusFound)
			fmt.Fprint(w, "no Location")
		default:
			redirect(w, req)
		}
	})
	base := "http://" + at(r.server)
	for _, c := range []struct {
		path, want string
		hits       int64
	}{
		{"/chain", "stopped after 5 redirects", 6},
		{"/five", "", 6},
		{"/none", "", 1},
		{"/302?file:///etc/passwd", `the scheme "file" is refused`, 1},
		{"/302?gopher://127.0.0.1:6379/_x", `the scheme "gopher" is refused`, 1},
		{"/302?data:text/plain,x", `the scheme "data" is refused`, 1},
		{"/302?http://user:word@example.com/", "user name", 1},
		{"/302?//127.0.0.1:80/", "loopback", 1},
		{"/302?" + url.QueryEscape("http://good\x01.test/"), "malformed", 1},
		{"/302?" + url.QueryEscape(`\\127.0.0.1\`), "cannot be read", 1},
		{"/302?http://10.0.0.1/", "private", 1},
	} {
		hits.Store(0)
		got, _ := fetch(t, r.client(), base+c.path, nil)
		if got.OK != (c.want == "") || !strings.Contains(got.Error, c.want) || hits.Load() != c.hits {
			t.Errorf("%s: %+v after %d requests", c.path, got, hits.Load())
		}
	}
	if d := r.Reached(); len(d) > 0 {
		t.Errorf("dialled %v", d)
	}
}

// A host that the operator named cannot send us on to another private one.
func TestAllowIsForTheNamedHost(t *testing.T) {
	r := newRig(t)
	_, port, _ := net.SplitHostPort(at(r.server))
	r.names.Set("named.test", []string{"127.0.0.1"})
	r.names.Set("turned.test", []string{"169.254.169.254"})
	r.names.Set("turned6.test", []string{"fe80::1"})
	for _, c := range []struct {
		allow, url, want string
	}{
		{"named.test:" + port, "http://named.test:" + port + "/200?", ""},
		{"NAMED.test.:" + port, "http://Named.TEST.:" + port + "/200?", ""},
		{"127.0.0.1:" + r.Port, "http://127.0.0.1:" + r.Port + "/", ""},
		{"[::1]", "http://[::1]:" + r.Port + "/", ""},
		{"::1", "http://[0::1]:" + r.Port + "/", ""},
		{"named.test", "http://named.test:" + port + "/", "port " + port + " is refused"},
		{"named.test:1", "http://named.test:" + port + "/", "port " + port + " is refused"},
		{"sub.named.test", "http://named.test:" + r.Port + "/", "loopback"},
		{"test", "http://named.test:" + r.Port + "/", "loopback"},
		{"named.test:1", "http://named.test:" + r.Port + "/", "loopback"},
		{"127.0.0.1", "http://named.test:" + r.Port + "/", "loopback"},
		{"turned.test", "http://turned.test:" + r.Port + "/", "metadata"},
		{"turned6.test", "http://turned6.test:" + r.Port + "/", "link-local"},
		{"*", "http://127.0.0.1:" + r.Port + "/", "loopback"},
		{"", "http://127.0.0.1:" + r.Port + "/", "loopback"},
	} {
		got, _ := fetch(t, r.client(c.allow), c.url, nil)
		if got.OK != (c.want == "") || !strings.Contains(got.Error, c.want) {
			t.Errorf("allow %q, %s: %+v", c.allow, c.url, got)
		}
	}
}

func TestPorts(t *testing.T) {
	r := newRig(t)
	r.names.Set("web.test", []string{"93.184.216.34"})
	for port, ok := range map[string]bool{
		"22": false, "25": false, "6379": false, "0": false, "65536": false, "00022": false, "-1": false, "x": false,
		"3000": false, "80": true, "443": true, "8080": true, "08443": true, "": true,
	} {
		for _, host := range []string{"127.0.0.1", "web.test"} {
			got, _ := fetch(t, r.client("127.0.0.1"), "http://"+host+":"+port+"/", nil)
			if d := r.Reached(); got.OK || (len(d) > 0) != ok || (got.Metadata[tools.Unsent] == true) == ok {
				t.Errorf("%s port %q: dialled %v, %+v", host, port, d, got)
			}
		}
	}
}

// The operator may open other ports than the usual ones.
func TestConfiguredPorts(t *testing.T) {
	g := newGuard(Options{Ports: []int{443, 9090}})
	for address, want := range map[string]string{
		"https://web.test/": "", "https://web.test:9090/": "", "http://web.test/": "only 443, 9090 are open; the operator can open it in tools.http.ports",
		"https://web.test:8080/": "port 8080 is refused",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.checkPort(u, "web.test"); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Secrets that the model sent to one host do not go to the next.
func TestHeadersStay(t *testing.T) {
	var there, here http.Header
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { there = req.Header }))
	defer other.Close()
	r := newRig(t)
	r.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/" {
			http.Redirect(w, req, "/same?q=word", http.StatusTemporaryRedirect)
			return
		}
		here = req.Header
		http.Redirect(w, req, other.URL, http.StatusTemporaryRedirect)
	})
	sent := map[string]string{"authorization": "Bearer word", "Cookie": "a=word", "X-Api-Key": "word", "PRIVATE-TOKEN": "word",
		"Accept": "text/html", "User-Agent": "word"}
	got, _ := fetch(t, r.client(at(other)), "http://"+at(r.server)+"/", sent)
	if !got.OK {
		t.Fatal(got.Error)
	}
	for name, value := range sent {
		if here.Get(name) != value {
			t.Errorf("%s was not sent to the host itself: %v", name, here)
		}
	}
	if there.Get("Accept") != "text/html" || strings.Contains(fmt.Sprint(there), "word") || there.Get("Referer") != "" ||
		here.Get("Referer") != "" {
		t.Errorf("the other host got %v", there)
	}
	for _, name := range []string{"Host", "transfer-encoding", "Proxy-Authorization", "Content-Length", "Accept-Encoding", "bad name", "x\r\ny"} {
		if got, _ := fetch(t, r.client(), "http://"+at(r.server)+"/", map[string]string{name: "v"}); got.OK {
			t.Errorf("header %q was sent", name)
		}
	}
	if got, _ := fetch(t, r.client(), "http://"+at(r.server)+"/", map[string]string{"X": "a\r\nB: c"}); got.OK ||
		strings.Contains(got.Error, "B: c") {
		t.Errorf("a value with a line break: %+v", got)
	}
}

func TestProxyVariablesAreIgnored(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://127.0.0.1:"+r.Port)
	}
	if newClient(Options{}).transport(nil).Proxy != nil { // net/http reads the variables once a process
		t.Error("the transport looks for a proxy")
	}
	r.names.Set("web.test", []string{"93.184.216.34"})
	fetch(t, r.client(), "http://web.test/", nil)
	fetch(t, r.client(), "http://169.254.169.254/latest/meta-data/", nil)
	if d := r.Reached(); !slices.Equal(d, []string{"93.184.216.34:80"}) || r.Accepts.Load() > 0 {
		t.Errorf("dialled %v, the proxy had %d accepts", d, r.Accepts.Load())
	}
}

// Each request has its own connection, so none is used for another name.
func TestNoConnectionIsUsedTwice(t *testing.T) {
	r := newRig(t)
	var opened atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	_, port, _ := net.SplitHostPort(at(s))
	r.names.Set("a.test", []string{"127.0.0.1"})
	r.names.Set("b.test", []string{"127.0.0.1"})
	c := r.client("a.test:" + port)
	c.guard.ports = append(c.guard.ports, port)
	for range 2 {
		if got, _ := fetch(t, c, "http://a.test:"+port+"/", nil); !got.OK {
			t.Fatal(got.Error)
		}
	}
	if got, _ := fetch(t, c, "http://b.test:"+port+"/", nil); got.OK || opened.Load() != 2 {
		t.Errorf("%+v; %d connections", got, opened.Load())
	}
}

func TestHTTPS(t *testing.T) {
	r := newRig(t)
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/down" {
			http.Redirect(w, req, "http://"+at(r.server)+"/200?", http.StatusFound)
		}
		fmt.Fprint(w, "private line")
	}))
	s.Config.ErrorLog = quiet()
	defer s.Close()
	c := r.client(at(s))
	if got, _ := fetch(t, c, "https://"+at(s)+"/", nil); !strings.Contains(got.Error, "certificate") {
		t.Errorf("an unknown certificate: %+v", got)
	}
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	c.round = c.transport(&tls.Config{RootCAs: pool})
	if got, body := fetch(t, c, "https://"+at(s)+"/", nil); !got.OK || body != "private line" {
		t.Errorf("%+v, %q", got, body)
	}
	if got, _ := fetch(t, c, "https://"+at(s)+"/down", nil); !strings.Contains(got.Error, "from https to http") {
		t.Errorf("downgrade: %+v", got)
	}
}
