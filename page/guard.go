package page

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"

	"rouse/internal/loopback"
	"rouse/internal/text"
)

// maxBody bounds what a request may bring, in bytes: the memory of a home has at most 8 MiB.
const maxBody = 9 << 20

// policy is the Content-Security-Policy of every page: nothing from elsewhere, nothing
// inline, nowhere to be framed but by itself.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"

// guard refuses what no page of this server sent: other names for this machine (DNS
// rebinding), other origins, and too much.
func (s *Server) guard(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	foreign := refuse(http.StatusForbidden, "this came from another site: open the page itself, and do it there")
	cross.SetDenyHandler(foreign)
	next = http.MaxBytesHandler(cross.Handler(next), maxBody)
	strange := refuse(http.StatusMisdirectedRequest, "this name is not one of this server: use the address that rouse serve printed, or name it in serve.hosts")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			w.Header().Set(name, value)
		}
		switch {
		case !s.own(r.Host):
			strange(w, r)
		case embedded(r):
			foreign(w, r)
		default:
			defer s.tell(r)
			next.ServeHTTP(w, r)
		}
	})
}

// embedded says whether another site, or a page of another port of this machine, asks for
// something that is no page of its own: an event stream, a picture, a frame.
func embedded(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "":
		u, err := url.Parse(r.Header.Get("Origin"))
		return r.Method == http.MethodGet && (err != nil || r.Header.Get("Origin") != "" && u.Host != r.Host)
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}

// tell tells who runs the server of a page that panicked. net/http ends the connection.
func (s *Server) tell(r *http.Request) {
	why := recover()
	if why == nil {
		return
	}
	if why != http.ErrAbortHandler {
		s.Say(text.Line(fmt.Sprintf("%s %s: a defect: %v\n%s", r.Method, r.URL.Path, why, debug.Stack()), 1500))
	}
	panic(http.ErrAbortHandler)
}

// own says whether a request that names a host means this server.
func (s *Server) own(host string) bool {
	if host == "" {
		return false
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	if slices.ContainsFunc(s.Hosts, func(h string) bool { return strings.EqualFold(h, host) || strings.EqualFold(h, name) }) {
		return true
	}
	return loopback.Is(host)
}

// refuse answers with a line of text.
func refuse(code int, line string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, line, code) }
}
