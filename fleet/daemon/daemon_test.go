package daemon

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"rouse/fleet/dev/devtest"
	"rouse/fleet/flow"
	"rouse/fleet/store"
)

func TestMain(m *testing.M) { os.Exit(devtest.M{M: m}.Run()) }

// waker tells of each visit, of which none has a next one.
type waker chan string

func (w waker) Wake(_ context.Context, home string) (flow.Next, error) {
	w <- home
	return flow.Next{}, nil
}

// TestDaemon is a worker's life: it finds what was pushed before, hears of what is pushed and
// ordered then, tells how it is, and ends when it is told to drain.
func TestDaemon(t *testing.T) {
	s, err := store.Open(t.Context(), devtest.Database(t))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	defer s.Close()
	_, err = s.Migrate(t.Context())
	must(err)
	push := func(name string) {
		t.Helper()
		must(s.Create(t.Context(), name, "laptop"))
		l, err := s.Acquire(t.Context(), name, "laptop", 0, false)
		must(err)
		must(s.Commit(t.Context(), l, store.Version{Manifest: []byte("{}")}))
	}
	at, err := flow.Open(devtest.Temporal(t), "", s.ID, func(s string) { t.Error(s) })
	must(err)
	defer at.Close()
	visits := make(waker, 100)
	visited := func(home string) {
		t.Helper()
		for {
			select {
			case got := <-visits:
				if got == home {
					return
				}
			case <-time.After(time.Minute):
				t.Fatal(home, "is not visited")
			}
		}
	}
	push("before")
	must(s.Create(t.Context(), "unfinished", "laptop"))
	said := make(chan string, 100)
	d := &Daemon{Store: s, Temporal: at, Waker: visits, Shown: store.Worker{Name: "w", Listen: "127.0.0.1:0"}, Homes: 2, Say: func(line string) { said <- line }}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(t.Context(), t.Context()) }()
	visited("before")
	for end := time.Now().Add(time.Minute); d.sweep.hears.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the worker does not listen to the store")
		}
	}
	push("after")
	visited("after")
	_, err = s.Order(t.Context(), "before", []string{"tell", "x"}, nil)
	must(err)
	visited("before")

	all, err := s.Workers(t.Context())
	if err != nil || len(all) != 1 || all[0].Name != "w" {
		t.Fatal(all, err)
	}
	get := func(path string) string {
		t.Helper()
		res, err := http.Get("http://" + all[0].Listen + path)
		must(err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		must(err)
		return res.Status + string(body)
	}
	var health struct{ OK bool }
	for end := time.Now().Add(time.Minute); !health.OK && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		_, body, _ := strings.Cut(get("/healthz"), "OK")
		_ = json.Unmarshal([]byte(body), &health)
	}
	if got := get("/metrics"); !health.OK || !strings.Contains(got, "rouse_fleet_visits_total{} ") {
		t.Error(health, got)
	}
	for pruned := false; !pruned; {
		select {
		case line := <-said:
			pruned = strings.HasPrefix(line, "old versions were not all removed") && strings.Contains(line, "a manifest cannot be read")
		case <-time.After(time.Minute):
			t.Fatal("it does not prune")
		}
	}
	must(s.Drain(t.Context(), "w", true))
	must(<-ended)
	if all, err := s.Workers(t.Context()); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
	select {
	case got := <-visits:
		if got == "unfinished" {
			t.Error("a home that was never pushed to its end is visited")
		}
	default:
	}
}
