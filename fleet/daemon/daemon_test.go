package daemon

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rouse/agent/notify"
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

// TestDaemon is a worker's life: it takes no home before its clock is right, finds what was pushed
// before, hears of what is pushed and ordered then, tells how it is and how homes are, and ends when
// it is told to drain.
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
	commit := func(name string, v store.Version) {
		t.Helper()
		l, err := s.Acquire(t.Context(), name, "laptop", 0, false)
		must(err)
		must(s.Commit(t.Context(), l, v))
	}
	push := func(name string) {
		t.Helper()
		must(s.Create(t.Context(), name, "laptop"))
		commit(name, store.Version{Manifest: []byte("{}")})
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
	pings := make(chan string, 100)
	watcher := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		pings <- r.Method + " " + r.URL.Path + " " + string(body)
	}))
	defer watcher.Close()
	pinged := func(want string) {
		t.Helper()
		within(t, "a heartbeat", func() bool { return len(pings) > 0 })
		if got := <-pings; !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%q, want %s", got, want)
		}
	}
	for _, name := range []string{"before", "young"} { // which is not told of yet
		push(name)
		commit(name, store.Version{State: &store.State{Problem: "no key"}})
	}
	must(s.Create(t.Context(), "unfinished", "laptop"))
	said, long, ahead := make(chan string, 100), time.Now().Add(-time.Hour), atomic.Int64{}
	ahead.Store(int64(time.Hour))
	say := func(line string) {
		if said <- line; line == "the clock is right again" && len(visits) > 0 {
			t.Error("a home was visited by a clock that is wrong")
		}
	}
	d := &Daemon{Store: s, Temporal: at, Waker: visits, Shown: store.Worker{Name: "w", Listen: "127.0.0.1:0"}, Homes: 2, Say: say,
		Now:       func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
		Heartbeat: notify.Heartbeat{Target: watcher.URL + "/uuid"}, amiss: map[string]time.Time{"the clock": long, "before": long}}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(t.Context(), t.Context()) }()
	pinged("^POST /uuid/fail worker w\nthe clock: the clock here is 1h0m0s ahead of the store's: .*\nbefore: no key\n$")
	get := func(path string) string {
		t.Helper()
		all, err := s.Workers(t.Context())
		must(err)
		res, err := http.Get("http://" + all[0].Listen + path)
		must(err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		must(err)
		return res.Status + string(body)
	}
	if got := get("/healthz"); !strings.HasPrefix(got, "503") {
		t.Error("a worker whose clock is wrong says that it is well:", got)
	}
	within(t, "a workflow", func() bool { homes, err := at.Running(t.Context()); return err == nil && len(homes) > 0 })
	commit("before", store.Version{State: &store.State{}})
	ahead.Store(0) // which is seen seconds later
	pinged("^GET /uuid $")
	visited("before")
	within(t, "a worker that listens to the store", func() bool { return d.sweep.hears.Load() != 0 })
	push("after")
	visited("after")
	_, err = s.Order(t.Context(), "before", []string{"tell", "x"}, nil)
	must(err)
	visited("before")

	all, err := s.Workers(t.Context())
	if err != nil || len(all) != 1 || all[0].Name != "w" {
		t.Fatal(all, err)
	}
	var health struct{ OK bool }
	within(t, "health", func() bool {
		_, body, _ := strings.Cut(get("/healthz"), "OK")
		_ = json.Unmarshal([]byte(body), &health)
		return health.OK
	})
	if got := get("/metrics"); !health.OK || !strings.Contains(got, "rouse_fleet_visits_total{} ") || !strings.Contains(got, "rouse_fleet_clock_ahead_seconds{} ") {
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

// within waits for something, a minute at most.
func within(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("there is no ", what)
		}
	}
}

// TestAlone: a worker of a name that a live one has is refused. One that was killed, or is long
// gone, keeps nobody.
func TestAlone(t *testing.T) {
	s, err := store.Open(t.Context(), devtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	waits := 0
	d := &Daemon{Store: s, Shown: store.Worker{Name: "w"}, Say: func(string) { waits++ }}
	alone := func(beat time.Duration, want int) error {
		t.Helper()
		err := d.Alone(t.Context(), beat)
		if waits != want {
			t.Errorf("it waited %d times, want %d", waits, want)
		}
		return err
	}
	beat := func() {
		if _, err := s.Beat(context.Background(), d.Shown); err != nil {
			t.Error(err)
		}
	}
	if err := alone(time.Hour, 0); err != nil {
		t.Error("nobody was ever there:", err)
	}
	beat()
	if err := alone(time.Second, 1); err != nil {
		t.Error("it was killed:", err)
	}
	if err := alone(time.Millisecond, 1); err != nil {
		t.Error("it is long gone:", err)
	}
	beat()
	defer time.AfterFunc(200*time.Millisecond, beat).Stop()
	if err := alone(10*time.Second, 2); err == nil || !strings.Contains(err.Error(), "--name") {
		t.Error("it is alive:", err)
	}
}
