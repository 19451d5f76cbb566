// Package daemon is a worker of a fleet as a process that stays. Temporal says to it which homes to
// visit, and it sees to it that Temporal knows of every home and of what was ordered: it listens to
// the store, and looks through it now and then. Where either is away it says so once, and goes on
// when it is back.
package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"rouse/agent/notify"
	"rouse/agent/telemetry"
	"rouse/fleet/flow"
	"rouse/fleet/store"
	"rouse/internal/clock"
	"rouse/internal/text"
)

// Every so often a worker tells the store that it is there, looks through it (times the number of
// workers, as they all do), and tries again what is away. So long what is well takes to answer.
const (
	beatEvery  = 10 * time.Second
	sweepEvery = 15 * time.Second
	retryEvery = 5 * time.Second
	answer     = 5 * time.Second
)

// Daemon is one. Its fields are set once.
type Daemon struct {
	Store    *store.Store
	Temporal *flow.Temporal
	Waker    flow.Waker
	Shown    store.Worker // how the store has it: its name, labels, program, and where it listens
	Homes    int          // so many are awake at once
	Say      func(line string)
	// Now is the clock that homes wake by, nil for the machine's, and Heartbeat who is told each
	// minute how the worker and the homes are.
	Now       func() time.Time
	Heartbeat notify.Heartbeat

	worker   flow.Worker
	mu       sync.Mutex
	stored   part
	timed    part
	clocked  part
	watched  part                 // who hears the heartbeat
	ahead    time.Duration        // how far the clock is
	hinted   bool                 // that it is off
	toldOK   bool                 // how the worker was, as the watcher knows
	amiss    map[string]time.Time // what is, by name, since when
	beaten   time.Time
	draining bool
	sums     telemetry.Sums
	failing  map[string]bool // homes whose last visit failed
	sweep    sweep
}

// part is something that the worker needs.
type part struct {
	name, gone, back string
	is               string // "ok", what is wrong with it, or "" before it was asked
}

// Run works until ctx ends or the store says to drain, and then until no home is awake. The end
// of life ends visits, too.
func (d *Daemon) Run(ctx, life context.Context) error {
	const away, back = "is away, this worker goes on when it is back", "is back"
	d.stored, d.timed = part{name: "the store", gone: away, back: back}, part{name: "Temporal", gone: away, back: back}
	d.clocked = part{name: "the clock", gone: "is wrong, this worker takes no homes until it is right", back: "is right again"}
	d.watched = part{name: "the heartbeat", gone: "is not heard", back: "is heard again"}
	d.sums, d.failing = telemetry.Sums{}, map[string]bool{}
	d.worker = flow.Worker{Waker: d.Waker, Name: d.Shown.Name, Labels: d.Shown.Labels, Homes: d.Homes, Told: d.told}
	d.worker.Hold(true) // until the clock was looked at
	ended, err := d.serve()
	if err != nil {
		return err
	}
	defer ended()
	working, drain := context.WithCancel(ctx)
	beating, end := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	all.Go(func() { d.listen(working) })
	all.Go(func() { d.beat(beating, working, drain) })
	all.Go(func() { d.prune(working) })
	d.work(working, life)
	drain()
	end()
	all.Wait()
	gone, cancel := context.WithTimeout(context.WithoutCancel(ctx), answer)
	defer cancel()
	_ = d.Store.Gone(gone, d.Shown.Name) // where the store is away, it is seen to be gone
	return nil
}

// work visits homes while Temporal is there.
func (d *Daemon) work(ctx, life context.Context) {
	for ctx.Err() == nil {
		err := d.check(ctx)
		if err == nil {
			err = d.Temporal.Work(ctx, life, &d.worker)
		}
		if err != nil { // else it is the end
			d.note(&d.timed, err)
		}
		clock.Pause(ctx, retryEvery)
	}
}

func (d *Daemon) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	return d.Temporal.Check(ctx)
}

// note keeps how something is that the worker needs, and says so where that is news.
func (d *Daemon) note(p *part, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	was := p.is
	if p.is = "ok"; err != nil {
		p.is = text.Line(err.Error(), 500)
	}
	switch {
	case err != nil && (was == "ok" || was == ""):
		d.Say(p.name + " " + p.gone + ": " + p.is)
	case err == nil && was != "ok" && was != "":
		d.Say(p.name + " " + p.back)
	}
}

// told hears of a visit that is over.
func (d *Daemon) told(home string, took time.Duration, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sums.Add(visits, 1)
	d.sums.Add(seconds, took.Seconds())
	if err == nil {
		delete(d.failing, home)
		return
	}
	d.sums.Add(failures, 1)
	if errors.Is(err, store.ErrLost) {
		d.sums.Add(lost, 1)
	}
	if !d.failing[home] {
		d.Say(home + " is tried again until it comes off: " + text.Line(err.Error(), 500))
	}
	d.failing[home] = true
}

// beat tells the store that the worker is there, hears from it whether to drain, and looks whether
// Temporal is there, and the clock right. Now and then it sweeps.
func (d *Daemon) beat(ctx, working context.Context, drain func()) {
	for next, tell := time.Now(), time.Now(); ctx.Err() == nil; clock.Pause(ctx, beatEvery) {
		w := d.Shown
		w.Awake, w.Draining = d.worker.Awake(), working.Err() != nil
		asked, cancel := context.WithTimeout(ctx, answer)
		told, err := d.Store.Beat(asked, w)
		if ahead, none := d.Store.Ahead(asked, d.Now); err == nil && none == nil {
			d.clock(ahead)
		}
		cancel()
		if d.note(&d.stored, err); err == nil {
			d.mu.Lock()
			d.beaten, d.draining = time.Now(), told
			d.mu.Unlock()
		}
		if told && !w.Draining {
			d.Say("this worker was told to take no more homes, and ends when none is awake")
			drain()
		}
		if d.note(&d.timed, d.check(ctx)); d.Heartbeat.Target != "" {
			tell = d.tell(ctx, working.Err() != nil, tell)
		}
		if working.Err() == nil && time.Now().After(next) {
			next = time.Now().Add(d.look(working))
		}
	}
}
