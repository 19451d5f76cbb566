package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"time"

	"rouse/agent/telemetry"
)

// The metrics.
const (
	awake    telemetry.Metric = "rouse.fleet.awake|{home}|gauge|Homes that are awake on this worker."
	room     telemetry.Metric = "rouse.fleet.room|{home}|gauge|How many may be."
	visits   telemetry.Metric = "rouse.fleet.visits|{visit}|count|Visits of homes that are over, since this worker began."
	seconds  telemetry.Metric = "rouse.fleet.visits.duration|s|count|How long these took."
	failures telemetry.Metric = "rouse.fleet.failures|{visit}|count|Visits that failed, and are tried again."
	lost     telemetry.Metric = "rouse.fleet.lost|{lease}|count|Leases that another worker took over."
	well     telemetry.Metric = "rouse.fleet.ok|1|gauge|Whether the store and Temporal can be reached, and the clock is right."
	offset   telemetry.Metric = "rouse.fleet.clock.ahead|s|gauge|How far the clock is ahead of the store's."
)

// serve answers /healthz and /metrics, where that is asked for.
func (d *Daemon) serve() (end func(), err error) {
	if d.Shown.Listen == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", d.Shown.Listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	d.Shown.Listen = l.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", d.health)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(d.figures().Prometheus())
	})
	s := &http.Server{Handler: mux, ReadHeaderTimeout: answer, WriteTimeout: answer}
	go func() { _ = s.Serve(l) }()
	return func() { _ = s.Close() }, nil
}

// ok says whether all is there. The lock is held.
func (d *Daemon) ok() bool { return d.stored.is == "ok" && d.timed.is == "ok" && d.clocked.is == "ok" }

func (d *Daemon) health(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	said := map[string]any{"ok": d.ok(), "store": d.stored.is, "temporal": d.timed.is, "clock": d.clocked.is, "clock_ahead_s": d.ahead.Seconds(), "beat": d.beaten.Format(time.RFC3339), "awake": d.worker.Awake(), "draining": d.draining}
	w.Header().Set("Content-Type", "application/json")
	if !d.ok() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(said)
}

func (d *Daemon) figures() telemetry.Sums {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := maps.Clone(d.sums)
	all.Add(awake, float64(d.worker.Awake()))
	all.Add(room, float64(d.Homes))
	all.Add(offset, d.ahead.Seconds())
	all.Add(well, map[bool]float64{true: 1}[d.ok()])
	return all
}
