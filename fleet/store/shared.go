package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"rouse/scratchpad/observation"
)

// MaxShared is the largest observation that is shared, MaxHome what a home shares at once, in
// bytes, and MaxDay how many a rule shares in a day.
const (
	MaxShared, MaxHome = 1 << 30, 4 << 30
	MaxDay             = 100
)

// Shared is an observation of a home that others may read. Its content is among the contents.
type Shared struct {
	ID          string           `json:"id"`
	Home        string           `json:"home"`           // whose it is
	Observation string           `json:"observation"`    // which of that home's
	Rule        int64            `json:"rule,omitempty"` // by which it was shared
	With        []string         `json:"with"`
	Sum         []byte           `json:"-"`
	Note        observation.Note `json:"note"`
}

// Rule says which observations a home shares as its cycles make them.
type Rule struct {
	ID     int64     `json:"id"`
	Home   string    `json:"home"`
	Tool   string    `json:"tool"` // that makes them
	With   []string  `json:"with"`
	TTL    int64     `json:"ttl_seconds"`
	Made   time.Time `json:"made"`
	Today  int64     `json:"today"` // that were shared since a day ago
	Shared []string  `json:"-"`     // observations that were
}

// SharedWith is what a home may read of others now.
func (s *Store) SharedWith(ctx context.Context, home int64) ([]Shared, error) {
	return s.shared(ctx, `and x.id in (select shared from rouse.readers where home = $1)`, home)
}

// Shared is all that is shared now, the newest first.
func (s *Store) Shared(ctx context.Context) ([]Shared, error) { return s.shared(ctx, ``) }

func (s *Store) shared(ctx context.Context, where string, args ...any) ([]Shared, error) {
	rows, err := s.conn.Query(ctx, `select x.id, h.name, x.observation, coalesce(x.rule, 0),
			array(select name from rouse.readers r join rouse.homes n on n.id = r.home where r.shared = x.id order by name), x.sum, x.note, x.made, x.expires
		from rouse.shared x join rouse.homes h on h.id = x.home where x.expires > clock_timestamp() `+where+` order by x.made desc`, args...)
	if err != nil {
		return nil, told(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (x Shared, err error) {
		var made, expires time.Time
		err = row.Scan(&x.ID, &x.Home, &x.Observation, &x.Rule, &x.With, &x.Sum, &x.Note, &made, &expires)
		x.Note.Home, x.Note.SHA256, x.Note.Made, x.Note.Expires = x.Home, hex.EncodeToString(x.Sum), made, expires
		return x, err
	})
	return all, told(err)
}

// Room is for how many bytes more a home may share.
func (s *Store) Room(ctx context.Context, home int64) (room int64, err error) {
	err = s.conn.QueryRow(ctx, `select $2 - coalesce(sum((note ->> 'bytes')::bigint), 0)::bigint from rouse.shared where home = $1 and expires > clock_timestamp()`, home, int64(MaxHome)).Scan(&room)
	return room, told(err)
}

// Share lets homes read an observation whose content was uploaded, for a time, and gives its
// id. What a rule shares it shares once, and under a lease: [ErrLost].
func (s *Store) Share(ctx context.Context, l Lease, x Shared, ttl time.Duration) (id string, err error) {
	var b [8]byte
	rand.Read(b[:]) // never fails
	id = hex.EncodeToString(b[:])
	tag, err := s.conn.Exec(ctx, `with x as (insert into rouse.shared (id, home, observation, rule, sum, note, expires)
		select $1, h.id, $3, nullif($4::bigint, 0), $6, $7, clock_timestamp() + $8 * interval '1 microsecond' from rouse.homes h where h.id = $2 and ($9::bigint = 0 or h.epoch = $9 and h.holder is not null) and h.tenant = rouse.tenant()
			and exists (select from rouse.contents where tenant = rouse.tenant() and sum = $6)
		on conflict (rule, observation) do nothing returning id),
		w as (insert into rouse.readers (home, shared) select n.id, x.id from x, rouse.homes n where n.tenant = rouse.tenant() and (n.name = any($5) or n.id in (select unnest(homes) from rouse.rules where id = $4)))
		select id from x`, id, l.Home, x.Observation, x.Rule, x.With, x.Sum, x.Note, ttl.Microseconds(), l.Epoch)
	if err == nil && tag.RowsAffected() == 0 {
		return "", fmt.Errorf("observation %s is not shared: its content was removed meanwhile, or: %w", x.Observation, ErrLost)
	}
	return id, told(err)
}

// Rules are those of a home, or of all with 0.
func (s *Store) Rules(ctx context.Context, home int64) ([]Rule, error) {
	rows, err := s.conn.Query(ctx, `select x.id, h.name, x.tool, array(select name from rouse.homes n where n.id = any(x.homes) order by name), extract(epoch from x.ttl)::bigint, x.made,
			(select count(*) from rouse.shared s where s.rule = x.id and s.made > clock_timestamp() - interval '1 day'), array(select observation from rouse.shared s where s.rule = x.id)
		from rouse.rules x join rouse.homes h on h.id = x.home where not x.ended and ($1::bigint = 0 or h.id = $1) order by x.id`, home)
	if err != nil {
		return nil, told(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Rule])
	return all, told(err)
}

// AddRule makes a rule, and gives its id. [ErrNone] is a home that is not there.
func (s *Store) AddRule(ctx context.Context, r Rule) (id int64, err error) {
	err = s.conn.QueryRow(ctx, `insert into rouse.rules (home, tool, homes, ttl) select id, $2, array(select id from rouse.homes where tenant = rouse.tenant() and name = any($3)), $4 * interval '1 second'
		from rouse.homes where tenant = rouse.tenant() and name = $1 returning id`, r.Home, r.Tool, r.With, r.TTL).Scan(&id)
	return id, none(err)
}

// EndShared ends what is shared under an id, or the rule of one: what that shared stays until
// it expires. It says whether there was one.
func (s *Store) EndShared(ctx context.Context, id string, rule int64) (bool, error) {
	tag, err := s.conn.Exec(ctx, `with r as (update rouse.rules set ended = true where id = $2 and not ended returning id), x as
		(update rouse.shared set expires = clock_timestamp() where id = $1 and expires > clock_timestamp() returning id) select id::text from r union all select id from x`, id, rule)
	return tag.RowsAffected() > 0, told(err)
}
