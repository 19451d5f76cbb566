package store

import (
	"context"
	"fmt"
	"time"

	"rouse/internal/clock"
)

// How far a clock may be off: before that is said, and before homes would wake at wrong times.
// An answer that takes longer says nothing of a clock.
const (
	slightly = 5 * time.Second
	wrong    = time.Minute
)

// Ahead is how far a clock, nil for the machine's, is ahead of the store's, which answers in the
// midst of the question.
func (s *Store) Ahead(ctx context.Context, now func() time.Time) (time.Duration, error) {
	var at time.Time
	asked := clock.Now(now).Round(0) // by what is measured alone: a machine may sleep meanwhile
	err := s.conn.QueryRow(ctx, `select clock_timestamp()`).Scan(&at)
	took := clock.Now(now).Sub(asked)
	if err == nil && took.Abs() > slightly {
		return 0, fmt.Errorf("the store took %s to tell the time", took)
	}
	return asked.Add(took / 2).Sub(at), told(err)
}

// ClockOff says of a clock that it is off, "" where it is not, and whether homes cannot be woken by it.
func ClockOff(ahead time.Duration) (said string, bad bool) {
	if ahead.Abs() <= slightly {
		return "", false
	}
	word := "ahead of"
	if ahead < 0 {
		word = "behind"
	}
	return fmt.Sprintf("the clock here is %s %s the store's: set the one that is wrong, best by NTP (timedatectl set-ntp true)", ahead.Abs().Round(time.Second), word), ahead.Abs() > wrong
}
