package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"rouse/agent/budget"
)

// Limits are what the owner of the store sets for all homes of a tenant, in millionths of the
// currency of their prices; 0 is no limit.
type Limits struct {
	Day   int64 `json:"day"` // from midnight, UTC
	Month int64 `json:"month"`
	Awake int64 `json:"awake"`     // homes at once
	Each  int64 `json:"each"`      // what a cycle reserves whose home has no limit of money
	Keep  int64 `json:"keep_days"` // of versions
}

// Limits are those of the tenant.
func (s *Store) Limits(ctx context.Context) (l Limits, err error) {
	l = Limits{Each: 1e6, Keep: KeepDays}
	err = s.conn.QueryRow(ctx, `select coalesce(day, 0), coalesce(month, 0), coalesce(awake, 0), each, keep from rouse.limits where tenant = rouse.tenant()`).
		Scan(&l.Day, &l.Month, &l.Awake, &l.Each, &l.Keep)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return l, told(err)
}

// SetLimits is for the owner of the store alone.
func (s *Store) SetLimits(ctx context.Context, l Limits) error {
	_, err := s.conn.Exec(ctx, `insert into rouse.limits (day, month, awake, each, keep) values (nullif($1::bigint, 0), nullif($2::bigint, 0), nullif($3::bigint, 0), $4, $5)
		on conflict (tenant) do update set day = excluded.day, month = excluded.month, awake = excluded.awake, each = $4, keep = $5`, l.Day, l.Month, l.Awake, l.Each, l.Keep)
	return told(err)
}

// Exceeded says which limit has no room for a cycle.
type Exceeded struct {
	Limit     string    `json:"limit"` // day, month or awake
	Max, Used int64     // in millionths, or homes; what is reserved counts as used
	Want      int64     // in millionths
	Free      time.Time `json:"free"` // when to ask again
}

func (e *Exceeded) Error() string {
	free := e.Free.UTC().Format("2006-01-02 15:04 UTC")
	switch {
	case e.Limit == "awake":
		return fmt.Sprintf("the fleet's limit of homes that are awake: %d of %d; it wakes when one of them ended", e.Used, e.Max)
	case e.Want > e.Max:
		return fmt.Sprintf("the fleet's limit of a %s, %s, is less than a cycle of this home may cost, %s: set a lower limits.cycle.money in its rouse.yaml, or rouse-fleet limit --each or --%[1]s", e.Limit, Money(e.Max), Money(e.Want))
	}
	return fmt.Sprintf("the fleet's limit of a %s: %s of %s are spent or reserved, and the cycle may cost %s; it is free again at %s", e.Limit, Money(e.Used), Money(e.Max), Money(e.Want), free)
}

// Money writes millionths.
func Money(n int64) string { return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64) }

// Reserve takes what a cycle may cost out of the limits, before it wakes under a lease. The
// commit puts what it spent in its place; without one it stays spent. The error is [*Exceeded]
// where there is no room, else [ErrLost] under an older epoch. A lease reserves once.
func (s *Store) Reserve(ctx context.Context, l Lease, amount int64) error {
	var broke *string
	var most, used *int64
	var free *time.Time
	err := s.conn.QueryRow(ctx, `select broke, max, used, free from rouse.reserve($1, $2, $3)`, l.Home, l.Epoch, amount).Scan(&broke, &most, &used, &free)
	switch {
	case err != nil || broke == nil:
		return told(err)
	case *broke == "lost":
		return ErrLost
	}
	e := &Exceeded{Limit: *broke, Max: *most, Used: *used, Want: amount, Free: time.Now().Add(time.Minute)}
	if free != nil {
		e.Free = *free
	}
	return e
}

// Most is the most that one cycle of a home may cost by its own limits, in millionths; where
// these have no money, each.
func Most(l budget.Limits, each int64) int64 {
	least := budget.Money(0)
	for _, m := range []budget.Money{l.Cycle.Money, l.Day.Money, l.Month.Money} {
		if m > 0 && (least == 0 || m < least) {
			least = m
		}
	}
	return cmp.Or((int64(least)+999)/1000, each)
}

// Spent is what all homes spent and reserved today and this month, UTC, in millionths, and
// how many cycles have a reservation.
type Spent struct {
	Day   int64 `json:"spent_today"`
	Month int64 `json:"spent_month"`
	Awake int   `json:"awake_now"`
}

// Spent is that of the tenant.
func (s *Store) Spent(ctx context.Context) (p Spent, err error) {
	err = s.conn.QueryRow(ctx, `select coalesce(sum(amount) filter (where day = rouse.today()), 0)::bigint, coalesce(sum(amount), 0)::bigint,
			(select count(*) from rouse.reserves r join rouse.homes h on h.id = r.home and h.epoch = r.epoch where h.tenant = rouse.tenant() and h.holder is not null and h.deadline > clock_timestamp())
		from rouse.spends where tenant = rouse.tenant() and home = 0 and day >= date_trunc('month', rouse.today())::date`).Scan(&p.Day, &p.Month, &p.Awake)
	return p, told(err)
}
