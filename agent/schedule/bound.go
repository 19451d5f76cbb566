package schedule

import (
	"errors"
	"fmt"
	"time"
)

// Bound is one side of the time in which an entry holds: a date, before or after
// which it has no slots, or a time of day, before or after which no run starts.
type Bound struct {
	text string
	date time.Time
	// daily says that it is a time of day, clock after midnight.
	daily bool
	clock time.Duration
}

// parse reads 08:30, 2026-01-31, 2026-01-31T08:30 or RFC 3339. A date that is the
// end stands for the end of that day.
func (b *Bound) parse(loc *time.Location, end bool) error {
	if b.text == "" {
		return nil
	}
	if t, err := time.Parse("15:04", b.text); err == nil {
		b.daily, b.clock = true, time.Duration(t.Hour())*time.Hour+time.Duration(t.Minute())*time.Minute
		return nil
	}
	if t, err := time.Parse(time.RFC3339, b.text); err == nil {
		b.date = t
		return nil
	}
	if t, err := time.Parse("2006-01-02T15:04", b.text); err == nil {
		b.date = instant(t, loc)
		return nil
	}
	t, err := time.Parse(time.DateOnly, b.text)
	if err != nil {
		return fmt.Errorf("%q is neither a time of day (08:30) nor a date (2026-01-31, 2026-01-31T08:30)", b.text)
	}
	if end {
		t = t.AddDate(0, 0, 1)
	}
	if b.date = instant(t, loc); end {
		b.date = b.date.Add(-1)
	}
	return nil
}

func (e *Entry) checkBounds() error {
	if err := e.NotBefore.parse(e.loc, false); err != nil {
		return fmt.Errorf("not_before %w", err)
	}
	if err := e.NotAfter.parse(e.loc, true); err != nil {
		return fmt.Errorf("not_after %w", err)
	}
	from, to := e.NotBefore, e.NotAfter
	switch {
	case !from.date.IsZero() && !to.date.IsZero() && to.date.Before(from.date):
		return errors.New("not_after is before not_before")
	case from.daily && to.daily && from.clock == to.clock:
		return errors.New("not_before and not_after are the same")
	}
	return nil
}

// Open says whether a run may start at this time of day. Bounds such as 22:00 and
// 06:00 mean the night.
func (e Entry) Open(t time.Time) bool {
	wall := wallClock(t, e.loc)
	clock := wall.Sub(wall.Truncate(24 * time.Hour))
	from, to := e.NotBefore, e.NotAfter
	after, before := !from.daily || clock >= from.clock, !to.daily || clock <= to.clock
	if from.daily && to.daily && from.clock > to.clock {
		return after || before
	}
	return after && before
}
