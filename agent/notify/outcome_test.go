package notify

import (
	"strings"
	"testing"
	"time"

	"rouse/journal"
)

// A lost lease is told once, as a failure is; what waits for
// approvals is neither a failure nor the end of one.
func TestLostAndWaiting(t *testing.T) {
	tests := []struct {
		outcomes []string
		told     int
	}{
		{[]string{journal.Waiting}, 0},
		{[]string{journal.Lost}, 1},
		{[]string{journal.Lost, journal.Lost}, 1},
		{[]string{journal.Failed, journal.Waiting, journal.Failed}, 1},
		{[]string{journal.Lost, journal.Waiting, journal.Done}, 2},
	}
	for _, tt := range tests {
		r := newRig(t)
		for _, outcome := range tt.outcomes {
			o := Outcome{Cycle: "1", Outcome: outcome}
			if outcome == journal.Lost || outcome == journal.Failed {
				o.Error = "why"
			}
			r.must(r.Cycle(t.Context(), o))
			r.must(r.Deliver(t.Context()))
		}
		if got := r.told(); len(got) != tt.told {
			t.Errorf("%v: told %q", tt.outcomes, got)
		} else if tt.outcomes[0] == journal.Lost && !strings.Contains(got[0], "repeats no call") {
			t.Errorf("told %q", got)
		}
	}
}

// A task that fails is told once a day, whatever other cycles come to in between, and that
// it is proven is told once; that is also what was delivered of those cycles.
func TestTested(t *testing.T) {
	r := newRig(t)
	for _, o := range []Tested{
		{"1", journal.TaskFailed, "deploy", []string{"make test: exit code 1"}},
		{"2", journal.TaskClaimed, "breathe", nil},
		{"3", journal.TaskFailed, "deploy", []string{"make test: exit code 2"}},
		{"4", journal.TaskFailed, "", []string{"df: exit code 1"}},
		{"5", journal.TaskProven, "write", nil},
		{"6", journal.TaskProven, "deploy", nil},
		{"7", journal.TaskProven, "deploy", nil},
		{"8", journal.TaskFailed, "", []string{"df: exit code 1"}},
	} {
		r.must(r.Tested(t.Context(), o))
		r.now = r.now.Add(4 * time.Hour)
	}
	r.now = r.now.Add(retell)
	r.must(r.Tested(t.Context(), Tested{"9", journal.TaskFailed, "", []string{"df: exit code 1"}}))
	r.must(r.Deliver(t.Context()))
	want := []string{
		"failed: cycle 1: the task has failed: deploy: make test: exit code 1",
		"failed: cycle 4: what must hold for every cycle does not: df: exit code 1",
		"recovered: cycle 6: the task is proven, which had failed since ",
		"failed: cycle 9: what must hold for every cycle does not: df: exit code 1",
	}
	got := r.told()
	if len(got) != len(want) {
		t.Fatalf("told %q", got)
	}
	for i, line := range got {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("told %q, want %q", line, want[i])
		}
	}
	if came := r.Deliveries(); len(came) != 4 || came["6"] != Delivered {
		t.Errorf("delivered: %v", came)
	}
}
