package retention

import (
	"testing"
	"time"

	"rouse/journal"
)

// A clock that says once that a hundred years have gone takes no cycle's files; one
// that says so still a day later does, and so does a machine that was off for long.
func TestClockThatJumps(t *testing.T) {
	f := newFarm(t)
	for age := range 5 {
		f.add(made{outcome: journal.Done, age: time.Duration(age) * day, readable: true, before: true, both: true}, now.Add(-time.Duration(age)*day))
	}
	believes := func(at time.Time, want int) {
		t.Helper()
		f.Now = func() time.Time { return at }
		if !f.Due() {
			t.Errorf("at %s nothing is due", at)
		}
		r, err := f.Apply(t.Context())
		if err != nil || r.Cycles != want {
			t.Errorf("at %s: removed %+v, %v", at, r, err)
		}
	}
	believes(now.AddDate(100, 0, 0), 0)
	believes(now.Add(time.Hour), 0) // put right
	believes(now.Add(26*time.Hour), 0)
	believes(now.AddDate(1, 0, 0), 0) // it was off
	believes(now.AddDate(1, 0, 1), 4)
}

// Without an earlier reading nothing is removed.
func TestFirstReading(t *testing.T) {
	f := newFarm(t)
	for age := range 3 {
		f.add(made{outcome: journal.Done, age: 300 * day, readable: true, before: true, both: true}, now.Add(-time.Duration(age)*day))
	}
	f.must(f.Store.disk().Remove(f.marker()))
	for i, want := range []int{0, 2} {
		f.Now = func() time.Time { return now.Add(time.Duration(i) * day) }
		if r, err := f.Apply(t.Context()); err != nil || r.Cycles != want {
			t.Errorf("%d: removed %+v, %v", i, r, err)
		}
	}
}
