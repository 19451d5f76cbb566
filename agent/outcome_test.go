package agent

import (
	"testing"
	"time"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/journal"
)

// A lease that was lost proves nothing of a cause and breaks no row of failures; a
// cycle that waits for approvals went well and breaks it. Neither leaves the home
// idle.
func TestStreakOfLostAndWaiting(t *testing.T) {
	tests := []struct {
		outcomes []string // the oldest first
		want     int
	}{
		{[]string{journal.Failed, journal.Failed}, 2},
		{[]string{journal.Failed, journal.Lost, journal.Failed}, 2},
		{[]string{journal.Failed, journal.Failed, journal.Lost}, 2},
		{[]string{journal.Lost, journal.Lost}, 0},
		{[]string{journal.Failed, journal.Waiting, journal.Failed}, 1},
		{[]string{journal.Failed, journal.Failed, journal.Waiting}, 0},
	}
	for _, tt := range tests {
		r := newRig(t, "", oldState)
		id := ""
		for _, outcome := range tt.outcomes {
			id = home.NextID(begun, id)
			w, err := journal.Create(disk.OS{}, r.home.Journal(id), journal.NewChain(nil, id), time.Now)
			r.must(err)
			r.must(w.Append(&journal.Sleep{Outcome: outcome, Exit: 1, Error: "model: 503"}))
			r.must(w.Close())
		}
		if s, err := Streak(r.home, 5); s.Count != tt.want || err != nil {
			t.Errorf("%v: %d in a row, want %d: %v", tt.outcomes, s.Count, tt.want, err)
		}
		if Idle(r.home, nil) {
			t.Errorf("%v: idle", tt.outcomes)
		}
	}
}
