package main

import (
	"fmt"
	"strings"
	"time"

	"rouse/internal/text"
	"rouse/setup"
)

// printStanding shows how a home stands that is left alone, a row each.
func printStanding(s setup.Standing, out screen, now time.Time, row func(name, value string)) {
	if s.LastSlot != nil {
		row("last slot", slotLine(*s.LastSlot, out))
	}
	for i, slot := range s.Slots {
		if i == shownSlots {
			row("", fmt.Sprintf("and %d more like these: rouse slots --all", len(s.Slots)-i))
			break
		}
		if l := s.LastSlot; l == nil || !l.Slot.Equal(slot.Slot) || l.Cron != slot.Cron {
			row("not run", slotLine(slot, out))
		}
	}
	if s.NextSlot != nil {
		by := ""
		if s.NextWake != nil && s.NextWake.Equal(*s.NextSlot) {
			by = " (asked for by a cycle)"
		}
		if a := s.Again; a != nil && a.Again.Equal(*s.NextSlot) {
			by = fmt.Sprintf(" (attempt %d of the slot of %s)", max(a.Attempt, 1)+1, a.Slot.Format("2006-01-02 15:04:05 -0700"))
		}
		when := s.NextSlot.Local().Format("2006-01-02 15:04:05 -0700")
		if !s.NextSlot.After(now) {
			when = "now"
		}
		row("next slot", when+by)
	}
	for _, u := range s.Limits {
		row("limit", fmt.Sprintf("%s: %s of %s used", u.Name, u.Used, u.Limit))
	}
	if s.Disk != nil && s.Disk.Cycles > 0 {
		row("disk", fmt.Sprintf("%d cycles: logs %s, snapshots %s", s.Disk.Cycles, megabytes(s.Disk.Logs), megabytes(s.Disk.Snapshots)))
	}
	row("kept", s.Kept.String())
	for _, l := range s.Leftovers {
		line := fmt.Sprintf("pid %d (%s), which the killed cycle %s left, still runs; end it with rouse reap", l.PID, text.Line(l.Name, 40), l.Cycle)
		row("attention", out.paint(red, line))
	}
	for _, u := range s.Undelivered {
		how := u.Status
		if u.Error != "" {
			how += ", " + strings.TrimRight(u.Error, ": ")
		}
		line := fmt.Sprintf("not told by %s (%s): %s: %s", u.Sink, how, u.Kind, u.Text)
		row("attention", out.paint(red, text.Line(line, 300)))
	}
	for _, p := range s.Problems {
		row("attention", out.paint(red, text.Line(p, 300)))
	}
}

// shownSlots is how many slots are shown that did not just run.
const shownSlots = 8

func megabytes(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", (n+1023)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
