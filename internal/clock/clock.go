// Package clock is the seam through which Rouse tells the time: a field Now wherever
// it matters, which tests set.
package clock

import "time"

// Now is the time by a clock; nil is the machine's.
func Now(clock func() time.Time) time.Time {
	if clock == nil {
		return time.Now()
	}
	return clock()
}
