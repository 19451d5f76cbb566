package worker_test

import (
	"strings"
	"testing"

	"rouse/internal/sandbox"
)

// TestWalled: a worker that requires walls wakes no home without, and says what to mend. It
// carries out what is ordered; a worker that requires none wakes the home.
func TestWalled(t *testing.T) {
	for yaml, bare := range map[string]bool{"": true, "posture: careful\nsandbox: {mode: off}\n": true, "posture: careful\n": !sandbox.Look().Confines()} {
		t.Run(yaml, func(t *testing.T) {
			r := newRig(t, often+yaml)
			w := r.worker("a")
			w.Walled = true
			told, run := r.order("tell", "a task"), r.order("run")
			r.wake(w)
			if told().Exit == nil || *told().Exit != 0 || run().Done == nil {
				t.Errorf("orders: %+v, %+v", told(), run())
			}
			r.wake(w)
			at := r.at().State
			if mend := strings.Contains(at.Problem, "(--require-sandbox): "); mend != bare || (at.Cycle == "") != bare {
				t.Errorf("bare %v: %+v", bare, at)
			}
			r.wake(r.worker("b"))
			if at := r.at().State; at.Cycle == "" || strings.Contains(at.Problem, "--require-sandbox") {
				t.Errorf("%+v", at)
			}
		})
	}
}
