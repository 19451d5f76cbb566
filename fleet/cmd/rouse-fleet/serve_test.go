package main

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/fleet/checkout"
	"rouse/fleet/dev/devtest"
	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/mirror"
	"rouse/page"
)

const evil = "<script>alert(1)</script>"

// pushed is a store with the home moon, in whose memory the agent wrote what no page may obey.
func pushed(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), devtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	h := home.Home{Dir: filepath.Join(t.TempDir(), "moon")}
	_, err = s.Migrate(t.Context())
	if err == nil {
		err = os.MkdirAll(h.Memory(), 0o700)
	}
	for path, text := range map[string]string{h.Rules(): "be good", h.Active(): "current_task: '" + evil + "'\n", h.VersionFile(): "2\n"} {
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
	}
	if err == nil {
		_, err = checkout.Push(t.Context(), s, h, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestServe: all homes are on one page; a button is an order, what a worker said of it is
// shown, what cannot be ordered is refused, and a cycle elsewhere is live. An agent's text is text.
func TestServe(t *testing.T) {
	ctx, s := t.Context(), pushed(t)
	w, err := checkout.OpenViews(s, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server := page.New(new(app).page(ctx, s, w, ""))
	web := httptest.NewServer(server.Handler())
	defer web.Close()
	jar, _ := cookiejar.New(nil)
	ask := func(path string, form url.Values) string {
		t.Helper()
		res, err := (&http.Client{Jar: jar}).PostForm(web.URL+path, form)
		if form == nil {
			res, err = (&http.Client{Jar: jar}).Get(web.URL + path)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		return string(body)
	}
	want := func(in string, words ...string) {
		t.Helper()
		for _, word := range words {
			if !strings.Contains(in, word) {
				t.Errorf("no %q in %s", word, in)
			}
		}
	}
	want(ask(server.Link(page.Act), nil), "moon", "in the fleet", "1 of 1 homes")
	shown := ask("/h/moon", nil)
	want(shown, html.EscapeString(evil), "Run now")
	if strings.Contains(shown, evil) {
		t.Error("an agent's text is obeyed")
	}
	want(ask("/h/moon/pause", url.Values{"reason": {"tea"}}), "no worker is there: it stays ordered, as 1")
	want(ask("/h/moon/notebooks", url.Values{"name": {"x"}}), "rouse-fleet pull moon, do it there")
	want(ask("/h/moon/hooks/x", url.Values{}), "there is no such hook")

	l := work(ctx, t, s)
	want(ask("/h/moon/tell", url.Values{"task": {evil}}), html.EscapeString("tell -- "+evil))
	<-l
	wakes, err := s.Acquire(ctx, "moon", "w", time.Hour, false)
	if err == nil {
		err = s.Mirror(ctx, wakes, mirror.Line{Path: "logs/cycle_20260101_000000.jsonl", Data: []byte(`{"v":1,"event":"wake","time":"2026-01-01T00:00:00Z","data":{"owner":{"pid":1,"boot":"elsewhere"}}}` + "\n")})
	}
	if err != nil {
		t.Fatal(err)
	}
	w.Again("moon")
	want(ask("/h/moon/cycles", nil), "20260101_000000", "awake")
}

// work is a worker that says of the next order what it is.
func work(ctx context.Context, t *testing.T, s *store.Store) (done chan bool) {
	t.Helper()
	if _, err := s.Beat(ctx, store.Worker{Name: "w"}); err != nil {
		t.Fatal(err)
	}
	done = make(chan bool)
	go func() {
		defer close(done)
		for orders := []store.Order{}; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			h, err := s.Home(ctx, "moon")
			if err == nil {
				orders, err = s.Orders(ctx, h.ID)
			}
			if n := len(orders); err == nil && n == 2 {
				l, err := s.Acquire(ctx, "moon", "w", time.Hour, false)
				if err == nil {
					err = s.Commit(ctx, l, store.Version{Done: []store.Done{{ID: orders[0].ID}, {ID: orders[1].ID, Said: strings.Join(orders[1].Argv, " ")}}})
				}
				if err != nil {
					t.Error(err)
				}
				return
			}
		}
	}()
	return done
}
