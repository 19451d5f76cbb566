package worker_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// A home is woken at its slot, by a worker that has nothing of it, and that then comes again
// when the home's own ledger says.
func TestWake(t *testing.T) {
	r := newRig(t, "schedule: {cron: '* * * * *', task: work}\n")
	w := r.worker("a")
	for range 2 { // a second visit finds nothing to do
		next, err := w.Wake(t.Context(), "moon")
		r.must(err)
		if wait := time.Until(next.At); wait > time.Minute {
			t.Errorf("it comes again after %v", wait)
		}
	}
	if h := r.at(); r.effects() != 1 || h.State.Outcome != "done" || h.Holder != "" || h.Version != 2 {
		t.Errorf("%d effects, %+v", r.effects(), h)
	}
}

// Whose process is killed in the middle of a call goes on with its folder. The call is not
// repeated, and its cycle says so.
func TestKilled(t *testing.T) {
	r := newRig(t, often+"cycle: {max_iterations: 5}\n")
	r.do = func(int64) string { return "sleep 60" }
	r.order("run", "--task", "work")
	p := r.process(r.config("a"))
	r.await("a call", func() bool { return r.effects() == 1 })
	r.must(errors.Join(p.Process.Kill()))
	_, _ = p.Process.Wait()
	r.do = nil
	w := r.worker("a")
	for range 3 { // what is there, then its end, then nothing
		_, err := w.Wake(t.Context(), "moon")
		r.must(err)
	}
	notes := r.read("a/moon/scratchpad/active.yaml")
	if h := r.at(); r.effects() != 1 || !strings.Contains(notes, "outcome unknown") || h.State.Outcome != "failed" {
		t.Errorf("%d effects, %+v: %s", r.effects(), h.State, notes)
	}
	if _, err := os.Stat(w.Lost("moon")); err == nil {
		t.Error("what nobody took over is aside")
	}
}
