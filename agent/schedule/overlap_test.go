package schedule

import (
	"strings"
	"testing"
)

func TestOverlap(t *testing.T) {
	for overlap, want := range map[string]string{
		OverlapSkip:  "10:00 ran, 10:01 skipped overlap, 10:02 skipped overlap, 10:03 ran",
		OverlapQueue: "10:00 ran, 10:01 skipped overlap, 10:02 late, 10:03 waiting",
	} {
		d := newDesk(t, "2026-01-01T09:59:30Z")
		l := List{mustNew(t, "* * * * *", "UTC", func(e *Entry) { e.Overlap = overlap })}
		d.due("", l, nil)
		a, _ := d.due("2026-01-01T10:00:01Z", l, nil)
		for _, now := range []string{"2026-01-01T10:01:01Z", "2026-01-01T10:02:01Z"} {
			_, got := d.due(now, l, nil)
			d.want(got, "nothing")
		}
		d.settle(a)
		if b, got := d.due("2026-01-01T10:02:50Z", l, nil); overlap == OverlapQueue {
			d.want(got, "10:02 ran") // within a minute and a half
			_, got = d.due("2026-01-01T10:03:01Z", l, nil)
			d.want(got, "nothing")
			d.settle(b)
			d.want(d.ends(), strings.Replace(want, "late", "ran", 1))
			continue
		}
		a, got := d.due("2026-01-01T10:03:01Z", l, nil)
		d.want(got, "10:03 ran")
		d.settle(a)
		d.want(d.ends(), want)
	}
}

// TestLook has the awake cycle itself look for the slots that come due.
func TestLook(t *testing.T) {
	for overlap, want := range map[string]string{
		OverlapSkip:    "10:00 ran, 10:01 skipped overlap, 10:02 skipped overlap",
		OverlapReplace: "10:00 ran, 10:01 skipped overlap, 10:02 waiting",
	} {
		d := newDesk(t, "2026-01-01T09:59:30Z")
		l := List{mustNew(t, "* * * * *", "UTC", func(e *Entry) { e.Overlap = overlap })}
		d.due("", l, nil)
		a, _ := d.due("2026-01-01T10:00:01Z", l, nil)
		for _, now := range []string{"10:00:59", "10:01:31", "10:01:40", "10:02:31"} {
			d.time = at(t, "2026-01-01T"+now+"Z")
			replaced, err := a.Look()
			if comes := strings.HasSuffix(now, ":31"); err != nil || replaced != (comes && overlap == OverlapReplace) {
				t.Errorf("%s at %s: replaced %v, %v", overlap, now, replaced, err)
			}
		}
		d.settle(a)
		d.want(d.ends(), want)
	}
}
