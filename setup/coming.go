package setup

import (
	"slices"
	"strings"
	"time"

	"rouse/agent/schedule"
	"rouse/internal/disk"
)

// Coming is a slot to come, and what would keep it from its cycle if all else stays as it is.
type Coming struct {
	Time       time.Time
	Cron, Task string
	Reason     string // as that of a slot that was skipped, "" for none
	Why        string
}

// Coming are the next slots of the schedule, of each of which is said what [Setup.Gate] would.
func (s *Setup) Coming(limit int) (list []Coming) {
	now := s.Now()
	for _, e := range s.Config.Schedule {
		reason, why := s.Gate(schedule.Slot{Cron: e.Cron, Time: e.Next(now), Task: e.Task, IdleSkip: e.IdleSkip})
		until, awake := s.keeps(reason, why), e.Overlap == schedule.OverlapSkip && disk.Holder(s.Home.Memory()) != 0
		n := 0
		for t := range e.Between(now, now.AddDate(1, 0, 0)) {
			c := Coming{Time: t, Cron: e.Cron, Task: e.Task}
			switch {
			case !e.Open(t):
				c.Reason, c.Why = schedule.ReasonWindow, "outside of not_before and not_after"
			case reason != "" && (until.IsZero() || t.Before(until)):
				c.Reason, c.Why = reason, why
			case awake && n == 0:
				c.Reason, c.Why = schedule.ReasonOverlap, "a cycle is awake: if it still is then"
			}
			if list, n = append(list, c), n+1; n == limit {
				break
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Coming) int { return a.Time.Compare(b.Time) })
	return list[:min(limit, len(list))]
}

// keeps is until when a reason holds that ends by itself, zero for the others.
func (s *Setup) keeps(reason, why string) time.Time {
	y, m, d := s.Now().Local().Date()
	switch {
	case reason == "failures":
		until, _ := s.rest()
		return until
	case reason == "budget" && strings.HasPrefix(why, "day_"):
		return time.Date(y, m, d+1, 0, 0, 0, 0, time.Local)
	case reason == "budget" && strings.HasPrefix(why, "month_"):
		return time.Date(y, m+1, 1, 0, 0, 0, 0, time.Local)
	}
	return time.Time{}
}
