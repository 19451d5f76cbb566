package schedule

import (
	"archive/zip"
	"os/exec"
	"path/filepath"
	"rouse/internal/sweep"
	"strings"
	"testing"
	"time"
)

// zones are the names of all time zones that Go knows.
func zones(t *testing.T) []string {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no go command, so no list of zones: ", err)
	}
	z, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Skip("no list of zones: ", err)
	}
	defer z.Close()
	var names []string
	for _, f := range z.File {
		if !strings.HasSuffix(f.Name, "/") {
			names = append(names, f.Name)
		}
	}
	return names
}

// expected walks real time in steps and reads the clock at each: a reading that
// matches is a slot when it is seen first, and readings that are jumped over are
// one slot at the jump.
func expected(from, to time.Time, loc *time.Location, step time.Duration, match func(wall time.Time) bool) (slots []time.Time) {
	newest := wallClock(from, loc)
	for t := from.Add(step); !t.After(to); t = t.Add(step) {
		wall, due := wallClock(t, loc), false
		for ; newest.Before(wall); newest = newest.Add(step) {
			due = due || match(newest.Add(step))
		}
		if due {
			slots = append(slots, t)
		}
	}
	return slots
}

// TestEveryZone compares the slots around every change of every zone's clock
// with those that a reader of the clock would count.
func TestEveryZone(t *testing.T) {
	specs := []struct {
		cron  string
		step  time.Duration
		match func(time.Time) bool
	}{
		{"*/7 * * * *", time.Minute, func(w time.Time) bool { return w.Minute()%7 == 0 }},
		{"30 0-3,23 * * *", time.Minute, func(w time.Time) bool { return w.Minute() == 30 && (w.Hour() < 4 || w.Hour() == 23) }},
		{"0 * * * *", time.Minute, func(w time.Time) bool { return w.Minute() == 0 }},
		{"*/20 */5 * * * *", 20 * time.Second, func(w time.Time) bool { return w.Minute()%5 == 0 }},
	}
	changes, slots := 0, 0
	changing := map[string]bool{}
	nth := sweep.Of(9, 1, 1)
	for i, name := range zones(t) {
		if i%nth != 0 {
			continue
		}
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		_, change := time.Date(2016, 1, 1, 0, 0, 0, 0, time.UTC).In(loc).ZoneBounds()
		for ; !change.IsZero() && change.Year() < 2031; _, change = change.ZoneBounds() {
			changes++
			changing[name] = true
			from, to := change.Add(-2*time.Hour).UTC(), change.Add(4*time.Hour).UTC()
			for _, s := range specs {
				e := mustNew(t, s.cron, name)
				want := expected(from, to, loc, s.step, s.match)
				i := 0
				for got := range e.Between(from, to) {
					if i >= len(want) || !got.Equal(want[i]) {
						t.Fatalf("%s, %s: slot %d is %s, want %v", name, s.cron, i, got, want)
					}
					i++
				}
				if i < len(want) {
					t.Fatalf("%s, %s: %d slots, want %v", name, s.cron, i, want)
				}
				slots += i
			}
		}
	}
	if changes < 2000/nth {
		t.Errorf("only %d changes", changes)
	}
	t.Logf("%d changes of the clock in %d zones from 2016 to 2030: %d slots, as a reader of the clock counts them", changes, len(changing), slots)
}
