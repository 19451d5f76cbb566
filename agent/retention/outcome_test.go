package retention

import (
	"testing"
	"time"

	"rouse/journal"
)

// A cycle that waits for approvals is kept as one that went well, one whose lease
// was lost as one that failed.
func TestLostAndWaiting(t *testing.T) {
	f := newFarm(t)
	for i, outcome := range []string{journal.Waiting, journal.Lost, journal.Done} {
		f.add(made{outcome: outcome, age: 40 * day}, now.Add(time.Duration(i)*time.Minute-40*day))
	}
	f.add(made{outcome: journal.Done, age: day}, now.Add(-day)) // the newest stays in any case
	if _, err := f.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	there := f.files()
	for i, stays := range []bool{false, true, false, true} {
		if c := f.cycles[i]; there[f.Home.Journal(c.id)] != stays {
			t.Errorf("%s: stays %v", c.outcome, !stays)
		}
	}
}
