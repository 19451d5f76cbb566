package notify

import (
	"testing"

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
		}
	}
}
