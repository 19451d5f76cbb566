package schedule

import (
	"fmt"
	"time"
	_ "time/tzdata" // 450 KB, so that a zone is known where the machine has no list of zones
)

// zone finds a time zone by its IANA name; "" is the machine's.
func zone(name string) (*time.Location, error) {
	if name == "" {
		return time.Local, nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("timezone %q is not known; use a name such as Europe/Berlin or UTC", name)
	}
	return loc, nil
}

// wallClock is what a clock in the zone shows, written as if it were UTC.
func wallClock(t time.Time, loc *time.Location) time.Time {
	_, offset := t.In(loc).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// instant is when a clock in the zone shows wall: the first time where it shows
// that twice, and where it never does, the moment at which it is put forward. So
// instant never falls as wall rises.
func instant(wall time.Time, loc *time.Location) time.Time {
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, loc)
	start, end := t.ZoneBounds()
	switch shown := wallClock(t, loc); {
	case shown.After(wall):
		return start
	case shown.Before(wall):
		return end
	case start.IsZero():
		return t
	}
	_, before := start.Add(-1).Zone()
	if first := wall.Add(-time.Duration(before) * time.Second); first.Before(start) {
		return first.In(loc)
	}
	return t
}
