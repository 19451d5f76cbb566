package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrLost says that a home was taken by somebody else: what was done under the older
// epoch stays out of the store.
var ErrLost = errors.New("the home was taken by another holder meanwhile")

// ErrNone says that there is no such home.
var ErrNone = errors.New("the fleet has no such home")

// Held says who has a home that was not to be had.
type Held struct{ Home }

func (h *Held) Error() string {
	if h.Until == nil {
		return fmt.Sprintf("%s is on a machine, %s, since %s: push it from there first, or take it from there for good by --take", h.Name, h.Holder, h.Changed.Format(time.DateTime))
	}
	return fmt.Sprintf("%s is awake at %s, whose lease ends at %s", h.Name, h.Holder, h.Until.Format(time.DateTime))
}

// Home is one of the fleet.
type Home struct {
	ID      int64      `json:"-"`
	Name    string     `json:"name"`
	Version int        `json:"version"` // the newest; 0 is none yet
	Epoch   int64      `json:"epoch"`
	Holder  string     `json:"holder,omitempty"` // who has it, "" for nobody
	Until   *time.Time `json:"until,omitempty"`  // unless it is had for good
	Changed time.Time  `json:"changed"`
}

// Lease is a home that is held.
type Lease struct {
	Home  int64
	Epoch int64
}

func (s *Store) homes(ctx context.Context, where string, args ...any) ([]Home, error) {
	rows, err := s.conn.Query(ctx, `select id, name, version, epoch, coalesce(holder, ''), deadline, changed from rouse.homes where tenant = rouse.tenant() `+where, args...)
	if err != nil {
		return nil, told(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Home])
	return all, told(err)
}

// Homes are all homes of the tenant, by name.
func (s *Store) Homes(ctx context.Context) ([]Home, error) { return s.homes(ctx, `order by name`) }

// Home is one home by its name, or [ErrNone].
func (s *Store) Home(ctx context.Context, name string) (h Home, err error) {
	all, err := s.homes(ctx, `and name = $1`, name)
	if err != nil || len(all) == 0 {
		return h, cmp.Or(err, ErrNone)
	}
	return all[0], nil
}

func none(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrNone
	}
	return told(err)
}

// Create makes a home without a version, which the holder has for good, unless there is
// one of that name.
func (s *Store) Create(ctx context.Context, name, holder string) error {
	_, err := s.conn.Exec(ctx, `insert into rouse.homes (name, holder, epoch) values ($1, $2, 1) on conflict do nothing`, name, holder)
	return told(err)
}

// Acquire takes a home under a new epoch, for a time or, with 0, for good. One that
// another holder has is [Held], unless its time is over or it is taken by force.
func (s *Store) Acquire(ctx context.Context, name, holder string, ttl time.Duration, force bool) (l Lease, err error) {
	err = s.conn.QueryRow(ctx, `update rouse.homes set epoch = epoch + 1, holder = $2, changed = clock_timestamp(),
			deadline = case when $3::bigint > 0 then clock_timestamp() + $3 * interval '1 microsecond' end
		where tenant = rouse.tenant() and name = $1 and ($4 or holder is null or holder = $2 or deadline < clock_timestamp())
		returning id, epoch`, name, holder, ttl.Microseconds(), force).Scan(&l.Home, &l.Epoch)
	if err = none(err); !errors.Is(err, ErrNone) {
		return l, err
	}
	h, err := s.Home(ctx, name)
	if err == nil {
		err = &Held{h}
	}
	return l, err
}

// held are the homes that a lease still holds, locked until the statement's end.
const held = `with held as (select id from rouse.homes where id = $1 and epoch = $2 and holder is not null for update) `

// Renew puts off the deadline of a lease.
func (s *Store) Renew(ctx context.Context, l Lease, ttl time.Duration) error {
	return s.guarded(ctx, held+`update rouse.homes h set deadline = clock_timestamp() + $3 * interval '1 microsecond' from held where h.id = held.id`, l.Home, l.Epoch, ttl.Microseconds())
}

// Intent keeps that a call is about to start, the steps of a cycle counted from 1. Whoever
// has no nil of it must not start the call.
func (s *Store) Intent(ctx context.Context, l Lease, step int, call string) error {
	return s.guarded(ctx, held+`insert into rouse.intents (home, epoch, step, call) select id, $2, $3, $4 from held`, l.Home, l.Epoch, step, call)
}

// Intents are the calls that were about to start under an epoch.
func (s *Store) Intents(ctx context.Context, home, epoch int64) ([]string, error) {
	return list[string](ctx, s, `select call from rouse.intents where home = $1 and epoch = $2 order by step`, home, epoch)
}

// guarded runs a statement that changes one row, or none as the lease is lost.
func (s *Store) guarded(ctx context.Context, sql string, args ...any) error {
	tag, err := s.conn.Exec(ctx, sql, args...)
	if err == nil && tag.RowsAffected() == 0 {
		return ErrLost
	}
	return told(err)
}

// Version is what a commit adds to a home.
type Version struct {
	Manifest []byte // all contents that it names are in the store
	Maker    string
	Files    int
	Bytes    int64
	Slot     string // whose cycle it was, "" for none; no slot has two
	Spend    int64  // in millionths
}

// Commit makes the next version of a home and ends the lease, both or neither.
func (s *Store) Commit(ctx context.Context, l Lease, v Version) error {
	return s.guarded(ctx, `with held as (
			update rouse.homes set version = version + 1, holder = null, deadline = null, changed = clock_timestamp()
			where id = $1 and epoch = $2 and holder is not null returning id, version, epoch)
		insert into rouse.versions (home, version, epoch, maker, files, bytes, slot, spend, manifest)
		select id, version, epoch, $3, $4, $5, nullif($6, ''), $7, $8 from held`,
		l.Home, l.Epoch, v.Maker, v.Files, v.Bytes, v.Slot, v.Spend, v.Manifest)
}
