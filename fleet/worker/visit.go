package worker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"rouse/fleet/checkout"
	"rouse/fleet/share"
	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/clock"
	"rouse/internal/disk"
	"rouse/internal/mirror"
	"rouse/internal/text"
	"rouse/setup"
)

// visit is one that is under way.
type visit struct {
	*Worker
	home   store.Home
	lease  store.Lease
	folder *checkout.Folder

	ctx    context.Context // ends with the lease
	lose   context.CancelCauseFunc
	settle func() // ends the renewals, of which none is under way then

	restored bool        // what a cycle elsewhere left is to be settled
	soon     bool        // there is more to be done
	ran      bool        // rouse was started, and
	heard    atomic.Bool // it handed something over
	stuck    bool        // rouse could do nothing
	full     time.Time   // until when the fleet's limits leave no room for a cycle
	problem  string
	watched  []string // files and folders, after it
}

// errExpired says that the lease ended as the store could not be reached.
var errExpired = errors.New("the lease ended, as the store could not be reached in time")

func (w *Worker) newVisit(ctx context.Context, h store.Home, l store.Lease, sent time.Time) *visit {
	v := &visit{Worker: w, home: h, lease: l, folder: w.checkout(h.Name)}
	v.ctx, v.lose = context.WithCancelCause(context.WithoutCancel(ctx))
	renewing, cancel := context.WithCancel(v.ctx)
	expire := time.AfterFunc(time.Until(sent.Add(w.ttl())), func() { v.lose(errExpired) })
	var wg sync.WaitGroup
	wg.Go(func() { v.renew(renewing, expire) })
	v.settle = func() { cancel(); wg.Wait() }
	context.AfterFunc(v.ctx, func() { expire.Stop() })
	return v
}

// renew puts off the end of the lease, of which the worker's clock counts from before it asked.
func (v *visit) renew(ctx context.Context, expire *time.Timer) {
	for wait := v.ttl() / 3; clock.Pause(ctx, wait); {
		sent := time.Now()
		asked, cancel := context.WithTimeout(ctx, v.ttl()/3)
		err := v.Store.Renew(asked, v.lease, v.ttl())
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, store.ErrLost):
			v.lose(err)
			return
		case err != nil:
			wait = v.ttl() / 30
		case expire.Stop():
			expire.Reset(time.Until(sent.Add(v.ttl())))
			wait = v.ttl() / 3
		}
	}
}

// visit is what is done under the lease. Where it fails, the home is let go with the problem.
func (v *visit) visit(drain context.Context) (Next, error) {
	next, err := v.do(drain)
	if cause := context.Cause(v.ctx); err != nil && cause != nil {
		err = cause
	}
	switch {
	case err == nil:
		return next, nil
	case errors.Is(err, store.ErrLost):
		if failed := v.folder.Overtaken(); failed != nil {
			v.log("%s: %v", v.home.Name, failed)
		}
		v.told()
		v.watched = nil
		return in(0), fmt.Errorf("%s: %w", v.home.Name, err)
	case errors.Is(err, errExpired):
		v.log("%s: %v", v.home.Name, err)
		return in(0), fmt.Errorf("%s: %w", v.home.Name, err)
	}
	err = disk.Full(err, v.Dir)
	v.log("%s: %v", v.home.Name, err)
	v.settle()
	st := v.home.State
	st.Problem = text.Line(err.Error(), 1000)
	if err := v.Store.Commit(v.ctx, v.lease, store.Version{State: &st}); err != nil { // it ends by itself
		v.log("%s: %v", v.home.Name, err)
	}
	return in(awhile), nil
}

// told tells of a folder that was overtaken.
func (v *visit) told() {
	if v.folder.Moved {
		v.problem = fmt.Sprintf("%s was overtaken on %s: what it had and nobody else is in %s", v.home.Name, v.Name, v.Lost(v.home.Name))
		v.log("%s", v.problem)
	}
}

func (v *visit) do(drain context.Context) (Next, error) {
	if v.folder.Ours(v.lease, v.home.Version) {
		v.log("%s: a visit of this worker's was killed: what it came to is committed as it is", v.home.Name)
		v.soon = true
		return v.commit(nil)
	}
	if err := v.current(); err != nil {
		return Next{}, err
	}
	v.told()
	bare := v.bare()
	if bare != nil {
		v.problem = bare.Error()
	}
	orders, err := v.Store.Orders(v.ctx, v.home.ID)
	switch {
	case err != nil:
		return Next{}, err
	case len(orders) > 0 && !v.restored:
		done, err := v.orders(drain, orders)
		if err != nil {
			return Next{}, err
		}
		v.soon = len(done) < len(orders)
		return v.commit(done)
	}
	v.soon = len(orders) > 0
	if full := new(store.Exceeded); drain.Err() == nil && (v.restored || v.due()) {
		if bare != nil {
			return Next{}, bare
		}
		if err := v.cycle(drain); errors.As(err, &full) {
			v.problem, v.full = full.Error(), full.Free
		} else if err != nil {
			return Next{}, err
		} else if err := share.Rules(v.ctx, v.Store, v.lease, v.folder.Dir); err != nil {
			v.amiss(err)
		}
	}
	return v.commit(nil)
}

