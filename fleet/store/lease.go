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
	Needs   []string   `json:"needs,omitempty"` // labels of the workers that may wake it
	Keys    []string   `json:"keys,omitempty"`  // names of what its .env had
	State   State      `json:"state"`
	Spent   int64      `json:"spent_today"`       // and reserved, in millionths, of a day of UTC
	Ordered *time.Time `json:"ordered,omitempty"` // the oldest order that is not done
}

// State is what is shown of a home beside who has it. Whoever wakes it says so in the commit.
type State struct {
	Next    *time.Time `json:"next,omitempty"`  // when it wakes, nil for never
	Cycle   string     `json:"cycle,omitempty"` // the newest
	Outcome string     `json:"outcome,omitempty"`
	Error   string     `json:"error,omitempty"`
	Ended   *time.Time `json:"ended,omitempty"`
	Waiting int        `json:"waiting"`           // approvals
	Pending int        `json:"pending"`           // tasks
	Spent   int64      `json:"spent"`             // today, in millionths of a dollar
	Problem string     `json:"problem,omitempty"` // why a worker could not wake it
	Rests   string     `json:"rests,omitempty"`   // why it is not to wake: a pause, or failures
}

// Lease is a home that is held.
type Lease struct {
	Home  int64
	Epoch int64
}

// patience is how long the store may take to say which homes there are: where it hangs all wait
// who ask, such as those who look at a page.
const patience = 10 * time.Second

func (s *Store) homes(ctx context.Context, where string, args ...any) ([]Home, error) {
	asked, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	rows, err := s.conn.Query(asked, `select id, name, version, epoch, coalesce(holder, ''), deadline, changed, needs, keys, state,
			coalesce((select amount from rouse.spends p where p.home = homes.id and p.tenant = homes.tenant and p.day = rouse.today()), 0),
			(select min(made) from rouse.orders o where o.home = homes.id and done is null) from rouse.homes where tenant = rouse.tenant() `+where, args...)
	var all []Home
	if err == nil {
		all, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Home])
	}
	if err != nil && asked.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("the fleet's Postgres has not answered in %s: see whether its machine, or a lock, holds it up: %w", patience, err)
	}
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

// HomeOf is the home of an id, or [ErrNone].
func (s *Store) HomeOf(ctx context.Context, id int64) (h Home, err error) {
	all, err := s.homes(ctx, `and id = $1`, id)
	if err != nil || len(all) == 0 {
		return h, cmp.Or(err, ErrNone)
	}
	return all[0], nil
}

// Move says which labels a home needs of who wakes it.
func (s *Store) Move(ctx context.Context, name string, needs []string) error {
	var id int64
	return none(s.conn.QueryRow(ctx, `with h as (update rouse.homes set needs = coalesce($2, '{}'::text[]) where tenant = rouse.tenant() and name = $1 returning id)
		select id from h, pg_notify('rouse', id::text)`, name, needs).Scan(&id))
}

// Problem says of a home why it could not be woken; "" is that it can.
func (s *Store) Problem(ctx context.Context, id int64, why string) error {
	_, err := s.conn.Exec(ctx, `update rouse.homes set state = case when $2 = '' then state - 'problem' else state || jsonb_build_object('problem', $2::text) end
		where id = $1 and coalesce(state ->> 'problem', '') <> $2`, id, why)
	return told(err)
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
	err = s.conn.QueryRow(ctx, `update rouse.homes set epoch = epoch + 1, holder = $2, sending = null, changed = clock_timestamp(),
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
const held = `with held as (select id, deadline from rouse.homes where id = $1 and epoch = $2 and holder is not null for update) `

// Renew puts off the deadline of a lease.
func (s *Store) Renew(ctx context.Context, l Lease, ttl time.Duration) error {
	return s.guarded(ctx, held+`update rouse.homes h set deadline = clock_timestamp() + $3 * interval '1 microsecond' from held where h.id = held.id`, l.Home, l.Epoch, ttl.Microseconds())
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
	Manifest []byte // its text; all contents that it names are in the store; nil is no new version
	Maker    string
	Files    int
	Bytes    int64
	Spend    int64    // in millionths
	State    *State   // nil leaves what is shown
	Keys     []string // nil leaves those of before
	Done     []Done
}

// Done is what became of an order.
type Done struct {
	ID   int64
	Exit int
	Said string
}

// Commit makes the next version of a home, which has all that was mirrored, and ends the
// lease: all of it or nothing. Workers hear of what a machine pushed.
func (s *Store) Commit(ctx context.Context, l Lease, v Version) error {
	row, err := s.lay(ctx, l, v.Manifest)
	if err != nil {
		return err
	}
	return told(pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
		var version, notify int
		err := tx.QueryRow(ctx, held+`update rouse.homes h set version = version + $3, holder = null, deadline = null, sending = null, changed = clock_timestamp(),
				state = coalesce($4, state), keys = coalesce($5, keys)
			from held where h.id = held.id returning version, case when $3 = 1 and held.deadline is null then 1 else 0 end`,
			l.Home, l.Epoch, min(len(v.Manifest), 1), v.State, v.Keys).Scan(&version, &notify)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrLost
		}
		if err != nil {
			return err
		}
		return tx.SendBatch(ctx, v.rest(l, row, version, notify == 1)).Close()
	}))
}

// rest is what a commit does once the home is its own.
func (v *Version) rest(l Lease, row tree, version int, notify bool) *pgx.Batch {
	b := new(pgx.Batch)
	if v.Manifest != nil {
		b.Queue(`insert into rouse.versions (home, version, epoch, maker, files, bytes, spend, manifest, levels) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			l.Home, version, l.Epoch, v.Maker, v.Files, v.Bytes, v.Spend, row.frame, row.levels)
		b.Queue(`delete from rouse.lines where home = $1`, l.Home)
	}
	for _, d := range v.Done {
		b.Queue(`update rouse.orders set done = clock_timestamp(), exit = $3, said = $4 where home = $1 and id = $2`, l.Home, d.ID, d.Exit, d.Said)
	}
	b.Queue(`select rouse.settle($1, $2, $3)`, l.Home, l.Epoch, v.Spend) // last, as all commits of a day meet at one row
	if notify {
		b.Queue(`select pg_notify('rouse', $1::bigint::text)`, l.Home)
	}
	return b
}
