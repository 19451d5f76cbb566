package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"rouse/internal/text"
)

// remote is the transport to a server that speaks streamable HTTP.
func remote(s *server) (sdk.Transport, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, errors.New("url is no address") // the error would show it
	}
	door := &door{origin: u, headers: s.Headers, keys: s.keys, max: s.o.MaxMessage, next: Transport()}
	client := &http.Client{Transport: door, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > 3 {
			return errors.New("too many redirects")
		}
		return door.same(r.URL)
	}}
	return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: int(s.o.MaxMessage), MaxRetries: 2, OAuthHandler: s.oauth}, nil
}

// Transport is how servers that speak streamable HTTP are reached.
func Transport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     time.Minute,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 16,
	}
}

// door is where requests to one server leave: it adds the headers, which no
// other server may get, and bounds what comes back.
type door struct {
	origin  *url.URL
	headers map[string]string
	keys    *keys // nil where the headers say who we are, without logins while somebody logs in
	max     int64
	next    http.RoundTripper
}

// errRefused means that the server did not take a request, so that it had no effect.
var errRefused = errors.New("the server refuses")

func (d *door) same(u *url.URL) error {
	if u.Scheme != d.origin.Scheme || u.Host != d.origin.Host {
		return fmt.Errorf("%w: it redirects to another server, %s://%s, which is not followed", errRefused, u.Scheme, u.Host)
	}
	return nil
}

func (d *door) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := d.same(r.URL); err != nil {
		return nil, err
	}
	resp, token, err := d.send(r, "")
	if err == nil && resp.StatusCode == http.StatusUnauthorized && token != "" {
		resp.Body.Close()
		resp, _, err = d.send(r, token)
	}
	if err != nil {
		return nil, err
	}
	if err := d.judge(resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	resp.Body = &body{ReadCloser: resp.Body, left: d.limit(resp), capture: captureOf(r.Context())}
	return resp, nil
}

// send sends a request as it came, with a token other than one that was refused.
func (d *door) send(r *http.Request, refused string) (resp *http.Response, token string, err error) {
	if token, err = d.keys.token(r.Context(), refused); err != nil {
		return nil, "", d.keys.barred(err)
	}
	r = r.Clone(r.Context())
	if r.GetBody != nil {
		if r.Body, err = r.GetBody(); err != nil {
			return nil, "", err
		}
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for name, value := range d.headers {
		r.Header.Set(name, value)
	}
	if resp, err = d.next.RoundTrip(r); err != nil {
		err = unsent(err)
	}
	return resp, token, err
}

// judge says why a server does not let us in, and what mends that.
func (d *door) judge(resp *http.Response) error {
	unauthorized, scope := resp.StatusCode == http.StatusUnauthorized, ""
	switch {
	case !unauthorized && resp.StatusCode != http.StatusForbidden || d.keys != nil && d.keys.logins == nil:
		return nil
	case d.keys == nil:
		return fmt.Errorf("%w: HTTP %s; are the headers in .mcp.json right?", errRefused, resp.Status)
	case unauthorized:
		return d.keys.barred(&loginError{d.keys.server, "it wants a login", ""})
	}
	challenges, _ := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate")) // what cannot be read is none
	for _, c := range challenges {
		scope = cmp.Or(text.Words(c.Params["scope"]), scope)
	}
	if scope == "" {
		return fmt.Errorf("%w: HTTP %s", errRefused, resp.Status)
	}
	return d.keys.barred(&loginError{d.keys.server, "it wants a login with more rights", scope})
}

// unsent marks an error that came before anything was sent.
func unsent(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	return err
}

// limit is how much of an answer is read. In a stream there may be several
// messages, each of which is bounded elsewhere.
func (d *door) limit(r *http.Response) int64 {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "text/event-stream" {
		return patience * d.max
	}
	return d.max
}

// body is an answer's body, bounded, of which a copy is kept if somebody wants it.
type body struct {
	io.ReadCloser
	left    int64
	capture *capture
}

func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the answer is too long")
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if b.capture != nil {
		b.capture.add(p[:n])
	}
	return n, err
}
