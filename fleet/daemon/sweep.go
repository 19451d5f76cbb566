package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"rouse/fleet/store"
	"rouse/internal/clock"
	"rouse/internal/text"
)

// sweep is what a worker knows of when it looked through the store.
type sweep struct {
	hears atomic.Int64    // since when it listens, 0 while it does not
	since time.Time       // it heard of all that changed before, by the clock of the store
	told  map[string]bool // what Temporal was told of homes that is still so
}

// listen hears of homes that were pushed, moved, or for which something was ordered.
func (d *Daemon) listen(ctx context.Context) {
	for pooled := false; ctx.Err() == nil; clock.Pause(ctx, retryEvery) {
		d.sweep.hears.Store(time.Now().UnixNano())
		err := d.Store.Listen(ctx, func(id string) {
			n, _ := strconv.ParseInt(id, 10, 64)
			h, err := d.Store.HomeOf(ctx, n)
			if err == nil {
				err = d.Temporal.Signal(ctx, h.ID, h.Name, h.Needs)
			}
			if err != nil && !errors.Is(err, store.ErrNone) { // of another tenant, or nobody's
				d.sweep.hears.Store(time.Now().UnixNano()) // the next sweep makes up for it
			}
		})
		if errors.Is(err, store.ErrPooled) && !pooled {
			pooled = true
			d.Say(err.Error())
		}
	}
}

// look sweeps, and says when to do it again: the more workers there are, the later.
func (d *Daemon) look(ctx context.Context) time.Duration {
	workers, err := d.Store.Workers(ctx)
	if d.sweep.told == nil && err == nil { // what was pushed since any worker was there
		d.sweep.told = map[string]bool{}
		for _, w := range workers {
			if w.Name != d.Shown.Name && w.Seen.After(d.sweep.since) {
				d.sweep.since = w.Seen
			}
		}
	}
	if err != nil || d.through(ctx) != nil {
		return beatEvery
	}
	alive := time.Duration(0)
	for _, w := range workers {
		if time.Since(w.Seen) < time.Minute {
			alive++
		}
	}
	return max(1, alive) * sweepEvery * time.Duration(80+rand.IntN(40)) / 100
}

// through tells Temporal of homes that it has no workflow of, and of what a worker that does not
// listen would not know: orders, homes that were pulled or, while nobody listened, changed.
func (d *Daemon) through(ctx context.Context) error {
	heard := time.Now().Add(-2*retryEvery).UnixNano() > d.sweep.hears.Load()
	homes, err := d.Store.Homes(ctx)
	if err != nil {
		return err
	}
	ordered, err := d.Store.Ordered(ctx)
	if err != nil {
		return err
	}
	running, err := d.Temporal.Running(ctx)
	if err != nil {
		return err
	}
	reasons, newest := map[int64]string{}, d.sweep.since
	for _, h := range homes {
		if h.Changed.After(d.sweep.since) && !heard {
			reasons[h.ID] = fmt.Sprint("changed ", h.Epoch)
		}
		if h.Changed.After(newest) {
			newest = h.Changed
		}
	}
	for _, id := range ordered {
		reasons[id] = "ordered"
	}
	told := map[string]bool{}
	for _, h := range homes {
		why := fmt.Sprint(h.ID, " ", reasons[h.ID])
		switch {
		case out(h) && running[h.ID]:
			why = fmt.Sprint(h.ID, " out ", h.Epoch)
		case out(h) || running[h.ID] && reasons[h.ID] == "":
			continue
		case !running[h.ID]:
			err = cmp.Or(err, d.Temporal.Start(ctx, h.ID, h.Name, h.Needs))
			d.sweep.told[why] = true // it begins with a visit
		}
		if told[why] = true; !d.sweep.told[why] {
			err = cmp.Or(err, d.Temporal.Signal(ctx, h.ID, h.Name, h.Needs))
		}
	}
	if err == nil {
		d.sweep.told = told
		if heard {
			d.sweep.since = newest
		}
	}
	return err
}

// out says whether a home is on a machine for good, or on its way into the fleet for the first time.
func out(h store.Home) bool { return h.Holder != "" && h.Until == nil || h.Version == 0 }

// prune removes what need not be kept, once a day by one of all workers.
func (d *Daemon) prune(ctx context.Context) {
	for ; ctx.Err() == nil; clock.Pause(ctx, time.Hour) {
		if _, err := d.Store.PruneDaily(ctx); err != nil && ctx.Err() == nil {
			d.Say("old versions were not all removed, which a later day or rouse-fleet prune makes up for: " + text.Line(err.Error(), 500))
		}
	}
}
