// Package worker visits homes of a fleet: under a lease it checks one out, carries out what
// was ordered for it or runs the slot that is due, and commits what came of it.
//
// A visit is [Worker.Wake]. It is told by nobody what a cycle is: that runs in a process of
// its own, `rouse run --due`, as cron would start it, in the folder of the home, which stays
// for the next visit. What the cycle must not lose it hands to the worker ([mirror.Serve]),
// which keeps it in the store under the epoch of the lease. When the lease ends, by the
// worker's own clock or the store's word, the cycle's processes are killed.
//
// Whatever is killed, the next visit goes on from what the folder and the store have:
//
//   - the same folder, and nobody had the home since: what is in it is committed as it is;
//   - else the newest version, and what the cycle of another folder had mirrored. If a call of
//     it may have begun, rouse settles that cycle, and repeats none; if none did, it never was.
//     What a folder had that was overtaken is kept aside once.
package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"rouse/fleet/checkout"
	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/clock"
	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/internal/text"
)

// Worker wakes homes. Several at once, but each once at a time. Its fields are set once.
type Worker struct {
	Store  *store.Store
	Name   string   // as who it holds homes: no two workers have one
	Labels []string // that it has, of those that homes need
	Dir    string   // in which each home has a folder of its name
	Rouse  string   // the program
	// Keys is a folder with .env, vault.age and vault.key of all homes, and in folders by their
	// names those of one, which come first; "" leaves to each checkout what it has.
	Keys  string
	Hides []string // what tools see nothing of, beside Dir and Keys, where a sandbox is
	// Walled is to wake no home whose tools get no walls.
	Walled bool
	TTL    time.Duration // of a lease; 0 is 30 s
	// Log, unless nil, is told what an operator should know.
	Log func(line string)
	// Now is the clock that homes go by, and no lease; nil is time.Now.
	Now func() time.Time

	once     sync.Once
	runs     proc.Runner
	env      []string
	watching watching
}

// Next says when a home is to be visited again: at a time, the zero time never. Gone is one
// that is not in the fleet now. Needs are the labels of who may.
type Next struct {
	At    time.Time
	Gone  bool
	Needs []string
}

const (
	shortly = 5 * time.Second // what another visit of this worker's takes
	awhile  = time.Minute     // until what somebody is to mend is tried again
)

// Wake visits a home. An error that is [store.ErrLost] says that somebody else took it
// meanwhile, any other one that the store cannot be used; what else goes wrong is a problem
// of the home's state, and it is visited again.
func (w *Worker) Wake(ctx context.Context, name string) (Next, error) {
	unlock, err := w.lock(ctx, name)
	if errors.Is(err, disk.ErrHeld) {
		return in(shortly), nil
	}
	if err != nil {
		return Next{}, err
	}
	defer unlock()
	v, next, err := w.take(ctx, name)
	if v == nil {
		return next, err
	}
	defer v.lose(nil)
	v.watched = w.watching.begin(name)
	defer func() { w.watching.end(name, v.watched, v.ran) }()
	next, err = v.visit(ctx)
	next.Needs = v.home.Needs
	return next, err
}

func in(d time.Duration) Next { return Next{At: time.Now().Add(d)} }

func soonest(a, b Next) Next {
	if a.At.Before(b.At) {
		return a
	}
	return b
}

func (w *Worker) ttl() time.Duration { return cmp.Or(w.TTL, 30*time.Second) }

func (w *Worker) now() time.Time { return clock.Now(w.Now) }

func (w *Worker) log(format string, args ...any) {
	if w.Log != nil {
		w.Log(fmt.Sprintf(format, args...))
	}
}

// state is a file of the worker's own about a home, which no home's name can be.
func (w *Worker) state(kind, name string) string { return filepath.Join(w.Dir, "."+kind, name) }

// Lost is where the folder of a home is kept whose work was overtaken.
func (w *Worker) Lost(name string) string { return w.state("lost", name) }

// Folder is that of a home.
func (w *Worker) Folder(name string) string { return filepath.Join(w.Dir, name) }

// lock keeps another process, and another visit, from the folder of a home.
func (w *Worker) lock(ctx context.Context, name string) (func(), error) {
	if filepath.Base(name) != name || strings.HasPrefix(name, ".") {
		return nil, fmt.Errorf("%q is no name of a home", name)
	}
	file := w.state("locks", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	return disk.Lock(ctx, file, 0)
}

// take takes the lease of a home, or says when to come again.
func (w *Worker) take(ctx context.Context, name string) (*visit, Next, error) {
	h, err := w.Store.Home(ctx, name)
	switch {
	case errors.Is(err, store.ErrNone):
		return nil, Next{Gone: true}, nil
	case err != nil:
		return nil, Next{}, err
	case h.Holder != "" && h.Until == nil:
		return nil, Next{Gone: true}, nil
	case w.unfit(h):
		return nil, Next{At: time.Now(), Needs: h.Needs}, nil
	}
	if why := w.lacks(h); why != "" {
		w.log("%s", why)
		next := in(awhile)
		next.Needs = h.Needs
		return nil, next, w.Store.Problem(ctx, h.ID, why)
	}
	sent := time.Now()
	l, err := w.Store.Acquire(ctx, name, w.Name, w.ttl(), false)
	if held := new(store.Held); errors.As(err, &held) {
		if held.Until == nil {
			return nil, Next{Gone: true}, nil
		}
		return nil, Next{At: held.Until.Add(time.Second), Needs: h.Needs}, nil
	}
	if err == nil && (l.Epoch != h.Epoch+1 || h.Holder != "") { // who had it may have committed since
		h, err = w.Store.Home(ctx, name)
	}
	if err != nil {
		return nil, Next{}, err
	}
	return w.newVisit(ctx, h, l, sent), Next{}, nil
}

// unfit says that the home needs labels which this worker has not.
func (w *Worker) unfit(h store.Home) bool {
	return slices.ContainsFunc(h.Needs, func(l string) bool { return !slices.Contains(w.Labels, l) })
}

// lacks says which names of keys of a home are not here, in words.
func (w *Worker) lacks(h store.Home) string {
	env := (home.Home{Dir: w.Folder(h.Name)}).Env()
	into := env
	if w.Keys != "" {
		env, into = checkout.Key(w.Keys, h.Name, filepath.Base(env)), filepath.Join(w.Keys, filepath.Base(env))
	}
	have := checkout.KeysIn(cmp.Or(env, into))
	lacks := slices.DeleteFunc(slices.Clone(h.Keys), func(k string) bool { return slices.Contains(have, k) })
	if len(lacks) == 0 {
		return ""
	}
	return fmt.Sprintf("%s needs %s, which %s has not: put it into %s", h.Name, text.Line(strings.Join(lacks, ", "), 300), w.Name, cmp.Or(env, into))
}

// give puts the keys of a home into its folder, and takes out those that are no more.
func (w *Worker) give(h home.Home, name string) error {
	if w.Keys == "" {
		return nil
	}
	for _, to := range []string{h.Env(), h.Vault(), h.VaultKey()} {
		from := checkout.Key(w.Keys, name, filepath.Base(to))
		if from == "" {
			if err := os.RemoveAll(to); err != nil {
				return err
			}
			continue
		}
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if has, _ := disk.ReadSmall(to, 1<<20); string(has) == string(data) && disk.Exists(to) {
			continue
		}
		if err := disk.Replace(disk.OS{}, to, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
