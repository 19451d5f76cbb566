package agent

import (
	"encoding/json"
	"testing"
	"time"

	"rouse/internal/disk"
	"rouse/journal"
)

// TestStepAt: a file is of the call in whose time it was written; where the kernel's clock
// lags behind ours, of the first one that may be.
func TestStepAt(t *testing.T) {
	r, id := newRig(t, "", "notes: see\n"), "20261122_000000"
	at := func(ms int) time.Time { return begun.Add(time.Duration(ms) * time.Millisecond) }
	w, err := journal.Create(disk.OS{}, r.home.Journal(id), journal.NewChain(nil, id), func() time.Time { return r.now })
	r.must(err)
	for step, times := range [][2]int{1: {100, 105}, 2: {106, 115}, 3: {200, 210}} {
		if step > 0 {
			r.now = at(times[0])
			r.must(w.Append(&journal.Intent{Step: step, Tool: "shell", Args: json.RawMessage("{}")}))
			r.now = at(times[1])
			r.must(w.Append(&journal.Result{Step: step}))
		}
	}
	r.must(w.Close())
	k := &r.keeping(nil).Keeper
	for ms, want := range map[int]int{80: 0, 91: 1, 97: 1, 102: 1, 110: 2, 150: 0, 195: 3, 205: 3, 211: 0} {
		if got := k.stepAt(&record{id: id}, at(ms)); got != want {
			t.Errorf("after %d ms: step %d, want %d", ms, got, want)
		}
	}
}
