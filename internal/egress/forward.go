package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"

	"rouse/internal/netguard"
	"rouse/internal/text"
)

// errForm is what asks for no host that a proxy could reach.
var errForm = errors.New("this is a proxy: it takes CONNECT HOST:PORT, and http:// URLs without a user name")

// target is the host and port that a request asks for, if they may be reached as far
// as can be said without looking the name up.
func (d *door) target(r *http.Request) (host, port string, err error) {
	connect := r.Method == http.MethodConnect
	switch {
	case connect && r.RequestURI != r.URL.Host,
		!connect && (r.URL.Scheme != "http" || r.URL.User != nil || r.URL.Host == ""):
		return "", "", errForm
	case !connect:
		port = "80"
	}
	host, err = d.guard.Host(r.URL.Hostname(), strings.HasPrefix(r.URL.Host, "["))
	if err != nil {
		return "", "", err
	}
	if port, err = d.guard.Port(cmp.Or(r.URL.Port(), port)); err != nil {
		return "", "", err
	}
	if !d.gate.hosts.listed(host, port) {
		err = &unlisted{host, port}
	} else {
		err = d.guard.Name(host, port)
	}
	if err == nil {
		d.add(&d.reached, host)
	}
	return host, port, err
}

// unlisted is a host that the operator does not list.
type unlisted struct{ host, port string }

func (u *unlisted) Error() string {
	return fmt.Sprintf("refused: %s is not a host that this sandbox reaches; %s", entry(u.host, u.port), mend(u.host, u.port))
}

// answer is the status and the sentence for an error, which it notes if it is a
// refusal.
func (d *door) answer(host, port string, err error) (status int, sentence string) {
	var guarded *netguard.Refusal
	var other *unlisted
	switch {
	case errors.As(err, &guarded):
		status, err = http.StatusForbidden, guarded
	case errors.As(err, &other):
		status = http.StatusForbidden
	case host == "":
		status = http.StatusBadRequest
	default:
		status, err = http.StatusBadGateway, fmt.Errorf("%s cannot be reached: %w", entry(host, port), err)
	}
	if status == http.StatusForbidden {
		d.note(host, port)
	}
	return status, text.CutBytes(text.Words(err.Error()), 400)
}

// forward passes a request on, and its answer back.
func (d *door) forward(w http.ResponseWriter, r *http.Request) {
	host, port, err := d.target(r)
	if err != nil {
		d.fail(w, host, port, err)
		return
	}
	http.NewResponseController(w).EnableFullDuplex() // an answer may begin before the body has ended
	r.URL.Host = strings.TrimSuffix(net.JoinHostPort(host, port), ":80")
	d.forwarder.ServeHTTP(w, r)
}

func (d *door) fail(w http.ResponseWriter, host, port string, err error) {
	status, sentence := d.answer(host, port, err)
	http.Error(w, sentence, status)
}

// reverse streams in both directions, without the headers that belong to one
// connection, and lets protocols be switched.
func (d *door) reverse(quiet *log.Logger) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.RawQuery = p.In.URL.RawQuery
			p.Out.Host = p.Out.URL.Host
		},
		Transport:     roundTripper(d.round),
		FlushInterval: -1,
		ErrorLog:      quiet,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			d.fail(w, r.URL.Hostname(), cmp.Or(r.URL.Port(), "80"), err)
		},
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// round makes a request that may be made, directly or by the proxy upstream.
func (d *door) round(r *http.Request) (*http.Response, error) {
	up, err := d.upstream(r)
	switch {
	case err != nil:
		return nil, err
	case up != nil:
		return d.chained.RoundTrip(r)
	}
	return d.direct.RoundTrip(r)
}

// transport follows no redirect and decodes nothing. It goes on dialling after a request
// is given up, but not after the door is closed.
func (d *door) transport(dial func(context.Context, string, string) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext:        func(_ context.Context, network, at string) (net.Conn, error) { return dial(d.ctx, network, at) },
		DisableCompression: true, MaxResponseHeaderBytes: 4 * maxHeader, TLSHandshakeTimeout: headerTime,
		MaxIdleConns: 16, IdleConnTimeout: idleTime,
	}
}
