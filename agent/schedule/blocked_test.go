package schedule

import (
	"fmt"
	"testing"
)

// told gives the incident of each line about a slot of a minute that is written.
func (d *desk) told() func() string {
	var all []string
	d.Wrote = func(lines []Record) {
		for _, r := range lines {
			if b := r.Blocked; b != nil && r.Status != Running {
				all = append(all, fmt.Sprintf("%s: %d since %s", r.Slot.UTC().Format("15:04"), b.Slots, b.Since.UTC().Format("15:04")))
			}
		}
	}
	return func() string {
		got := fmt.Sprint(all)
		all = nil
		return got
	}
}

// Promise: blocked for longer than two slots is an incident, from its third slot
// until a cycle has woken, whether slots are skipped or wait, and however often one
// that waits is tried; but not before a quarter of an hour has passed.
func TestBlockedByWhoHoldsTheLock(t *testing.T) {
	for _, overlap := range []string{OverlapSkip, OverlapQueue, OverlapReplace} {
		d := newDesk(t, "2026-01-01T09:59:30Z")
		told := d.told()
		l := List{mustNew(t, "*/10 * * * *", "UTC", func(e *Entry) { e.Overlap = overlap })}
		d.due("", l, nil)
		try := func(now string, res Result) {
			t.Helper()
			if a, _ := d.due("2026-01-01T"+now+":01Z", l, nil); a != nil {
				if err := a.Settle(res); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, now := range []string{"10:00", "10:01", "10:04", "10:10", "10:11"} {
			try(now, Result{Awake: true})
		}
		d.want(told(), "[]")
		if sum, err := d.Summary(l); err != nil || sum.Blocked != nil {
			t.Errorf("after two slots: %v, %v", sum.Blocked, err)
		}
		try("10:20", Result{Awake: true})
		sum, err := d.Summary(l)
		if err != nil || sum.Blocked == nil || fmt.Sprint(sum.Blocked.Slots, sum.Blocked.Since.UTC().Format(" 15:04")) != "3 10:00" {
			t.Errorf("after three slots: %v, %v", sum.Blocked, err)
		}
		if told() == "[]" {
			t.Errorf("%s: the third slot tells nothing", overlap)
		}
		try("10:30", Result{Cycle: "20260101_103001"})
		if got := told(); overlap == OverlapQueue {
			d.want(got, "[10:20: 3 since 10:00 10:30: 3 since 10:00]")
		} else {
			d.want(got, "[10:30: 3 since 10:00]")
		}
		for _, now := range []string{"10:40", "10:50"} {
			try(now, Result{Awake: true})
		}
		d.want(told(), "[]")
	}
}

// A cycle of the schedule that stays awake for too long is such an incident too,
// and the ledger says whose it is.
func TestBlockedByACycleOfASlot(t *testing.T) {
	d := newDesk(t, "2026-01-01T09:59:30Z")
	told := d.told()
	l := List{mustNew(t, "* * * * *", "UTC")}
	d.due("", l, nil)
	a, _ := d.due("2026-01-01T10:00:01Z", l, nil)
	for m := 1; m <= 17; m++ {
		d.due(fmt.Sprintf("2026-01-01T10:%02d:01Z", m), l, nil)
	}
	d.want(told(), "[10:16: 16 since 10:01 10:17: 17 since 10:01]")
	slots, err := d.Slots()
	if err != nil || len(slots) == 0 {
		t.Fatal(slots, err)
	}
	d.want(slots[len(slots)-1].Error, "blocked since 2026-01-01T10:01:00Z: the cycle of the slot of 2026-01-01T10:00:00Z is awake, pid 1")
	d.settle(a)
	d.want(told(), "[10:00: 17 since 10:01]")
	a, _ = d.due("2026-01-01T10:18:01Z", l, nil)
	d.settle(a)
	d.want(told(), "[]")
}

// A home that wakes each minute and whose cycles take four is as it should be:
// nothing is told, however often that is so.
func TestLongCyclesAreNotBlocked(t *testing.T) {
	d := newDesk(t, "2026-01-01T09:59:30Z")
	told := d.told()
	l := List{mustNew(t, "* * * * *", "UTC")}
	d.due("", l, nil)
	for m := 0; m < 40; m += 4 {
		a, _ := d.due(fmt.Sprintf("2026-01-01T10:%02d:01Z", m), l, nil)
		for i := 1; i < 4; i++ {
			d.due(fmt.Sprintf("2026-01-01T10:%02d:01Z", m+i), l, nil)
		}
		d.settle(a)
	}
	d.want(told(), "[]")
}

// What is skipped for another reason neither counts nor ends it; to say that
// nobody is in the way any more does.
func TestBlockedThenIdle(t *testing.T) {
	d := newDesk(t, "2026-01-01T09:59:30Z")
	told := d.told()
	l := List{mustNew(t, "* * * * *", "UTC")}
	d.due("", l, nil)
	for _, now := range []string{"10:00", "10:01", "10:15"} {
		a, _ := d.due("2026-01-01T"+now+":01Z", l, nil)
		if err := a.Settle(Result{Awake: true}); err != nil {
			t.Fatal(err)
		}
	}
	d.want(told(), "[10:15: 3 since 10:00]")
	gate := func(Slot) (string, string) { return "idle", "" }
	d.due("2026-01-01T10:16:01Z", l, gate)
	d.want(told(), "[10:16: 3 since 10:00]")
	if err := d.Free(); err != nil {
		t.Fatal(err)
	}
	d.due("2026-01-01T10:17:01Z", l, gate)
	d.want(told(), "[]")
	if sum, err := d.Summary(l); err != nil || sum.Blocked != nil {
		t.Errorf("%v, %v", sum.Blocked, err)
	}
}

// Slots that nobody was there for and that are made up for one by one are not
// blocked: a cycle wakes between any two.
func TestCatchingUpIsNotBlocked(t *testing.T) {
	d := newDesk(t, "2026-01-01T09:59:30Z")
	told := d.told()
	l := List{mustNew(t, "*/5 * * * *", "UTC", func(e *Entry) { e.Missed = MissedAll })}
	d.due("", l, nil)
	for _, now := range []string{"11:00", "11:01", "11:02", "11:05"} {
		a, _ := d.due("2026-01-01T"+now+":01Z", l, nil)
		d.settle(a)
	}
	d.want(told(), "[]")
}
