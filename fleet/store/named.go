package store

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"rouse/agent/history"
)

// naming reads what the versions of homes name, each piece that a home's have in common once.
type naming struct {
	*Store
	tx          pgx.Tx
	named, used *filter         // contents, and pieces
	seen        map[string]bool // pieces of a home: no filter, as one that is taken for another is not read
	lists       [][][]byte      // those that are to be read, by how many levels are below them
}

// named adds what is shared, what the versions that stay name, and their pieces, all as of one
// moment: whatever is committed later has them from a version of then, or is counted on.
func (s *Store) named(ctx context.Context, p Prune, named, used *filter) error {
	return told(pgx.BeginTxFunc(ctx, s.conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		n := naming{Store: s, tx: tx, named: named, used: used}
		var sum []byte
		err := stream(ctx, tx, `select sum from rouse.shared where expires > clock_timestamp()`, nil, []any{&sum}, func() error { named.add(sum); return nil })
		if err != nil {
			return err
		}
		homes, err := list[string](ctx, tx, `select name from rouse.homes where tenant = rouse.tenant()`)
		for _, home := range homes {
			if err == nil {
				err = n.home(ctx, p, home)
			}
		}
		return err
	}))
}

// home reads manifests that are whole, then level by level what others are made of.
func (n *naming) home(ctx context.Context, p Prune, home string) error {
	n.seen, n.lists = map[string]bool{}, nil
	var t tree
	err := stream(ctx, n.tx, `select manifest, levels from rouse.versions v where home = (select id from rouse.homes where tenant = rouse.tenant() and name = $3)
			and not ($1 and exists (select from rouse.stale($2) s where s.home = v.home and s.version = v.version))`, []any{p.Dry, p.Days, home}, []any{&t.frame, &t.levels}, func() error { return n.top(t) })
	for level := len(n.lists) - 1; level >= 0; level-- {
		for some := range slices.Chunk(n.lists[level], 1000) {
			var text []byte
			if err == nil {
				text, err = n.below(ctx, n.tx, some)
			}
			if err == nil {
				err = n.take(level, text)
			}
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: a manifest cannot be read, so nobody knows what it needs, and no content was removed: %w", home, err)
	}
	return err
}

// top takes what a row has.
func (n *naming) top(t tree) error {
	text, err := n.manifests.Piece(t.frame, maxText)
	if err == nil && t.levels == 0 {
		_, err = history.Parse(text)
	}
	return cmp.Or(err, n.take(t.levels, text))
}

// take takes what of a manifest is above some levels: a list, or entries.
func (n *naming) take(levels int, text []byte) error {
	if levels == 0 {
		entries, err := history.Entries(text)
		for _, e := range entries {
			if raw, err := hex.DecodeString(e.Is); e.Kind == history.File && err == nil {
				n.named.add(raw)
			}
		}
		return err
	}
	for len(n.lists) < levels {
		n.lists = append(n.lists, nil)
	}
	sums, err := sumsOf(text)
	for _, sum := range sums {
		if !n.seen[string(sum)] {
			n.seen[string(sum)] = true
			n.used.add(sum)
			n.lists[levels-1] = append(n.lists[levels-1], sum)
		}
	}
	return err
}
