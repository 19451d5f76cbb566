package telemetry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/text"
)

// Exporter sends what cycles did to a collector, each cycle once, after it slept. What is not
// sent yet stays in the journals, and logs/telemetry.json says how far that has come.
type Exporter struct {
	Home     home.Home
	URL      string // that of the collector
	Headers  string // name=value, with commas between, as OTEL_EXPORTER_OTLP_HEADERS has them
	Content  bool   // send what models and tools said
	Name     string // of the home, for people
	Model    string // the first one that cycles ask, and whose it is
	Provider string
	Version  string
	Timeout  time.Duration // how long a cycle may be late for it
	Hide     func(string) string
	Now      func() time.Time
	Sums     func(*Meter) (Sums, error)
	Incident func(key, text string) // tells people, once of each key

	wire *http.Transport
}

// State is how far the exporter is.
type State struct {
	Upto  string    `json:"upto"`            // the newest cycle that was sent
	Again time.Time `json:"again,omitzero"`  // nothing is tried before
	Tries int       `json:"tries,omitempty"` // that failed in a row
	Error string    `json:"error,omitempty"` // of the last one
	// To is the SHA-256 of the address that is sent to: a tool may write another one into
	// rouse.yaml, and the headers hold a key.
	To string `json:"to,omitempty"`
	// Meter has the sums of the day, as Version of the program calls them.
	Meter   *Meter `json:"meter,omitempty"`
	Version string `json:"version"`
}

// ReadState is the state of a home, empty where there is none.
func ReadState(h home.Home) (s State) {
	if data, err := disk.ReadSmall(h.Telemetry(), 1<<20); err == nil && json.Unmarshal(data, &s) != nil {
		s = State{}
	}
	return s
}

// Export sends what has not been sent. A collector that does not answer is left alone for
// longer each time, up to an hour.
func (e *Exporter) Export() {
	s := ReadState(e.Home)
	if now := e.Now(); s.To == sum(e.URL) && now.Before(s.Again) && s.Again.Sub(now) <= maxRest {
		return
	}
	if to := sum(e.URL); s.To == "" || e.Headers == "" {
		s.To = to
	} else if s.To != to {
		s.Error = "telemetry.otlp in rouse.yaml changed, and the headers hold a key: if that was you, run rouse doctor --accept"
		s.write(e.Home)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.Timeout)
	defer cancel()
	e.wire = &http.Transport{Proxy: http.ProxyFromEnvironment}
	defer e.wire.CloseIdleConnections()
	if s.Meter == nil || s.Version != e.Version {
		s.Meter, s.Version = &Meter{}, e.Version
	}
	before := s.Upto
	failed := e.sendTraces(ctx, &s)
	if failed == nil {
		failed = e.sendMetrics(ctx, s.Meter)
	}
	if failed == nil || ctx.Err() != nil && before != "" && s.Upto != before { // the rest goes on with the next
		s.Again, s.Tries, s.Error = time.Time{}, 0, ""
	} else {
		s.Again = e.Now().Add(min(maxRest, max(failed.after, time.Minute<<min(s.Tries, 6))))
		s.Error = text.Line(e.Hide(failed.Error()), 300) + "; it is tried again after " + s.Again.Format(time.DateTime)
		if s.Tries++; s.Tries == tellFrom {
			e.Incident("telemetry since "+s.Upto, "what cycles do cannot be sent to telemetry.otlp: "+s.Error+"; nothing is lost, it is tried again")
		}
	}
	s.write(e.Home)
}

func (s *State) write(h home.Home) {
	if data, err := json.Marshal(s); err == nil {
		_ = disk.Replace(disk.OS{}, h.Telemetry(), data, 0o600) // else it is sent once more
	}
}

func sum(address string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(address))) }

// Accept lets another address be sent to than before, and says whether it is another one.
func Accept(h home.Home, address string) bool {
	s := ReadState(h)
	changed := s.To != "" && s.To != sum(address)
	if changed {
		s.To, s.Again, s.Error = sum(address), time.Time{}, ""
		s.write(h)
	}
	return changed
}

// maxRest is how long a collector is left alone at most, and tellFrom after how many tries people are told.
const maxRest, tellFrom = time.Hour, 5

// sendTraces sends the cycles that are not sent yet, the oldest first; at first, the newest alone.
func (e *Exporter) sendTraces(ctx context.Context, s *State) *failure {
	ids, err := e.Home.Cycles(0)
	if err != nil {
		return &failure{error: err}
	}
	if s.Upto == "" {
		s.Upto = append(ids, "0", "0")[1]
	}
	for _, id := range slices.Backward(ids) {
		if id <= s.Upto {
			continue
		}
		spans, err := e.spansOf(id)
		if len(spans) == 0 && id == ids[0] {
			return nil // it is awake, or waits for the next wake to be settled
		}
		if len(spans) > 0 && err == nil {
			failed := e.post(ctx, "traces", e.wrapped("Spans", "spans", spans))
			if failed != nil && !failed.bad {
				return failed
			}
			if failed != nil {
				e.Incident("telemetry traces "+failed.kind, fmt.Sprintf("what cycle %s did is left out of the telemetry: %v", id, failed))
			}
		}
		s.Upto = id
	}
	return nil
}

