package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"rouse/internal/mirror"
)

// Mirror keeps what the cycle of a lease is about to rely on, such as that a call starts.
// Whoever has no nil of it must not start the call.
func (s *Store) Mirror(ctx context.Context, l Lease, line mirror.Line) error {
	at := line.At
	if line.Whole {
		at = -1
	}
	return s.guarded(ctx, held+`insert into rouse.lines (home, epoch, path, at, data) select id, $2, $3, $4, coalesce($5, ''::bytea) from held`, l.Home, l.Epoch, line.Path, at, line.Data)
}

// Lines are what cycles mirrored since the newest version of a home, in their order.
func (s *Store) Lines(ctx context.Context, home int64) ([]mirror.Line, error) {
	rows, err := s.conn.Query(ctx, `select path, at, data from rouse.lines where home = $1 order by epoch, n`, home)
	if err != nil {
		return nil, told(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (line mirror.Line, err error) {
		err = row.Scan(&line.Path, &line.At, &line.Data)
		line.Whole, line.At = line.At < 0, max(line.At, 0)
		return line, err
	})
	return all, told(err)
}
