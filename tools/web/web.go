// Package web holds http_get, the tool that fetches a page. What it may reach is
// decided by package netguard, for each hop of a redirect anew. Proxy variables are
// not read.
//
// Decisions: only ports 80, 443, 8080 and 8443, unless told otherwise; at most five redirects, never
// from https to http; what the caller put in headers stays with the host that
// the call named, but for Accept and Accept-Language; no Referer; a connection
// serves one request.
//
// [Options.Allow] names hosts that may be private, see package netguard. Only an entry
// with a port opens a port.
package web

import (
	"cmp"
	"context"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"time"

	"rouse/internal/netguard"
	"rouse/internal/redact"
	"rouse/internal/text"
	"rouse/tools"
)

const (
	// DefaultTimeout is for a whole call, redirects and body included.
	DefaultTimeout = 30 * time.Second
	// DefaultMaxBytes is of a body, decompressed: 1 GiB.
	DefaultMaxBytes = 1 << 30

	maxURL       = 8 << 10 // bytes
	maxRedirects = 5
	maxHeaders   = 64 << 10 // bytes of a response's header
	handshake    = 10 * time.Second
	userAgent    = "rouse"
)

//go:embed http_get.md
var getText string

// Options say how http_get behaves. The zero value is the strictest.
type Options struct {
	Timeout  time.Duration // 0 is [DefaultTimeout]
	MaxBytes int64         // 0 is [DefaultMaxBytes]
	// Allow are `host` or `host:port` entries, names or literal addresses,
	// compared without regard to case, that may be private; see the package.
	Allow []string
	// Ports are open on every host; none are 80, 443, 8080 and 8443.
	Ports []int
	// Redact takes the secrets out of errors before these are cut.
	Redact *redact.Redactor
	// Resolver looks names up; nil is Go's own with the system's configuration.
	Resolver *net.Resolver
}

type getArgs struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Get is the tool http_get. It is not read-only: a URL can carry what it is told.
func Get(o Options) tools.Tool {
	t := tools.New("http_get", getText, newClient(o).get)
	t.Verbatim = []string{"url", "headers"}
	return t
}

// Fetch fetches an address as a call of http_get does.
func Fetch(ctx context.Context, o Options, call tools.Call, address string) tools.Result {
	return newClient(o).get(ctx, call, getArgs{URL: address})
}

// client makes the calls.
type client struct {
	timeout  time.Duration
	maxBytes int64
	guard    *guard
	hide     *redact.Redactor
	round    http.RoundTripper
}

func newClient(o Options) *client {
	c := &client{
		timeout:  cmp.Or(o.Timeout, DefaultTimeout),
		maxBytes: cmp.Or(o.MaxBytes, DefaultMaxBytes),
		guard:    newGuard(o),
		hide:     o.Redact,
	}
	c.round = c.transport(nil)
	return c
}

func (c *client) transport(conf *tls.Config) *http.Transport {
	return &http.Transport{
		DialContext:            c.guard.Dial,
		DisableKeepAlives:      true, // a connection never serves another name
		MaxResponseHeaderBytes: maxHeaders,
		TLSClientConfig:        conf,
		TLSHandshakeTimeout:    handshake,
	}
}

func (c *client) get(ctx context.Context, call tools.Call, a getArgs) tools.Result {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no complete answer within %v", c.timeout))
	defer cancel()
	header, err := headers(a.Headers)
	if err != nil {
		return tools.Fail("http_get: %s", c.oneLine(err))
	}
	u, err := c.guard.parse(a.URL)
	if err != nil {
		r := tools.Fail("http_get: %s", c.oneLine(err))
		r.Metadata = map[string]any{tools.Unsent: true}
		return r
	}
	var asked []string
	resp, err := c.follow(ctx, u, header, call.Hop, &asked)
	r := tools.Result{}
	if err != nil {
		r = tools.Fail("http_get: %s", c.oneLine(reason(ctx, err)))
	} else {
		defer resp.Body.Close()
		r = c.result(ctx, call, resp)
	}
	r.From = asked
	return r
}

// follow makes the request, and those that redirects ask for, and names the hosts.
func (c *client) follow(ctx context.Context, u *url.URL, header http.Header, hop func(string) error, asked *[]string) (*http.Response, error) {
	for hops := 0; ; hops++ {
		*asked = append(*asked, netguard.Normal(u.Hostname()))
		resp, err := c.round.RoundTrip((&http.Request{
			Method: http.MethodGet, URL: u, Host: u.Host, Header: header.Clone(),
		}).WithContext(ctx))
		if err != nil {
			return nil, err
		}
		location := resp.Header.Get("Location")
		if !redirects(resp.StatusCode) || location == "" {
			return resp, nil
		}
		resp.Body.Close()
		if hops == maxRedirects {
			return nil, fmt.Errorf("stopped after %d redirects, at %s", maxRedirects, u.Redacted())
		}
		next, err := c.guard.redirect(u, location)
		if err == nil && hop != nil {
			err = hop(next.String())
		}
		if err != nil {
			return nil, fmt.Errorf("redirect: %w", err)
		}
		if next.Scheme != u.Scheme || next.Host != u.Host {
			header = portable(header)
		}
		u = next
	}
}

func redirects(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// headers are those of the request, without what belongs to the connection.
func headers(asked map[string]string) (http.Header, error) {
	h := http.Header{"User-Agent": {userAgent}}
	for name, value := range asked {
		switch key := textproto.CanonicalMIMEHeaderKey(name); key {
		case "Host", "Connection", "Proxy-Connection", "Proxy-Authorization", "Keep-Alive", "Te", "Trailer",
			"Transfer-Encoding", "Upgrade", "Content-Length", "Accept-Encoding", "Expect", "Referer":
			return nil, fmt.Errorf("the header %s cannot be set", key)
		default:
			h[key] = []string{value}
		}
	}
	return h, nil
}

// portable are the headers that may go to another host.
func portable(h http.Header) http.Header {
	out := http.Header{"User-Agent": {userAgent}}
	for _, key := range []string{"Accept", "Accept-Language"} {
		if v := h.Get(key); v != "" {
			out.Set(key, v)
		}
	}
	return out
}

// result streams the body and says what came.
func (c *client) result(ctx context.Context, call tools.Call, resp *http.Response) tools.Result {
	got, err := tools.Copy(call.Output, resp.Body, c.maxBytes)
	meta := map[string]any{
		"url": resp.Request.URL.String(), "status": resp.StatusCode, "content_type": resp.Header.Get("Content-Type"),
		"bytes": got.Bytes, "encoding": got.Encoding, "truncated": got.Truncated || err != nil,
	}
	if got.Truncated || err != nil {
		redact.Cut(call.Output)
	}
	if err == nil {
		_, err = io.WriteString(call.Output, got.Note)
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("the body ended early, after %d bytes%s", got.Bytes, announced(resp))
	case err != nil:
		err = fmt.Errorf("the body broke off after %d bytes: %w", got.Bytes, reason(ctx, err))
	case resp.StatusCode >= 400:
		err = fmt.Errorf("HTTP %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	if err != nil {
		return tools.Result{Metadata: meta, Error: c.oneLine(err)}
	}
	return tools.Result{OK: true, Metadata: meta}
}

func announced(resp *http.Response) string {
	if resp.ContentLength < 0 {
		return ""
	}
	return fmt.Sprintf(" of %d", resp.ContentLength)
}

// oneLine words err for the model; parts of it can come from the other side.
func (c *client) oneLine(err error) string {
	return text.CutBytes(text.Words(c.hide.String(err.Error())), 400)
}

// reason is err, unless the call was ended before.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
