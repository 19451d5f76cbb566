package store

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Order is something that an operator wants done in a home. It is done once, by the next
// who wakes it, and what came of it is in the commit.
type Order struct {
	ID    int64      `json:"id"`
	Home  int64      `json:"-"`
	Made  time.Time  `json:"made"`
	By    string     `json:"by"`
	Argv  []string   `json:"argv"` // of rouse
	Input []byte     `json:"-"`    // its standard input
	Done  *time.Time `json:"done,omitempty"`
	Exit  *int       `json:"exit,omitempty"`
	Said  *string    `json:"said,omitempty"`
}

// Hook is the command of orders that the door of hooks makes, behind which stand the hook and
// a digest of what was sent.
const Hook = "hook"

const named = `where home = (select id from rouse.homes where tenant = rouse.tenant() and name = $1) and `

// HookOrder is the newest order of a home with a digest, or [ErrNone].
func (s *Store) HookOrder(ctx context.Context, name, digest string) (o Order, err error) {
	return first(s.orders(ctx, `input`, named+`argv[1] = 'hook' and argv[3] = $2 order by id desc limit 1`, name, digest))
}

// HookOrders counts what a hook of a home received in the last hour.
func (s *Store) HookOrders(ctx context.Context, name, hook string) (n int, err error) {
	err = s.conn.QueryRow(ctx, `select count(*) from rouse.orders `+named+`argv[1] = 'hook' and argv[2] = $2 and made > now() - interval '1 hour'`, name, hook).Scan(&n)
	return n, told(err)
}

// Order puts one down, and gives its id; workers hear of it. [ErrNone] is no such home.
func (s *Store) Order(ctx context.Context, name string, argv []string, input []byte) (id int64, err error) {
	err = s.conn.QueryRow(ctx, `with o as (insert into rouse.orders (home, argv, input)
			select id, $2, coalesce($3, ''::bytea) from rouse.homes where tenant = rouse.tenant() and name = $1 returning id, home)
		select id from o, pg_notify('rouse', home::text)`, name, argv, input).Scan(&id)
	return id, none(err)
}

// Orders are those of a home that are not done, the oldest first.
func (s *Store) Orders(ctx context.Context, home int64) ([]Order, error) {
	return s.orders(ctx, `input`, `where home = $1 and done is null order by id`, home)
}

// OrderOf is one by its id, or [ErrNone].
func (s *Store) OrderOf(ctx context.Context, id int64) (o Order, err error) {
	return first(s.orders(ctx, `input`, `where id = $1`, id))
}

func first(all []Order, err error) (o Order, _ error) {
	if err != nil || len(all) == 0 {
		return o, cmp.Or(err, ErrNone)
	}
	return all[0], nil
}

func (s *Store) orders(ctx context.Context, input, where string, args ...any) ([]Order, error) {
	rows, err := s.conn.Query(ctx, `select id, home, made, by, argv, `+input+`, done, exit, said from rouse.orders `+where, args...)
	if err != nil {
		return nil, told(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Order])
	return all, told(err)
}

// Ordered are the homes that somebody is to look at: those with orders that are not done.
func (s *Store) Ordered(ctx context.Context) ([]int64, error) {
	return list[int64](ctx, s.conn, `select distinct home from rouse.orders where done is null`)
}

// Listen calls do with the id of each home that was pushed, moved or has a new order, until
// ctx ends or the connection does. What happened before is not told.
func (s *Store) Listen(ctx context.Context, do func(home string)) error {
	c, err := s.conn.Acquire(ctx)
	if err != nil {
		return told(err)
	}
	conn := c.Hijack()
	defer conn.Close(context.WithoutCancel(ctx))
	var server int
	if _, err = conn.Exec(ctx, `listen rouse`); err == nil {
		err = conn.QueryRow(ctx, `select pg_backend_pid()`).Scan(&server)
	}
	if err != nil {
		return told(err)
	}
	if err := s.alone(ctx, server); err != nil {
		return err
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return told(err)
		}
		do(n.Payload)
	}
}

// alone says whether a session that does nothing now is still nobody else's.
func (s *Store) alone(ctx context.Context, server int) error {
	var other int
	err := s.conn.QueryRow(ctx, `select pg_backend_pid()`).Scan(&other)
	if err == nil && other == server {
		return ErrPooled
	}
	return told(err)
}
