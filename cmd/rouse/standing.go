package main

import (
	"fmt"
	"strings"

	"rouse/internal/text"
	"rouse/setup"
)

// printStanding shows how a home stands that is left alone, a row each.
func printStanding(s setup.Standing, out screen, row func(name, value string)) {
	if s.LastSlot != nil {
		row("last slot", slotLine(*s.LastSlot, out))
	}
	if s.NextSlot != nil {
		by := ""
		if s.NextWake != nil && s.NextWake.Equal(*s.NextSlot) {
			by = " (asked for by a cycle)"
		}
		if a := s.Again; a != nil && a.Again.Equal(*s.NextSlot) {
			by = fmt.Sprintf(" (attempt %d of the slot of %s)", max(a.Attempt, 1)+1, a.Slot.Format("2006-01-02 15:04:05 -0700"))
		}
		row("next slot", s.NextSlot.Local().Format("2006-01-02 15:04:05 -0700")+by)
	}
	for _, u := range s.Limits {
		row("limit", fmt.Sprintf("%s: %s of %s used", u.Name, u.Used, u.Limit))
	}
	if s.Disk != nil && s.Disk.Cycles > 0 {
		row("disk", fmt.Sprintf("%d cycles: logs %s, snapshots %s", s.Disk.Cycles, megabytes(s.Disk.Logs), megabytes(s.Disk.Snapshots)))
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

func megabytes(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", (n+1023)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
