package page

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rouse/internal/proc"
	"rouse/journal"
)

// event is one that a stream sent.
type event struct{ name, id, data string }

// listen opens a stream and gives its events to got, until that has enough or it ends.
func (r *rig) listen(path, lastID string, got func(event) bool) (code int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	res, err := r.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	var e event
	b := bufio.NewReader(res.Body)
	for {
		line, err := b.ReadString('\n')
		if err == io.EOF {
			return res.StatusCode
		}
		if err != nil {
			r.t.Fatal(err)
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			e.data += value + "\n"
		case "":
			if e.name != "" && !got(e) {
				return res.StatusCode
			}
			e = event{}
		}
	}
}

// TestLive: rows come as the cycle goes on, and no broken connection loses or doubles one.
func TestLive(t *testing.T) {
	t.Parallel()
	folder, add := tale(t, proc.Self())
	add(call(1, "first", "x")...)
	add(&journal.Request{Iteration: 2})
	r := serve(t, folder, View)
	want(t, r.get("/h/agent"), "A cycle is running since", cyclePath)
	page := r.get(cyclePath)
	want(t, page, "awake", "answered", "iteration 2: ask", "running")
	live := strings.ReplaceAll(regexp.MustCompile(`data-live="([^"]+)"`).FindStringSubmatch(page)[1], "&amp;", "&")
	const calls = 2500 // 10,000 events
	go func() {
		for i := range calls {
			if i > 0 {
				add(&journal.Request{Iteration: i + 2})
			}
			add(call(i+2, fmt.Sprint("call ", i), "x")[1:]...)
		}
		add(&journal.Sleep{Outcome: journal.Done})
	}()
	rows, ended, last, ids := map[string]string{}, false, "", 0
	id := regexp.MustCompile(`<tr id="row-(\d+)"`)
	for broken := 0; !ended; broken++ {
		seen := 0
		r.listen(live, last, func(e event) bool {
			if ended = e.name == "end"; ended {
				return false
			}
			if n, err := strconv.Atoi(e.id); err != nil || n <= ids {
				t.Fatalf("line %s after %d", e.id, ids)
			} else {
				ids = n
			}
			rows[id.FindStringSubmatch(e.data)[1]] = e.data
			last = e.id
			seen++
			return broken > 2 || seen < 700
		})
	}
	if want := 2*calls + 1; len(rows) != want {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	for _, n := range slices.Sorted(maps.Keys(rows)) {
		if strings.Contains(rows[n], "running") {
			t.Fatalf("row %s is not over: %s", n, rows[n])
		}
	}
	want(t, r.get(cyclePath), ">done<")
}

// TestStreams: their number is bounded, and what one keeps is.
func TestStreams(t *testing.T) {
	t.Parallel()
	folder, add := tale(t, proc.Identity{})
	add(call(1, "x", "y")...)
	r := serve(t, folder, View)
	r.listen(cyclePath+"/events", "", func(e event) bool { return e.name != "end" }) // as nobody writes it
	r.streams.Store(mostStreams)
	if code := r.listen(cyclePath+"/events", "", func(event) bool { return true }); code != http.StatusServiceUnavailable {
		t.Errorf("one more stream: %d", code)
	}
	w := &waterfall{}
	for i := range 10_000 {
		w.add(journal.Mark{Number: i, Event: []string{"request", "intent"}[i%2], Step: i})
	}
	if len(w.rows) > 2*mostRows || len(w.calls) > 1001 {
		t.Errorf("a stream keeps %d rows, %d calls", len(w.rows), len(w.calls))
	}
}
