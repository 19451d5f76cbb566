// Package clock is the seam through which Rouse tells the time: a field Now wherever
// it matters, which tests set.
package clock

import (
	"context"
	"time"
)

// Now is the time by a clock; nil is the machine's.
func Now(clock func() time.Time) time.Time {
	if clock == nil {
		return time.Now()
	}
	return clock()
}

// Pause waits, and says whether it came to its end before that of the context.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
