package daemon

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"rouse/internal/clock"
)

// Alone looks whether another worker of this name is alive: two would take each other's leases for
// ever. Where one was seen just now it waits for its next beat (0 is how often a [Daemon] tells),
// as that may be this one before it was killed. Where the store does not answer nothing is known.
func (d *Daemon) Alone(ctx context.Context, beat time.Duration) error {
	beat = cmp.Or(beat, beatEvery)
	was, there := d.other(ctx)
	if !there || time.Since(was) > beat*3/2 {
		return nil
	}
	d.Say(fmt.Sprintf("a worker %s was seen %s ago; waiting whether it is alive", d.Shown.Name, time.Since(was).Round(time.Second)))
	for end := time.Now().Add(beat * 6 / 5); time.Now().Before(end) && clock.Pause(ctx, beat/20); {
		if is, there := d.other(ctx); there && is.After(was) {
			return fmt.Errorf("another worker %s is alive: give this one a name of its own by --name, or end that one first", d.Shown.Name)
		}
	}
	return ctx.Err()
}

// other says when the worker of this name was seen, which is another one as this has not begun.
func (d *Daemon) other(ctx context.Context) (seen time.Time, there bool) {
	all, _ := d.Store.Workers(ctx)
	for _, w := range all {
		if w.Name == d.Shown.Name {
			return w.Seen, true
		}
	}
	return seen, false
}
