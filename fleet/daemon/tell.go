package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"rouse/fleet/store"
	"rouse/internal/text"
)

// The watcher is told how all is each minute, of what was amiss for a while, as much mends itself.
const (
	tellEvery = time.Minute
	lasting   = 3 * time.Minute
	mostTold  = 10 // lines
)

// clock hears how far the clock is ahead. One that is wrong lets homes sleep or wake too soon.
func (d *Daemon) clock(ahead time.Duration) {
	said, bad := store.ClockOff(ahead)
	var err error
	if bad {
		err = errors.New(said)
	}
	d.note(&d.clocked, err)
	d.worker.Hold(bad)
	d.mu.Lock()
	defer d.mu.Unlock()
	if said != "" && !bad && !d.hinted {
		d.Say(said)
	}
	d.ahead, d.hinted = ahead, said != ""
}

// tell tells the watcher how all is, where it is time to or the worker itself changed, and says
// when to again. One that is to end raises no alarm.
func (d *Daemon) tell(ctx context.Context, ends bool, next time.Time) time.Time {
	d.mu.Lock()
	ok := d.ok()
	d.mu.Unlock()
	if ok == d.toldOK && time.Now().Before(next) {
		return next
	}
	why, err := d.ill(ctx), error(nil)
	switch {
	case len(why) == 0:
		err = d.Heartbeat.Alive()
	case !ends:
		err = d.Heartbeat.Failed("worker " + d.Shown.Name + "\n" + strings.Join(why, "\n") + "\n")
	}
	d.note(&d.watched, err)
	d.toldOK = ok
	return time.Now().Add(tellEvery)
}

// ill is what was amiss for a while, a line each: what the worker needs, and homes that it is not
// told of by themselves.
func (d *Daemon) ill(ctx context.Context) (lines []string) {
	now, amiss := time.Now(), map[string]time.Time{}
	add := func(name, why string) {
		amiss[name] = now
		if since, was := d.amiss[name]; was {
			amiss[name] = since
		}
		if now.Sub(amiss[name]) >= lasting {
			lines = append(lines, name+": "+text.Line(why, 300))
		}
	}
	asked, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	homes, err := d.Store.Homes(asked)
	d.mu.Lock()
	for _, p := range []part{d.stored, d.timed, d.clocked} {
		if p.is != "ok" {
			add(p.name, cmp.Or(p.is, "not looked at yet"))
		}
	}
	d.mu.Unlock()
	if err != nil {
		add("its homes", err.Error())
	}
	for _, h := range homes {
		if why := h.Stuck(now); why != "" && !out(h) {
			add(h.Name, why)
		}
	}
	if d.amiss = amiss; len(lines) > mostTold {
		lines = append(lines[:mostTold], fmt.Sprintf("and %d more", len(lines)-mostTold))
	}
	return lines
}
