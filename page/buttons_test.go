package page

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/internal/disk"
)

// filled is a pattern with something that a home has, or else a word, in each of its places.
func filled(pattern string, places ...string) string {
	path := strings.NewReplacer(append(places, "{home}", "h", "{$}", "")...).Replace(pattern)
	for {
		before, rest, ok := strings.Cut(path, "{")
		if !ok {
			return path
		}
		_, after, _ := strings.Cut(rest, "}")
		path = before + "1" + after
	}
}

// TestLookers: who may only look presses no button.
func TestLookers(t *testing.T) {
	t.Parallel()
	folder := ran(t, "h", 1)
	r := serve(t, folder, View)
	before := content(t, folder)
	for pattern := range acts() {
		if code, text := r.ask(http.MethodPost, filled(pattern), nil); code != http.StatusForbidden || !strings.Contains(text, "you may look") {
			t.Errorf("%s: %d %s", pattern, code, text)
		}
	}
	if strings.Contains(r.get("/h/h"), "Run now") {
		t.Error("buttons are shown to who may not press them")
	}
	same(t, before, content(t, folder))
}

// TestButtons: what a button does is what its verb does, and stands in the log of the home.
func TestButtons(t *testing.T) {
	t.Parallel()
	folder := ran(t, "h", 1)
	dir := filepath.Join(folder, "h")
	r := serve(t, folder, Act)
	r.Program = filepath.Join(folder, "program")
	if err := os.WriteFile(r.Program, []byte("#!/bin/sh\necho \"$@\"; touch ran logs/cycle_20990101_000000.jsonl\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, press := range []struct {
		path string
		form url.Values
		code int
		want string
	}{
		{"tell", url.Values{"task": {"look\r\nat <b>it</b>"}, "check": {"test -s x\r\n"}}, 200, `told: look\nat &lt;b&gt;it&lt;/b&gt;; it is taken in`},
		{"tell", url.Values{"task": {" "}}, 400, "the task is empty"},
		{"tell", url.Values{"task": {"x"}, "check": {"{fil: x}"}}, 400, "check"},
		{"pause", url.Values{"reason": {"new disk"}}, 200, "Paused: new disk"},
		{"pause", url.Values{"reason": {"again"}}, 409, "paused already: new disk"},
		{"run", nil, 409, "the home is paused (new disk)"},
		{"resume", nil, 200, "the pause is over: cycles start again"},
		{"run", nil, 200, "a cycle was started"},
	} {
		if code, text := r.ask(http.MethodPost, "/h/h/"+press.path, press.form); code != press.code || !strings.Contains(text, press.want) {
			t.Errorf("%s %v: %d, want %d %q: %s", press.path, press.form, code, press.code, press.want, text)
		}
	}
	await(t, filepath.Join(dir, "ran"))
	if log, err := os.ReadFile(filepath.Join(dir, "logs", "due.log")); err != nil || string(log) != "run --home "+dir+"\n" {
		t.Errorf("it ran %s, %v", log, err)
	}
	want(t, r.get("/h/h"), "not taken in yet", "at &lt;b&gt;it&lt;/b&gt; <span class=\"quiet\">told by page ", "with 1 check<")
	text := r.get("/h/h/acts")
	last := -1
	for _, want := range []string{"a cycle was started", "the pause is over", "the home is paused", "paused already", "paused: no cycle", "check: ", "the task is empty", "told: look"} {
		if at := strings.Index(text, want); at <= last {
			t.Errorf("%q is not where it should be in %s", want, text)
		} else {
			last = at
		}
	}
	if strings.Count(text, ">refused<") != 4 || strings.Count(text, ">done<") != 4 || !strings.Contains(text, "127.0.0.1") {
		t.Error(text)
	}
}

// await waits for a file.
func await(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !disk.Exists(path); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not come", path)
		}
	}
}

// content is every file of a folder, with its mode, by its path.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := []byte(nil)
		if info.Mode().IsRegular() {
			text, err = os.ReadFile(path)
		}
		all[path] = info.Mode().String() + " " + string(text)
		if info.Mode().IsRegular() {
			all[path] += info.ModTime().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// same wants nothing to have changed.
func same(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, text := range after {
		if was, ok := before[path]; !ok || was != text {
			t.Errorf("%s was written", path)
		}
		delete(before, path)
	}
	for path := range before {
		t.Errorf("%s is gone", path)
	}
}

// TestLooks: no page that is only looked at changes a byte of a home, but for the index by
// which searches are quick: it is made of the home's files, and may go at any time.
func TestLooks(t *testing.T) {
	t.Parallel()
	folder := ran(t, "h", 2)
	r := serve(t, folder, Act)
	s, err := open(filepath.Join(folder, "h"))
	if err != nil {
		t.Fatal(err)
	}
	cycle, err := s.Home.Newest()
	if err != nil {
		t.Fatal(err)
	}
	before := content(t, folder)
	for pattern := range looks() {
		path := filled(pattern, "{cycle}", cycle)
		for _, query := range []string{"", "?q=demo", "?_method=POST&now=yes&reason=x&decision=approve&do=yes"} {
			if code, text := r.ask(http.MethodGet, path+query, nil); code >= 500 {
				t.Errorf("%s: %d %s", path, code, text)
			}
		}
	}
	for pattern := range acts() { // a button is no page
		if code, _ := r.ask(http.MethodGet, filled(pattern, "{cycle}", cycle), nil); code >= 500 {
			t.Errorf("%s: %d", pattern, code)
		}
	}
	after := content(t, folder)
	for _, index := range s.Home.SearchFiles() {
		delete(after, index)
	}
	same(t, before, after)
}
