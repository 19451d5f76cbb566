package dispatcher

import (
	"encoding/json"
	"time"
)

// Wishes are what the model asks for beside its memory, and what it may ask for.
type Wishes struct {
	// WakeMin and WakeMax bound how long after its sleep a cycle may ask to be
	// woken; a WakeMax of 0 allows it not at all.
	WakeMin, WakeMax time.Duration
	// NextWake is how long after its sleep the cycle asks to be woken: nil where it
	// does not, 0 where it takes back what an earlier one asked for.
	NextWake *time.Duration
	// Idle says that the cycle found nothing to do, and that nothing is pending.
	Idle bool
}

// nextWake is the key of update_scratchpad that is a wish, and no key of the state.
const nextWake = "next_wake"

// readWake reads a wish. "" and null take an earlier one back.
func (w Wishes) readWake(raw json.RawMessage) (*time.Duration, error) {
	var text *string
	var after time.Duration
	err := json.Unmarshal(raw, &text)
	if err == nil && (text == nil || *text == "") {
		return &after, nil
	}
	if err == nil {
		after, err = time.ParseDuration(*text)
	}
	switch {
	case w.WakeMax <= 0:
		return nil, refusef("next_wake: the operator does not allow it (cycle.next_wake); nothing was changed")
	case err != nil:
		return nil, refusef(`next_wake: %s is not a length of time; write "20m" or "2h", or "" to take it back; nothing was changed`, raw)
	case after < w.WakeMin || after > w.WakeMax:
		return nil, refusef("next_wake: %s is not between %s and %s (cycle.next_wake); nothing was changed", after, w.WakeMin, w.WakeMax)
	}
	return &after, nil
}

// wakeText says what became of a wish.
func wakeText(after time.Duration) string {
	if after == 0 {
		return "next_wake: taken back"
	}
	return "next_wake: " + after.String() + " after this cycle sleeps"
}
