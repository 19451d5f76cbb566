package notify

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPings(t *testing.T) {
	var mu sync.Mutex
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		got = append(got, strings.TrimSpace(r.Method+" "+r.URL.String()+" "+string(body)))
	}))
	defer s.Close()
	tests := []struct {
		ok   bool
		want []string
	}{
		{true, []string{"GET /ping/uuid/start?a=b", "GET /ping/uuid?a=b"}},
		{false, []string{"GET /ping/uuid/start?a=b", "GET /ping/uuid/fail?a=b"}},
	}
	for _, tt := range tests {
		got = nil
		if err := (Heartbeat{Target: s.URL + "/ping/uuid?a=b"}).Begin()(tt.ok); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.ok, diff)
		}
	}
	got = nil
	if err := (Heartbeat{Target: s.URL + "/ping/uuid"}).Alive(); err != nil || !slices.Equal(got, []string{"GET /ping/uuid"}) {
		t.Errorf("alive: %q, %v", got, err)
	}
	got = nil
	if err := (Heartbeat{Target: s.URL + "/ping/uuid"}).Failed("no disk"); err != nil || !slices.Equal(got, []string{"POST /ping/uuid/fail no disk"}) {
		t.Errorf("failed: %q, %v", got, err)
	}
}

// A watcher that is away, refuses, redirects or hangs is an error that does not
// show the URL, which may be secret.
func TestPingsThatFail(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "away"):
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	for target, want := range map[string]string{
		s.URL + "/uuid":           "404 Not Found",
		s.URL + "/uuid/away":      "302 Found",
		"http://127.0.0.1:1/uuid": "refused",
		"http://a b/uuid":         "not a URL",
	} {
		err := Heartbeat{Target: target}.Begin()(true)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "uuid") {
			t.Errorf("%s: %v, want %q", target, err, want)
		}
	}
}

// Beginning waits for nobody: a watcher that hangs is let go when the cycle ends.
func TestHeartbeatThatHangs(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer s.Close()
	end := Heartbeat{Target: s.URL}.Begin() // returns although nothing answers
	close(release)
	if err := end(true); err != nil {
		t.Error(err)
	}
}

func TestTouch(t *testing.T) {
	home := t.TempDir()
	now := time.Date(2026, 4, 30, 12, 0, 0, 0, time.UTC)
	h := Heartbeat{Target: "alive", Home: home, Now: func() time.Time { return now }}
	if err := h.Begin()(false); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(home, "alive")); err == nil {
		t.Error("a failed cycle is a sign of life")
	}
	if err := h.Begin()(true); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(home, "alive")); string(text) != "2026-04-30T12:00:00Z\n" || err != nil {
		t.Errorf("%q %v", text, err)
	}
	if err := syscall.Mkfifo(filepath.Join(home, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Heartbeat{Target: "fifo", Home: home}).Begin()(true); err == nil {
		t.Error("waited for a FIFO")
	}
	if err := (Heartbeat{}).Begin()(true); err != nil {
		t.Error(err)
	}
}
