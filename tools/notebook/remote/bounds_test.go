package remote_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// count is how many entries a folder has.
func count(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return len(entries)
}

// TestUnknownNames: calls on names that are no notebooks make no folder and hold
// no descriptor, and those that make notebooks are bounded.
func TestUnknownNames(t *testing.T) {
	server, ran := newCounted(t)
	server.MaxNotebooks = 4
	ann := "Bearer " + token("ann")
	fds := count(t, "/proc/self/fd")
	each := func(action string) (last string) {
		for i := range 100 {
			_, last = server.ask(t, "POST", fmt.Sprintf("/v1/notebooks/n%d/%s", i, action), ann, fmt.Sprintf(`{"id":"0123456789-%s-%03d"}`, action, i))
		}
		return last
	}
	for _, action := range []string{"close", "reset", "remove"} {
		if last := each(action); !strings.Contains(last, "event: done") || strings.Contains(last, "error") {
			t.Errorf("%s: %s", action, last)
		}
	}
	if last := each("cancel"); !strings.Contains(last, "{}") {
		t.Errorf("cancel: %s", last)
	}
	if n := count(t, filepath.Join(server.Dir, "ann")); n != 0 {
		t.Errorf("%d folders of notebooks that are none", n)
	}
	if last := each("start"); !strings.Contains(last, "too many notebooks are open: 4") {
		t.Errorf("start: %s", last)
	}
	if n := count(t, filepath.Join(server.Dir, "ann")); n != 4 {
		t.Errorf("%d folders of notebooks, want 4", n)
	}
	if now := count(t, "/proc/self/fd"); now > fds+40 {
		t.Errorf("%d descriptors, before %d", now, fds)
	}
	if len(ran.did) > 8 {
		t.Errorf("did %v", ran.did)
	}
}

// TestClosedNotebooksAreBounded: one notebook after the other may be opened and
// closed; what is kept of the closed ones does not grow, and is not run again.
func TestClosedNotebooksAreBounded(t *testing.T) {
	server, ran := newCounted(t)
	server.MaxNotebooks, server.MaxKept = 4, 60
	ann := "Bearer " + token("ann")
	fds, last := count(t, "/proc/self/fd"), ""
	for i := range 80 {
		path := fmt.Sprintf("/v1/notebooks/n%d/", i)
		_, last = server.ask(t, "POST", path+"start", ann, fmt.Sprintf(`{"id":"0123456789-start-%d"}`, i))
		server.ask(t, "POST", path+"close", ann, fmt.Sprintf(`{"id":"0123456789-close-%d"}`, i))
	}
	if !strings.Contains(last, "too many notebooks are kept: 60; remove one") {
		t.Errorf("start: %s", last)
	}
	if now := count(t, "/proc/self/fd"); now > fds+60 {
		t.Errorf("%d descriptors, before %d", now, fds)
	}
	did := len(ran.did)
	if status, text := server.ask(t, "POST", "/v1/notebooks/n1/start", ann, `{"id":"0123456789-start-1"}`); status != 410 || len(ran.did) != did {
		t.Errorf("asked again: %d %s", status, text)
	}
}

// TestCanceledEarly: a cell that is canceled before it comes is not run, nor when
// it is sent again.
func TestCanceledEarly(t *testing.T) {
	server, ran := newCounted(t)
	ann := "Bearer " + token("ann")
	server.ask(t, "POST", "/v1/notebooks/main/cancel", ann, anID+"}")
	for range 2 {
		if _, text := server.ask(t, "POST", "/v1/notebooks/main/execute", ann, anID+`,"code":"a"}`); !strings.Contains(text, "canceled before it began") {
			t.Errorf("got %s", text)
		}
	}
	if len(ran.runs) > 0 {
		t.Errorf("ran %v", ran.runs)
	}
}
