// Package share lets homes of a fleet read observations of each other, which nobody changes.
//
// The content of one goes into the store, and who may read it is a row beside: [Observation]
// shares one, [Rules] what the tools of a home make from now on. Before a home is woken, [Lay]
// makes a folder in it what the store says, which rouse reads: who was not named has no file.
package share

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"rouse/agent/history"
	"rouse/fleet/checkout"
	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad/observation"
	"rouse/scratchpad/origin"
)

// Observation shares one of a home, as its newest version has it, with others, for a time.
func Observation(ctx context.Context, s *store.Store, id, from string, with []string, ttl time.Duration) (x store.Shared, err error) {
	at, err := s.Home(ctx, from)
	if err != nil {
		return x, fmt.Errorf("%s: %w", from, err)
	}
	dir, err := os.MkdirTemp("", "rouse-share")
	if err != nil {
		return x, err
	}
	defer os.RemoveAll(dir)
	t := taken{Home: home.Home{Dir: dir}}
	c, err := t.take(ctx, s, at, id)
	if t.Store != nil {
		defer t.Close()
	}
	if err == nil {
		defer c.Close()
		x = store.Shared{Home: from, With: with}
		err = t.share(ctx, s, store.Lease{Home: at.ID}, c, &x, ttl)
	}
	if err != nil {
		err = fmt.Errorf("observation %s of %s, version %d: %w", text.Line(id, 40), from, at.Version, err)
	}
	return x, err
}

// take takes an observation out of the newest version of a home, with the journal of its
// cycle and nothing else.
func (t *taken) take(ctx context.Context, s *store.Store, at store.Home, id string) (*observation.Content, error) {
	v, _, err := checkout.VersionOf(ctx, s, at.ID, 0)
	if err != nil {
		return nil, err
	}
	get := func(is func(path string) bool) error {
		put, _ := history.Plan(new(history.Version), v, nil)
		put = slices.DeleteFunc(put, func(c history.Change) bool { return c.Is.Kind != history.File || !is(c.Path) })
		return checkout.Put(ctx, s, t.Dir, put)
	}
	err = get(func(path string) bool {
		in, ok := strings.CutPrefix(path, t.Rel(t.Memory())+"/")
		return ok && observation.Holds(in, id)
	})
	if err == nil && !observation.Exists(t.Memory()) {
		err = observation.ErrNotFound
	}
	if err == nil {
		t.Store, err = observation.Open(t.Memory(), observation.Options{Look: true})
	}
	if err != nil {
		return nil, err
	}
	c, err := t.Get(id)
	if err != nil {
		return nil, err
	}
	return c, get(func(path string) bool { return path == t.Rel(t.Journal(c.Turn)) })
}

// taken is a home, or what was taken out of one, with its observations.
type taken struct {
	home.Home
	*observation.Store
}

// share uploads a content, in constant memory, and then lets others read it.
func (t taken) share(ctx context.Context, s *store.Store, l store.Lease, c *observation.Content, x *store.Shared, ttl time.Duration) error {
	if err := room(ctx, s, l.Home, c.Entry.Bytes); err != nil {
		return err
	}
	u := s.Upload(l)
	sum, err := u.Add(ctx, c.Reader())
	if err == nil && sum != c.SHA256 {
		err = errors.New("it is damaged there: its content has another hash")
	}
	if err = cmp.Or(err, u.Flush(ctx)); err != nil {
		return err
	}
	x.Observation = c.ID
	x.Sum, _ = hex.DecodeString(sum)
	x.Note = observation.Note{Tool: c.Executor, Kind: c.Kind, MIME: c.MIME, Bytes: c.Entry.Bytes, Runes: c.Runes, Lines: c.Entry.Lines, Origins: t.origins(c.Entry)}
	x.ID, err = s.Share(ctx, l, *x, ttl)
	return err
}

// room refuses what is too large to be shared.
func room(ctx context.Context, s *store.Store, home, bytes int64) error {
	left, err := s.Room(ctx, home)
	switch {
	case err != nil:
		return err
	case bytes > store.MaxShared:
		return fmt.Errorf("it has %d bytes, and at most %d are shared", bytes, store.MaxShared)
	case bytes > left:
		return fmt.Errorf("it has %d bytes, and its home has room to share %d more of %d: end some of what it shares", bytes, max(left, 0), int64(store.MaxHome))
	}
	return nil
}

// most is how many origins are told of one content.
const most = 100

// origins are those that the cycle had, as its journal says, when a tool made what is shared.
func (t taken) origins(e observation.Entry) (from origin.Set) {
	for event, err := range journal.Read(t.Journal(e.Turn)) {
		if err != nil || len(from) > most {
			return from.With("unknown", origin.Private)
		}
		if o, ok := event.Data.(*journal.Origin); ok && (e.Step == 0 || o.Step <= e.Step) {
			from = from.With(o.From...)
		}
	}
	return from
}

// Rules shares what the rules of a home say of what its cycles left, the newest first, before
// the commit of the lease. A home without rules costs one question.
func Rules(ctx context.Context, s *store.Store, l store.Lease, dir string) error {
	rules, err := s.Rules(ctx, l.Home)
	t := taken{Home: home.Home{Dir: dir}}
	if err != nil || len(rules) == 0 || !observation.Exists(t.Memory()) {
		return err
	}
	if t.Store, err = observation.Open(t.Memory(), observation.Options{Look: true}); err != nil {
		return err
	}
	defer t.Close()
	list, err := t.List(observation.Filter{})
	for _, r := range rules {
		for _, e := range list {
			if e.Executor != r.Tool || !e.Created.After(r.Made) || slices.Contains(r.Shared, e.ID) || r.Today >= store.MaxDay {
				continue
			}
			r.Today++
			err = errors.Join(err, t.byRule(ctx, s, l, e.ID, r))
		}
	}
	return err
}

func (t taken) byRule(ctx context.Context, s *store.Store, l store.Lease, id string, r store.Rule) error {
	c, err := t.Get(id)
	if errors.Is(err, observation.ErrNotFound) { // it expires now
		return nil
	}
	if err == nil {
		defer c.Close()
		err = t.share(ctx, s, l, c, &store.Shared{Rule: r.ID}, time.Duration(r.TTL)*time.Second)
	}
	if err != nil {
		return fmt.Errorf("rule %d: observation %s: %w", r.ID, id, err)
	}
	return nil
}
