package schedule

import (
	"testing"
	"time"
)

func TestMissedNight(t *testing.T) {
	for missed, want := range map[string]string{
		MissedSkip:   "10:00 ran, 11:00 missed x8, 19:00 missed",
		MissedLatest: "10:00 ran, 11:00 missed x8, 19:00 caught_up",
		MissedAll:    "10:00 ran, 11:00 missed x3, 14:00 caught_up, 15:00 caught_up, 16:00 caught_up, 17:00 caught_up, 18:00 caught_up, 19:00 caught_up",
	} {
		d := newDesk(t, "2026-01-01T09:30:00Z")
		l := List{mustNew(t, "0 * * * *", "UTC", func(e *Entry) { e.Missed, e.MissedWindow = missed, 6*time.Hour })}
		d.due("", l, nil)
		a, _ := d.due("2026-01-01T10:00:30Z", l, nil)
		d.settle(a)
		d.all("2026-01-01T19:40:00Z", l)
		d.want(d.ends(), want)
	}
}

// TestNightAfterWaiting has a slot wait for another entry's cycle, and then a
// night pass: what waited is accounted for, too.
func TestNightAfterWaiting(t *testing.T) {
	for missed, want := range map[string]string{
		MissedSkip:   "10:00 unknown, 10:05 skipped overlap, 11:05 missed x23, 10:05 missed",
		MissedLatest: "10:00 unknown, 10:05 skipped overlap, 11:05 missed x23, 10:05 caught_up",
		MissedAll:    "10:00 unknown, 10:05 missed, 11:05 missed x21, 08:05 caught_up, 09:05 caught_up, 10:05 caught_up",
	} {
		d := newDesk(t, "2026-01-01T09:58:30Z")
		l := List{
			mustNew(t, "0 10 1 1 *", "UTC"),
			mustNew(t, "5 * * * *", "UTC", func(e *Entry) { e.Missed, e.MissedWindow = missed, 3*time.Hour }),
		}
		d.due("", l, nil)
		d.due("2026-01-01T10:00:00Z", l, nil)
		d.due("2026-01-01T10:05:00Z", l, nil) // waits
		d.dead[1] = true
		d.self.PID = 2
		d.all("2026-01-02T10:40:00Z", l)
		d.want(d.ends(), want)
	}
}

// TestCompactedOutOfOrder has lines that are not in the order of their slots:
// counted together they still reach from the first slot to the last.
func TestCompactedOutOfOrder(t *testing.T) {
	line := func(slot string) Record {
		return Record{Event: eventSlot, Entry: "e", Slot: at(t, slot), Status: Missed}
	}
	got := compact([]Record{line("2026-01-01T12:00:00Z"), line("2026-01-01T00:00:00Z"), line("2026-01-01T06:00:00Z")}, 0)
	if len(got) != 1 || got[0].Count != 3 || got[0].Slot.Hour() != 0 || got[0].Last.Hour() != 12 {
		t.Errorf("%+v", got)
	}
}

// all runs what is due at a time, one slot after another.
func (d *desk) all(at string, l List) {
	for range 20 {
		a, got := d.due(at, l, nil)
		if got == "nothing" {
			return
		}
		d.settle(a)
	}
}
