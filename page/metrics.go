package page

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"rouse/agent/telemetry"
)

// Metrics are the figures of all homes, as Prometheus reads them. A home that has none says
// so in them; the error says why.
func (s *Server) Metrics() (text []byte, err error) {
	homes, err := s.homes()
	s.metering.Lock()
	defer s.metering.Unlock()
	all := telemetry.Sums{}
	for _, h := range homes {
		var sums telemetry.Sums
		if s.meters[h.Dir] == nil {
			s.meters[h.Dir] = &telemetry.Meter{}
		}
		opened, failed := s.Open(h.Dir)
		if failed == nil {
			sums, failed = opened.Metrics(s.meters[h.Dir])
		}
		up := 1.0
		if failed != nil {
			up, err = 0, cmp.Or(err, fmt.Errorf("%s: %w", h.Dir, failed))
		}
		all.Add(telemetry.Up, up, telemetry.Home, h.Name)
		maps.Copy(all, sums.Of(telemetry.Home, h.Name))
	}
	return all.Prometheus(), err
}

// sendMetrics sends them to who has a token, or has logged in.
func (s *Server) sendMetrics(w http.ResponseWriter, r *http.Request) {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		if !s.doors.try() {
			refuse(http.StatusTooManyRequests, "too many tries: wait ten seconds")(w, r)
			return
		}
		cookie, ok := s.doors.known(token)
		s.doors.end(cookie) // it needs no session
		if !ok {
			refuse(http.StatusUnauthorized, "this is not the token")(w, r)
			return
		}
	} else if _, ok := s.doors.who(s.cookie(r)); !ok {
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(http.StatusUnauthorized, "send a token: Authorization: Bearer …, that of serve.view_token_env")(w, r)
		return
	}
	text, _ := s.Metrics() // which has what cannot be read
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(text)
}
