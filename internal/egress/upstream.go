package egress

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// upstream is the proxy for a request. An error of it could quote a password.
func (d *door) upstream(r *http.Request) (*url.URL, error) {
	if d.gate.Upstream == nil {
		return nil, nil
	}
	u, err := d.gate.Upstream(r)
	if err != nil {
		return nil, errors.New("the proxy in the environment of Rouse cannot be read")
	}
	return u, nil
}

// request is one for TLS to a host.
func request(at string) *http.Request {
	return &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "https", Host: at, Path: "/"}, Header: http.Header{}}
}

// through makes a tunnel in a proxy.
func through(ctx context.Context, proxy *url.URL, at string) (net.Conn, error) {
	c, err := toProxy(ctx, proxy)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	c.SetDeadline(time.Now().Add(headerTime))
	tunnel, err := ask(c, proxy, at)
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("proxy %s: %w", proxy.Host, err)
	}
	c.SetDeadline(time.Time{})
	return tunnel, nil
}

func toProxy(ctx context.Context, proxy *url.URL) (net.Conn, error) {
	port, secure := "80", proxy.Scheme == "https"
	if secure {
		port = "443"
	} else if proxy.Scheme != "http" {
		return nil, fmt.Errorf("the proxy %s of Rouse is one for %s: a listed network is chained to HTTP proxies alone", proxy.Host, proxy.Scheme)
	}
	at := net.JoinHostPort(proxy.Hostname(), cmp.Or(proxy.Port(), port))
	if secure {
		d := &tls.Dialer{NetDialer: &net.Dialer{Timeout: headerTime}}
		return d.DialContext(ctx, "tcp", at)
	}
	return (&net.Dialer{Timeout: headerTime}).DialContext(ctx, "tcp", at)
}

// ask sends CONNECT and reads the answer.
func ask(c net.Conn, proxy *url.URL, at string) (net.Conn, error) {
	r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: at}, Host: at, Header: http.Header{}}
	if proxy.User != nil {
		word, _ := proxy.User.Password()
		r.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(proxy.User.Username()+":"+word)))
	}
	if err := r.Write(c); err != nil {
		return nil, err
	}
	said := bufio.NewReader(io.LimitReader(c, maxHeader))
	answer, err := http.ReadResponse(said, r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, errors.New(answer.Status)
	}
	early, _ := said.Peek(said.Buffered())
	return &begun{c, io.MultiReader(bytes.NewReader(early), c)}, nil
}

// begun is a connection of which something has been read.
type begun struct {
	net.Conn
	rest io.Reader
}

func (b *begun) Read(p []byte) (int, error) { return b.rest.Read(p) }

// CloseWrite passes on that the client has ended.
func (b *begun) CloseWrite() error {
	half, ok := b.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}