// bare says why the tools of the home get no walls, where that keeps it from waking.
func (v *visit) bare() error {
	if !v.Walled {
		return nil
	}
	s, err := v.open()
	if err != nil {
		return nil // rouse says so, and wakes nothing
	}
	walls, err := s.Walls()
	if err = cmp.Or(err, s.Unwalled()); err == nil && walls == nil {
		err = errors.New("pull it, write posture: careful into its rouse.yaml, and no sandbox.mode: off, and push it")
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s wakes no home whose tools have no walls (--require-sandbox): %w", v.Name, err)
}

// current makes the folder current, with what a cycle elsewhere left where that must not be
// forgotten, and its keys.
func (v *visit) current() error {
	lines, err := v.Store.Lines(v.ctx, v.home.ID)
	if err != nil {
		return err
	}
	begun := slices.ContainsFunc(lines, func(l mirror.Line) bool { return bytes.Contains(l.Data, []byte(`"event":"intent"`)) })
	if len(lines) > 0 && !begun {
		spend := home.Home{}.Spend()
		if err := v.Store.Forget(v.ctx, v.lease, spend); err != nil {
			return err
		}
		lines = slices.DeleteFunc(lines, func(l mirror.Line) bool { return l.Path != spend })
	}
	if v.folder.Working() { // what a killed visit left running is ended, though its folder counts no more
		c, _ := v.command("reap", "--home", v.folder.Dir)
		c.Timeout = orderTime
		_, _ = v.runs.Run(v.ctx, c) // it may be no home
	}
	if err := v.folder.Checkout(v.ctx, v.lease, v.home.Version, lines); err != nil {
		return err
	}
	if begun {
		v.log("%s: a cycle was lost with its worker, after a call of it began: it is settled", v.home.Name)
		if err := v.restore(lines); err != nil {
			return err
		}
	}
	if err := share.Lay(v.ctx, v.Store, v.home.ID, v.folder.Dir); err != nil {
		v.amiss(err) // and the rest can be read
	}
	return v.give(v.folder.Home, v.home.Name)
}

// amiss tells of what went wrong with what homes share, which keeps none from its work.
func (v *visit) amiss(err error) {
	v.problem = text.Line("shared observations: "+err.Error(), 500)
	v.log("%s: %s", v.home.Name, v.problem)
}

// restore leaves word of the cycles whose journals came back. What was taken from the end of
// such a journal is to be taken from what the store has of it too.
func (v *visit) restore(lines []mirror.Line) error {
	v.restored = true
	seen := map[string]bool{}
	for _, l := range lines {
		cycle := home.CycleOf(filepath.Base(l.Path))
		if cycle == "" || seen[cycle] {
			continue
		}
		seen[cycle] = true
		err := os.WriteFile(v.folder.Left(home.LostFile, cycle), nil, 0o600)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(v.folder.Journal(cycle))
		if err == nil {
			err = v.Store.Mirror(v.ctx, v.lease, mirror.Line{Path: l.Path, Whole: true, Data: data})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *visit) open() (*setup.Setup, error) { return v.Worker.open(v.folder.Dir) }

// open opens the home in a folder, as its cycles will.
func (w *Worker) open(dir string) (*setup.Setup, error) {
	h, err := home.Open(dir)
	if err != nil {
		return nil, err
	}
	s, err := setup.Open(h, setup.Process{Environ: w.environ(), Now: w.now})
	if err == nil {
		s.Slots().Alone = true
	}
	return s, err
}

// due says whether rouse has anything to do now. Of a home that cannot be opened it tells
// people so itself.
func (v *visit) due() bool {
	s, err := v.open()
	if err != nil {
		return true
	}
	at, err := nextOf(s)
	return err != nil || !at.IsZero() && !at.After(v.now())
}

// nextOf is when rouse next has something to do, zero for never.
func nextOf(s *setup.Setup) (time.Time, error) {
	at, err := s.Slots().NextDue(s.Config.Schedule)
	if report, _ := s.NextReport(); !report.IsZero() && (at.IsZero() || report.Before(at)) {
		at = report
	}
	return at, err
}

// commit sends what changed, and ends the lease.
func (v *visit) commit(done []store.Done) (Next, error) {
	version := store.Version{Maker: v.Name, Done: done}
	r, err := v.folder.Send(v.ctx, v.lease, &version)
	if err != nil {
		return Next{}, err
	}
	if what := own(r.Left); what != "" { // to open it would be to wait for ever
		return Next{}, fmt.Errorf("%s, where the home has a file of its own: remove it from %s", text.Line(what, 300), v.folder.Dir)
	}
	next := v.sum(&version, r)
	v.settle()
	if err := v.folder.Commit(v.ctx, v.lease, version); err != nil {
		return Next{}, err
	}
	switch past := !next.At.IsZero() && next.At.Before(v.now()); {
	case !v.full.IsZero():
		return soonest(Next{At: v.full}, in(10*awhile)), nil // limits are raised, too
	case v.soon:
		return in(0), nil
	case past && (v.stuck || version.Manifest == nil):
		return in(awhile), nil // else it would be tried again and again
	}
	return next, nil
}
