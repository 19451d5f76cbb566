package store

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// KeepDays is for how long versions are kept where the owner set nothing else, and Grace how
// long what no version names.
const (
	KeepDays = 30
	Grace    = 24 * time.Hour
)

// page is how many contents or chunks are looked at at once.
const page = 5000

// Prune is what may go: versions that are older and not among the newest ten of a home, and
// contents and chunks that nothing names and no upload counts on.
type Prune struct {
	Days  int64         // of versions, below 0 for what the limits say
	Grace time.Duration // of what no version names
	Dry   bool          // only say what would go
}

// Pruned is what went, or would.
type Pruned struct {
	Versions int64 `json:"versions"`
	Contents int64 `json:"contents"`
	Chunks   int64 `json:"chunks"`
	Bytes    int64 `json:"bytes"`   // of the table, compressed
	Objects  int64 `json:"objects"` // of the bucket
}

// PruneDaily prunes by the limits, unless somebody did so within a day: one of all who ask.
func (s *Store) PruneDaily(ctx context.Context) (Pruned, error) {
	tag, err := s.conn.Exec(ctx, `insert into rouse.pruned (at) select clock_timestamp() where not exists (select from rouse.pruned where tenant = rouse.tenant() and at > clock_timestamp() - interval '1 day')
		on conflict (tenant) do update set at = excluded.at where pruned.at < excluded.at - interval '1 day'`)
	if err != nil || tag.RowsAffected() == 0 {
		return Pruned{}, told(err)
	}
	return s.Prune(ctx, Prune{Days: -1, Grace: Grace})
}

// Forgotten says whether a home had versions of an epoch and before of which none is kept.
func (s *Store) Forgotten(ctx context.Context, home, epoch int64) (is bool, err error) {
	err = s.conn.QueryRow(ctx, `select version > 10 and not exists (select from rouse.versions v where home = $1 and v.epoch <= $2) from rouse.homes where id = $1`, home, epoch).Scan(&is)
	return is, none(err)
}

// Prune removes what need not be kept. What an upload counts on stays, as it says in the
// store when it begins, and as what it is told to be there is marked then; so what was marked
// before all that, and is named nowhere after it, is nobody's. Killed anywhere, it is run again.
func (s *Store) Prune(ctx context.Context, p Prune) (r Pruned, err error) {
	if p.Days < 0 {
		l, err := s.Limits(ctx)
		if err != nil {
			return r, err
		}
		p.Days = l.Keep
	}
	what := `select rouse.prune_versions($1)`
	if p.Dry {
		what = `select count(*) from rouse.stale($1)`
	}
	if err = s.conn.QueryRow(ctx, what, p.Days).Scan(&r.Versions); err != nil {
		return r, told(err)
	}
	var horizon time.Time // before all that is read below
	if err = s.conn.QueryRow(ctx, `select rouse.horizon($1::bigint * interval '1 microsecond')`, p.Grace.Microseconds()).Scan(&horizon); err != nil {
		return r, told(err)
	}
	named, err := s.filter(ctx)
	if err != nil {
		return r, err
	}
	used := &filter{make([]byte, len(named.bits)), rand.Uint64()}
	if err = s.named(ctx, p, named, used); err == nil {
		err = s.sweep(ctx, "contents", "0, 0", horizon, named, p.Dry, &r.Contents, new(int64), new(int64))
	}
	if err != nil {
		return r, err
	}
	var sum, content []byte
	err = stream(ctx, s.conn, `select u, sum from rouse.contents, unnest(chunks) u where tenant = rouse.tenant()`, nil, []any{&sum, &content}, func() error {
		if !p.Dry || named.has(content) {
			used.add(sum)
		}
		return nil
	})
	if err == nil {
		err = s.sweep(ctx, "chunks", "coalesce(sum(octet_length(data)), 0), count(*) filter (where data is null)", horizon, used, p.Dry, &r.Chunks, &r.Bytes, &r.Objects)
	}
	if err == nil && !p.Dry { // also of those that were killed
		r.Objects, err = s.emptyTrash(ctx, horizon)
	}
	return r, err
}

// stream does something with each row of a query as it comes.
func stream(ctx context.Context, q querier, sql string, args, into []any, do func() error) error {
	rows, err := q.Query(ctx, sql, args...)
	if err == nil {
		_, err = pgx.ForEachRow(rows, into, do)
	}
	return told(err)
}

// sweep removes the contents or chunks that were last seen before a time and are not named, and
// adds to how many these were, their bytes in the table, and how many lay in the bucket.
func (s *Store) sweep(ctx context.Context, table, sizes string, before time.Time, named *filter, dry bool, counts ...*int64) error {
	what := `select count(*), ` + sizes + ` from rouse.` + table + ` where tenant = rouse.tenant() and sum = any($1) and seen < $2`
	if !dry {
		what = `select n, size, away from rouse.prune_` + table + `($1, $2)`
	}
	for last := []byte{}; ; {
		sums, err := list[[]byte](ctx, s.conn, `select sum from rouse.`+table+` where tenant = rouse.tenant() and sum > $1 and seen < $2 order by sum limit $3`, last, before, page)
		if err != nil || len(sums) == 0 {
			return err
		}
		last = sums[len(sums)-1]
		var more [3]int64
		if gone := slices.DeleteFunc(sums, named.has); len(gone) > 0 {
			err = s.conn.QueryRow(ctx, what, gone, before).Scan(&more[0], &more[1], &more[2])
		}
		for i, n := range more {
			*counts[i] += n
		}
		if err != nil {
			return told(err)
		}
	}
}

// filter remembers hashes in bounded memory, a bit each. It takes one in 64 and, past eight
// million, more for another that it was told, so that this stays; the next time it is mixed
// up otherwise.
type filter struct {
	bits []byte
	salt uint64
}

// filter is one for as many chunks as there are, of 1 to 64 MiB.
func (s *Store) filter(ctx context.Context) (*filter, error) {
	var n int64
	err := s.conn.QueryRow(ctx, `select count(*) from rouse.chunks where tenant = rouse.tenant()`).Scan(&n)
	return &filter{make([]byte, min(max(1<<20, 8*n), 64<<20)), rand.Uint64()}, told(err)
}

// at is where the bit of a hash is, whose first bytes are as good as all.
func (f *filter) at(sum []byte) (at uint64, bit byte) {
	x := (binary.LittleEndian.Uint64(sum) ^ f.salt) * 0x9e3779b97f4a7c15 >> 16
	return x / 8 % uint64(len(f.bits)), 1 << (x % 8)
}

func (f *filter) add(sum []byte) {
	at, bit := f.at(sum)
	f.bits[at] |= bit
}

func (f *filter) has(sum []byte) bool {
	at, bit := f.at(sum)
	return f.bits[at]&bit != 0
}
