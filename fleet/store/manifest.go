package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A manifest of more than inline bytes is cut into pieces, which lie among the chunks; its row
// lists their sums, a line each. A list of more than maxList bytes is cut the same way. A piece
// has about 16 lines, and little more than maxPiece bytes at most.
const inline, maxList, maxPiece = 24 << 10, 4 << 10, 32 << 10

// maxText bounds the text of a manifest, as a history does.
const maxText = 256 << 20

// tree is a manifest as its row has it: whole, or a list of what is a level below, in a frame.
type tree struct {
	frame  []byte
	levels int
}

// Manifest is the text of that of the newest version of a home or, unless that is 0, of an
// epoch, and which version it is.
func (s *Store) Manifest(ctx context.Context, home, epoch int64) (text []byte, version int, err error) {
	var t tree
	var name string
	err = s.conn.QueryRow(ctx, `select v.manifest, v.levels, v.version, h.name from rouse.versions v join rouse.homes h on h.id = v.home
		where v.home = $1 and ($2 = 0 or v.epoch = $2) order by v.version desc limit 1`, home, epoch).Scan(&t.frame, &t.levels, &version, &name)
	if err != nil {
		return nil, 0, none(err)
	}
	if text, err = s.text(ctx, t, 0, func([]byte) {}); err != nil {
		err = fmt.Errorf("version %d of %s: %w", version, name, err)
	}
	return text, version, err
}

// text is what a tree has at some level, 0 for the manifest. It tells of the sums of all that
// is below the top, down to that of the level before.
func (s *Store) text(ctx context.Context, t tree, down int, tell func(sum []byte)) (text []byte, err error) {
	text, err = s.manifests.Piece(t.frame, maxText)
	for ; err == nil && t.levels > 0; t.levels-- {
		var sums [][]byte
		sums, err = sumsOf(text)
		for _, sum := range sums {
			tell(sum)
		}
		if err == nil && t.levels > down {
			text, err = s.below(ctx, s.conn, sums)
		}
	}
	return text, err
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// below is the text of pieces, each of which is what its hash says.
func (s *Store) below(ctx context.Context, q querier, sums [][]byte) (text []byte, err error) {
	read, sum, frame := map[string][]byte{}, []byte{}, []byte{}
	err = stream(ctx, q, `select sum, coalesce(data, '') from rouse.chunks where tenant = rouse.tenant() and sum = any($1)`, []any{sums}, []any{&sum, &frame}, func() error {
		read[string(sum)] = frame
		return nil
	})
	for _, sum := range sums {
		var piece []byte
		frame, there := read[string(sum)]
		if err == nil && !there {
			err = fmt.Errorf("the piece %.6x of its manifest is missing in the store: restore it there, from a backup", sum)
		}
		if err == nil {
			piece, err = s.piece(ctx, sum, frame)
		}
		text = append(text, piece...)
	}
	return text, err
}

// sumsOf are those that a list has.
func sumsOf(list []byte) (sums [][]byte, err error) {
	for _, line := range strings.Fields(string(list)) {
		sum, failed := hex.DecodeString(line)
		if failed != nil || len(sum) != sha256.Size {
			err = errors.New("a list of pieces is damaged")
		}
		sums = append(sums, sum)
	}
	return sums, err
}

// cut gives the pieces of a text. A line says itself whether a piece ends with it, so where
// a text changes, the pieces around do and no others.
func cut(text []byte) (pieces [][]byte) {
	from, at := 0, 0
	for line := range bytes.Lines(text) {
		at += len(line)
		if at == len(text) || at-from > maxPiece || crc32.ChecksumIEEE(line)%16 == 0 {
			pieces, from = append(pieces, text[from:at]), at
		}
	}
	return pieces
}

// pieces cuts a manifest into pieces, which it gives by their sums, and its lists too, up to
// the one that the row is to have.
func pieces(text []byte) (all map[string][]byte, top []byte, levels int) {
	all = map[string][]byte{}
	for top = text; levels == 0 || len(top) > maxList; levels++ {
		var list []byte
		for _, p := range cut(top) {
			sum := sha256.Sum256(p)
			all[string(sum[:])] = p
			list = fmt.Appendf(list, "%x\n", sum)
		}
		top = list
	}
	return all, top, levels
}

// lay puts what a large manifest is made of into the store, and gives what its row is to have.
// Of that only what is new is counted on, as contents are. The rest the newest version has, which
// prune keeps, and on top of which the commit is, or none.
func (s *Store) lay(ctx context.Context, l Lease, text []byte) (t tree, err error) {
	if len(text) <= inline {
		t.frame, err = s.manifests.Frame(text)
		return t, err
	}
	all, top, levels := pieces(text)
	known, err := s.known(ctx, l)
	u := &Upload{s: s, chunks: map[string]piece{}}
	for sum, p := range all {
		if err == nil && !known[sum] {
			u.chunks[sum] = piece{data: p}
			u.bytes += len(p)
		}
		if err == nil && u.bytes >= batch {
			err = u.Flush(ctx)
		}
	}
	if err == nil {
		err = u.Flush(ctx)
	}
	if err == nil {
		t.frame, err = s.manifests.Frame(top)
	}
	t.levels = levels
	return t, err
}

// known is what the newest version of a home is made of. From here on until the lease ends
// prune takes nothing that is counted on.
func (s *Store) known(ctx context.Context, l Lease) (map[string]bool, error) {
	var t tree
	err := s.conn.QueryRow(ctx, held+`, sends as (update rouse.homes h set sending = clock_timestamp() from held where h.id = held.id and sending is null)
		select coalesce(manifest, ''), coalesce(levels, 0) from held left join lateral (select manifest, levels from rouse.versions where home = held.id order by version desc limit 1) v on true`, l.Home, l.Epoch).Scan(&t.frame, &t.levels)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, ErrLost
	}
	known := map[string]bool{}
	if err != nil || t.levels == 0 {
		return known, told(err)
	}
	if _, err := s.text(ctx, t, 1, func(sum []byte) { known[string(sum)] = true }); err != nil {
		clear(known) // what is damaged there may be mended, as all is asked for
	}
	return known, nil
}
