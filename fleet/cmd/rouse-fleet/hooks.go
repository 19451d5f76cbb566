package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"rouse/agent/hook"
	"rouse/fleet/checkout"
	"rouse/fleet/store"
	"rouse/fleet/worker"
	"rouse/home"
	"rouse/internal/vault"
	"rouse/setup"
)

// hooks is the door for programs that hand homes of the fleet a task: what is proven here is
// an order, of which a worker makes the task.
type hooks struct {
	ctx   context.Context
	store *store.Store
	views *checkout.Views
	keys  string // a folder, as that of workers
	say   func(line string)

	mu   sync.Mutex
	said map[string]bool
}

// receive orders what was sent to a hook, unless that was ordered or taken before.
func (d *hooks) receive(h *setup.Setup, name string, header http.Header, body []byte) (r setup.Received, err error) {
	spec, err := h.HookOf(name)
	if err != nil {
		return r, err
	}
	in := filepath.Base(h.Home.Dir)
	r, err = h.Prove(spec, d.secret(in, spec), header, body)
	if err != nil || r.State != "" {
		return r, err
	}
	ctx, cancel := context.WithTimeout(d.ctx, orderPatience)
	defer cancel()
	if had, err := d.ordered(ctx, h, name, r.ID); !errors.Is(err, store.ErrNone) && had.State != setup.Refused {
		return had, err
	}
	n, err := d.store.HookOrders(ctx, in, name)
	if err == nil && n >= spec.Hourly() {
		err = setup.ErrOften
	}
	if err != nil {
		return r, err
	}
	r.State = setup.Waits
	input, err := json.Marshal(r)
	if err == nil {
		_, err = place(ctx, d.store, in, worker.HookOrder(name, r.ID), input)
	}
	return r, err
}

// became says what became of what a hook received: as the home knows it, else the order.
func (d *hooks) became(h *setup.Setup, name, id string) (setup.Received, error) {
	r, err := h.Became(name, id)
	if err == nil && r.State != setup.Lost {
		return r, nil
	}
	ctx, cancel := context.WithTimeout(d.ctx, orderPatience)
	defer cancel()
	ordered, none := d.ordered(ctx, h, name, id)
	if errors.Is(none, store.ErrNone) {
		return r, err
	}
	return ordered, none
}

// ordered says what became of the order of what a hook received, or [store.ErrNone].
func (d *hooks) ordered(ctx context.Context, h *setup.Setup, name, id string) (setup.Received, error) {
	in, argv := filepath.Base(h.Home.Dir), worker.HookOrder(name, id)
	o, err := d.store.HookOrder(ctx, in, argv[2])
	r, is := worker.Delivered(o)
	switch {
	case err != nil:
		return setup.Received{}, err
	case !is || r.ID != id || r.Hook != name:
		return setup.Received{}, store.ErrNone
	case o.Done == nil:
		r.State = setup.Waits
	case deref(o.Exit) == 0: // after the copy was made
		d.views.Again(in)
		if _, err = d.views.Fresh(ctx, in); err == nil {
			r, err = h.Became(name, id)
		}
		if errors.Is(err, fs.ErrNotExist) || err == nil && r.State == setup.Lost { // as on one machine it is taken again
			err = store.ErrNone
		}
	default:
		r.State, r.Why = setup.Refused, "the home cannot take it: its operators see why"
		if deref(o.Exit) == 1 {
			r.Why = deref(o.Said)
		}
	}
	return r, err
}

// secret is what a hook of a home shares with who sends, "" where it is not here: that is
// said once.
func (d *hooks) secret(in string, spec hook.Spec) (secret string) {
	env, err := filepath.Base(home.Home{}.Env()), error(nil)
	file := filepath.Join(cmp.Or(d.keys, "DIR"), env)
	if d.keys != "" {
		file = cmp.Or(checkout.Key(d.keys, in, env), file)
		var list []vault.Variable
		list, err = vault.ReadEnv(file)
		for _, v := range list {
			if v.Name == spec.SecretEnv {
				secret = v.Value
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if key := in + " " + spec.SecretEnv; secret == "" && !d.said[key] {
		d.said[key] = true
		why := cmp.Or(err, fmt.Errorf("put %s into %s, and serve with --keys", spec.SecretEnv, file))
		d.say(fmt.Sprintf("%s: hook %s takes nothing: %v", in, spec.Name, why))
	}
	return secret
}

// each has f called once in a time, and what it gave stand until the next: many ask who may be
// strangers.
func each[T any](every time.Duration, f func() (T, error)) func() (T, error) {
	var mu sync.Mutex
	var last time.Time
	var v T
	var err error
	return func() (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last) >= every {
			v, err = f()
			last = time.Now()
		}
		return v, err
	}
}