// wrapped is what all of a kind is wrapped in: whose it is.
func (e *Exporter) wrapped(kind, key string, list []object) object {
	resource := object{"attributes": attributes(Service, "rouse", Version, e.Version, Home, e.Name)}
	scope := object{"scope": object{"name": "rouse", "version": e.Version}, key: list}
	return object{"resource" + kind: []object{{"resource": resource, "scope" + kind: []object{scope}}}}
}

// sendMetrics sends the sums of the day so far.
func (e *Exporter) sendMetrics(ctx context.Context, m *Meter) *failure {
	sums, err := e.Sums(m)
	if err != nil {
		return &failure{error: err}
	}
	day, _ := time.ParseInLocation(time.DateOnly, m.Day, time.Local)
	points := map[Metric][]object{}
	for key, n := range sums {
		m, labels := split(key)
		var pairs []any
		for _, l := range labels {
			pairs = append(pairs, l)
		}
		points[m] = append(points[m], object{"attributes": attributes(pairs...), "startTimeUnixNano": nanos(day), "timeUnixNano": nanos(e.Now()), "asDouble": n})
	}
	var list []object
	for m, of := range points {
		one := object{"name": m.part(0), "unit": m.part(1), "description": m.part(3), "gauge": object{"dataPoints": of}}
		if m.part(2) == "count" {
			delete(one, "gauge")
			one["sum"] = object{"dataPoints": of, "aggregationTemporality": 2, "isMonotonic": true}
		}
		list = append(list, one)
	}
	failed := e.post(ctx, "metrics", e.wrapped("Metrics", "metrics", list))
	if failed != nil && failed.bad {
		e.Incident("telemetry metrics "+failed.kind, "the collector does not take the metrics: "+failed.Error())
		return nil
	}
	return failed
}

// failure is why something was not sent. What is bad in itself is not sent again, all else
// after some time.
type failure struct {
	error
	bad   bool
	after time.Duration
	kind  string // of what is bad, in our words
}

// post sends a message.
func (e *Exporter) post(ctx context.Context, signal string, message object) *failure {
	data, err := json.Marshal(message)
	if err != nil {
		return &failure{error: err, bad: true}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(e.URL, "/")+"/v1/"+signal, bytes.NewReader(data))
	if err != nil {
		return &failure{error: errors.New("telemetry.otlp is no address")}
	}
	hide := e.Hide
	for pair := range strings.SplitSeq(e.Headers, ",") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			if plain, err := url.PathUnescape(value); err == nil {
				value = plain
			}
			value = strings.TrimSpace(value)
			req.Header.Set(strings.TrimSpace(name), value)
			for _, secret := range append(strings.Fields(value), value) { // as in Bearer and what follows
				if before := hide; len(secret) >= 8 {
					hide = func(text string) string { return before(strings.ReplaceAll(text, secret, "***")) }
				}
			}
		}
	}
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: e.wire, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the text around it repeats the address
	}
	if err != nil {
		return &failure{error: fmt.Errorf("%s cannot be reached: %w", req.URL.Host, err)}
	}
	defer res.Body.Close()
	return answered(res, hide)
}

// answered is what an answer says of what was sent, which may have the headers in it.
func answered(res *http.Response, hide func(string) string) *failure {
	var said struct {
		Message        string
		PartialSuccess struct {
			RejectedSpans, RejectedDataPoints json.Number
			ErrorMessage                      string
		}
	}
	_ = json.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(&said) // what is no JSON says nothing
	host, p := res.Request.URL.Host, said.PartialSuccess
	if code := res.StatusCode; code >= 300 {
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		why := errors.New(strings.TrimSpace(host + " answers " + text.Line(hide(res.Status+" "+said.Message), 200)))
		return &failure{why, slices.Contains([]int{400, 413, 415, 422}, code), time.Duration(seconds) * time.Second, strconv.Itoa(code)}
	}
	spans, _ := p.RejectedSpans.Int64()
	points, _ := p.RejectedDataPoints.Int64()
	if spans+points > 0 {
		return &failure{error: fmt.Errorf("%s rejected %d of it: %s", host, spans+points, text.Line(hide(p.ErrorMessage), 200)), bad: true, kind: "rejected"}
	}
	return nil
}
