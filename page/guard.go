package page

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"rouse/internal/loopback"
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
	cross.SetDenyHandler(refuse(http.StatusForbidden, "this came from another site: open the page itself, and do it there"))
	next = http.MaxBytesHandler(cross.Handler(next), maxBody)
	strange := refuse(http.StatusMisdirectedRequest, "this name is not one of this server: use the address that rouse serve printed, or name it in serve.hosts")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			w.Header().Set(name, value)
		}
		if !s.own(r.Host) {
			strange(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
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
