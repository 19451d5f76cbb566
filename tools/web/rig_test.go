package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"rouse/internal/netguard/netguardtest"
	"rouse/internal/text"
	"rouse/tools"
)

// rig is a client with an own name server, canaries that count who connects,
// and a server that redirects anywhere.
type rig struct {
	t                      *testing.T
	names                  *netguardtest.NameServer
	*netguardtest.Canaries // their port is open like 80
	server                 *httptest.Server
	netguardtest.Dials     // but for those of the server
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, names: netguardtest.NewNameServer(t), Canaries: netguardtest.NewCanaries(t)}
	r.server = httptest.NewServer(http.HandlerFunc(redirect))
	t.Cleanup(r.server.Close)
	return r
}

// redirect answers /STATUS?LOCATION with that, byte for byte.
func redirect(w http.ResponseWriter, req *http.Request) {
	location, _ := url.QueryUnescape(req.URL.RawQuery)
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	fmt.Fprintf(c, "HTTP/1.1 %s Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", req.URL.Path[1:], location)
}

// at is the host and port of a test server.
func at(s *httptest.Server) string { return s.Listener.Addr().String() }

// client may reach what allow says, and of the rest only loopback, if the guard
// lets it. What it dials is written down.
func (r *rig) client(allow ...string) *client {
	c := newClient(Options{Allow: append(allow, at(r.server)), Resolver: r.names.Resolver()})
	c.guard.ports = append(c.guard.ports, r.Port)
	c.guard.Dialling = func(a netip.AddrPort) error {
		if a.String() == at(r.server) {
			return nil
		}
		return r.Dialling(a)
	}
	return c
}

// fetch makes a call of http_get, checks what holds for each, and gives the body.
func fetch(t *testing.T, c *client, rawURL string, header map[string]string) (tools.Result, string) {
	t.Helper()
	args, err := json.Marshal(map[string]any{"url": rawURL, "headers": header})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var a getArgs
	if err := json.Unmarshal(args, &a); err != nil {
		t.Fatal(err)
	}
	r := c.get(context.Background(), tools.Call{Args: args, Output: &out}, a)
	if r.OK != (r.Error == "") || strings.ContainsAny(r.Error, "\n\r") || len(r.Error) > 600 {
		t.Errorf("%q: ok %v, error %q", text.CutBytes(rawURL, 100), r.OK, r.Error)
	}
	return r, out.String()
}
