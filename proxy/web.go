package proxy

import (
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"rouse/internal/loopback"
	"rouse/internal/object"
)

// client is how the server at URL is spoken to. It may not send us elsewhere.
func (p *Proxy) client() *http.Client {
	return &http.Client{Transport: p.trip, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > 3 || r.URL.Host != p.URL.Host || r.URL.Scheme != p.URL.Scheme {
			return errors.New("it redirects to another server, which is not followed")
		}
		return nil
	}}
}

// headers adds some to each request.
type headers struct {
	add  http.Header
	next http.RoundTripper
}

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(h.add) > 0 {
		r = r.Clone(r.Context())
		for name, values := range h.add {
			r.Header[name] = values
		}
	}
	return h.next.RoundTrip(r)
}

// Handler speaks with any number of clients over streamable HTTP, at every path.
// What it starts ends with ctx, or with [Proxy.Close].
func (p *Proxy) Handler(ctx context.Context) http.Handler {
	p.prepare()
	if p.URL != nil {
		return p.guard((&relay{p: p, sessions: map[string]*session{}}).handler())
	}
	return p.guard(&hosts{p: p, ctx: ctx, list: map[string]*host{}})
}

// guard refuses requests of web pages and, where there is a token, of those who
// do not have it.
func (p *Proxy) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := foreign(r); why != "" {
			http.Error(w, "forbidden: "+why, http.StatusForbidden)
			return
		}
		if p.Token != "" {
			given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			if subtle.ConstantTimeCompare([]byte(given), []byte(p.Token)) != 1 {
				w.Header().Set("WWW-Authenticate", "Bearer")
				http.Error(w, "a bearer token is wanted", http.StatusUnauthorized)
				return
			}
			r.Header.Del("Authorization")
		}
		r.Body = http.MaxBytesReader(w, r.Body, p.MaxMessage)
		next.ServeHTTP(w, r)
	})
}

// foreign says why a request may come from a web page that a browser shows, and
// that knows an address on loopback by a name of its own (DNS rebinding).
func foreign(r *http.Request) string {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local != nil && loopback.Is(local.String()) && !loopback.Is(r.Host) {
		return "the Host header names no address of this machine"
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return ""
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host != r.Host && !(loopback.Is(u.Host) && loopback.Is(r.Host)) {
		return "the Origin header names another site"
	}
	return ""
}

// relay passes HTTP requests on to a server that speaks streamable HTTP too, so
// that sessions, versions and the taking up of streams are the server's.
type relay struct {
	p *Proxy

	mu       sync.Mutex
	sessions map[string]*session // by the server's ids
}

// exchange is one HTTP request with what it is about.
type exchange struct {
	s   *session
	ids [][]byte // of the requests in its body
}

type exchangeKey struct{}

func (l *relay) handler() http.Handler {
	proxy := &httputil.ReverseProxy{
		Transport: l.p.trip, FlushInterval: -1, ModifyResponse: l.response,
		Rewrite: func(r *httputil.ProxyRequest) {
			to := *l.p.URL
			r.Out.URL, r.Out.Host = &to, to.Host
			r.Out.Header.Del("Origin") // it is that of this address
			r.Out.Header.Del("Accept-Encoding")
			if user := l.p.URL.User; user != nil && r.Out.Header.Get("Authorization") == "" {
				password, _ := user.Password()
				r.Out.SetBasicAuth(user.Username(), password)
			}
		},
		ErrorHandler: l.failed,
		ErrorLog:     log.New(io.Discard, "", 0),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.serve(w, r, proxy) })
}

// serve takes one request: what a client says in it is changed as everywhere.
func (l *relay) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	x := &exchange{s: l.session(r)}
	if r.Method == http.MethodPost {
		body, ok := body(w, r)
		if !ok {
			return
		}
		body, own := x.take(body)
		if own != nil {
			w.Header().Set("Content-Type", "application/json")
			w.Write(own(r.Context()))
			return
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	defer l.left(r, x)
	next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
}

// session is that of a request; one without any is for this request alone.
func (l *relay) session(r *http.Request) *session {
	id := r.Header.Get(sessionHeader)
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions[id]
	if s == nil {
		s = l.p.newSession()
		if id != "" && len(l.sessions) < maxSessions {
			l.sessions[id] = s
		}
	}
	return s
}

// maxSessions bounds what clients can have us remember.
const maxSessions = 10_000

// take changes the messages of a request. A single call of scratchpad_read is
// answered; in a batch, which no version has had since 2025-03-26, it goes to the
// server, which does not know it.
func (x *exchange) take(body []byte) (forward []byte, own func(context.Context) []byte) {
	single := !bytes.HasPrefix(bytes.TrimSpace(body), []byte("["))
	out := each(body, func(m []byte) [][]byte {
		pass := x.s.client(m)
		if pass.answer != nil {
			if single {
				own = pass.answer
			}
			return [][]byte{m}
		}
		if o, err := object.Parse(m); err == nil && o.Get("method") != nil && idKey(o.Get("id")) != "" {
			x.ids = append(x.ids, o.Get("id"))
		}
		return [][]byte{pass.forward}
	})
	if len(out) == 0 || out[0] == nil {
		return body, own
	}
	return out[0], own
}

// left forgets a session that has ended.
func (l *relay) left(r *http.Request, x *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Method == http.MethodDelete {
		delete(l.sessions, r.Header.Get(sessionHeader))
	}
}

// failed answers where the server cannot be reached.
func (l *relay) failed(w http.ResponseWriter, r *http.Request, err error) {
	x, _ := r.Context().Value(exchangeKey{}).(*exchange)
	l.p.say("to the server: " + plain(err))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadGateway)
	if x == nil || len(x.ids) == 0 {
		return
	}
	for _, m := range x.s.failOne(x.ids[0], fmt.Sprintf("the server: %s; whether the request had an effect is not known", plain(err))) {
		w.Write(m)
	}
}
