package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// chunk is the largest piece of a content in one row, and batch how much of them is
// held before it is sent, both in bytes.
const chunk, batch = 1 << 20, 8 << 20

// maxBatch is how many contents are sent at once, however small.
const maxBatch = 500

// Missing are those of some contents, by their SHA-256 in hex, that are not in the store.
// What is there stays until the commit.
func (u *Upload) Missing(ctx context.Context, sums []string) (map[string]bool, error) {
	missing, raw := map[string]bool{}, make([][]byte, len(sums))
	for i, sum := range sums {
		missing[sum] = true
		raw[i], _ = hex.DecodeString(sum)
	}
	if err := u.begin(ctx); err != nil {
		return nil, err
	}
	there, err := u.s.see(ctx, "contents", raw)
	for _, sum := range there {
		delete(missing, hex.EncodeToString(sum))
	}
	return missing, err
}

// see gives those of some contents or chunks that are there, which are now counted on. All
// who do so lock them in the same order.
func (s *Store) see(ctx context.Context, table string, sums [][]byte) ([][]byte, error) {
	return list[[]byte](ctx, s.conn, `with there as (select sum from rouse.`+table+` where tenant = rouse.tenant() and sum = any($1) order by sum for no key update)
		update rouse.`+table+` t set seen = clock_timestamp() from there where t.tenant = rouse.tenant() and t.sum = there.sum returning t.sum`, sums)
}

// list are the rows of a query, each of one value.
func list[T any](ctx context.Context, q querier, sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, told(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[T])
	return all, told(err)
}

// Upload puts contents into the store for the next commit of a lease. What was sent stays
// there, so one that was killed goes on where it was.
type Upload struct {
	s      *Store
	lease  Lease
	began  time.Time // zero before anything was asked
	bucket *bucket
	chunks map[string]piece    // that wait to be sent, by their SHA-256
	whole  map[string][][]byte // contents whose chunks are among them, or there
	bytes  int
	piece  []byte
	Sent   int64 // bytes, compressed
}

// maxUpload is for how long what an upload counts on is kept for it, less a day.
const maxUpload = 6 * 24 * time.Hour

// Upload begins one; [Upload.Flush] ends it. Without a lease what was sent stays for a day, as
// all does that nobody names yet.
func (s *Store) Upload(l Lease) *Upload {
	return &Upload{s: s, lease: l, chunks: map[string]piece{}, whole: map[string][][]byte{}, piece: make([]byte, chunk)}
}

// begin says in the store that there is an upload, so that nothing which it counts on from
// now on is removed before its commit.
func (u *Upload) begin(ctx context.Context) (err error) {
	if !u.began.IsZero() {
		if time.Now().Round(0).Sub(u.began) > maxUpload {
			return errors.New("the upload goes on for six days, and what was sent first may be removed again: start it anew, which sends only what is missing")
		}
		return nil
	}
	if u.bucket, err = u.s.bucket(ctx); err != nil {
		return err
	}
	u.began = time.Now().Round(0) // also of machines that sleep
	if u.lease.Epoch == 0 {
		return nil
	}
	return u.s.guarded(ctx, held+`update rouse.homes h set sending = clock_timestamp() from held where h.id = held.id`, u.lease.Home, u.lease.Epoch)
}

// Add puts a content into the store, and gives its SHA-256 in hex.
func (u *Upload) Add(ctx context.Context, r io.Reader) (string, error) {
	if err := u.begin(ctx); err != nil {
		return "", err
	}
	sums, hash := [][]byte{}, sha256.New()
	for {
		n, err := io.ReadFull(r, u.piece)
		if n > 0 {
			hash.Write(u.piece[:n])
			sum := sha256.Sum256(u.piece[:n])
			away := u.bucket != nil && (n == chunk || len(sums) > 0)
			sums = append(sums, sum[:])
			u.chunks[string(sum[:])] = piece{bytes.Clone(u.piece[:n]), away}
			u.bytes += n
		}
		if u.bytes >= batch {
			if err := u.Flush(ctx); err != nil {
				return "", err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return "", err
		}
	}
	is := hash.Sum(nil)
	u.whole[string(is)] = sums
	if len(u.whole) >= maxBatch {
		return hex.EncodeToString(is), u.Flush(ctx)
	}
	return hex.EncodeToString(is), nil
}

// Flush sends what waits: chunks that are not there yet, then the contents that are made of them.
func (u *Upload) Flush(ctx context.Context) error {
	there, err := u.s.see(ctx, "chunks", sorted(u.chunks))
	if err != nil {
		return err
	}
	for _, sum := range there {
		delete(u.chunks, string(sum))
	}
	var b pgx.Batch
	var away [][]byte
	frames := map[string][]byte{}
	for _, sum := range sorted(u.chunks) {
		frame, err := u.s.codec.Frame(u.chunks[string(sum)].data)
		if err != nil {
			return err
		}
		u.Sent += int64(len(frame))
		if u.chunks[string(sum)].away {
			away = append(away, sum)
			frames[string(sum)], frame = frame, nil
		}
		b.Queue(`insert into rouse.chunks (sum, data) values ($1, $2) on conflict (tenant, sum) do update set seen = clock_timestamp()`, sum, frame)
	}
	if len(away) > 0 {
		if err := u.putAway(ctx, frames, away); err != nil {
			return err
		}
		b.Queue(`delete from rouse.trash where tenant = rouse.tenant() and sum = any($1)`, away)
	}
	for _, sum := range sorted(u.whole) {
		b.Queue(`insert into rouse.contents (sum, chunks) values ($1, $2) on conflict (tenant, sum) do update set seen = clock_timestamp()`, sum, u.whole[string(sum)])
	}
	if b.Len() > 0 {
		err = told(u.s.conn.SendBatch(ctx, &b).Close())
	}
	if err == nil {
		u.bytes = 0
		clear(u.chunks)
		clear(u.whole)
	}
	return err
}

// sorted are the keys of what is sent: all uploads lock rows in one order.
func sorted[V any](of map[string]V) (keys [][]byte) {
	for _, key := range slices.Sorted(maps.Keys(of)) {
		keys = append(keys, []byte(key))
	}
	return keys
}

// Content reads a content, a chunk at a time. Its end is an error unless all before it was
// what the hash says.
func (s *Store) Content(ctx context.Context, sum string) (io.Reader, error) {
	raw, err := hex.DecodeString(sum)
	if err != nil {
		return nil, err
	}
	c := &content{s: s, ctx: ctx, hash: sha256.New(), sum: sum}
	err = s.conn.QueryRow(ctx, `select t.chunks, c.data from rouse.contents t left join rouse.chunks c on c.sum = t.chunks[1] and c.tenant = rouse.tenant()
		where t.tenant = rouse.tenant() and t.sum = $1`, raw).Scan(&c.chunks, &c.first)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, c.missing()
	}
	return c, told(err)
}

// content is one that is read.
type content struct {
	s      *Store
	ctx    context.Context
	chunks [][]byte // that are not read yet
	first  []byte   // of them, which came with the list
	hash   hash.Hash
	sum    string
	piece  []byte
}

func (c *content) missing() error {
	return fmt.Errorf("the content %.12s is damaged or missing in the store", c.sum)
}

func (c *content) Read(b []byte) (n int, err error) {
	for len(c.piece) == 0 {
		if len(c.chunks) == 0 && hex.EncodeToString(c.hash.Sum(nil)) != c.sum {
			return 0, c.missing()
		}
		if len(c.chunks) == 0 {
			return 0, io.EOF
		}
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n = copy(b, c.piece)
	c.piece = c.piece[n:]
	return n, nil
}

// next reads the next chunk.
func (c *content) next() (err error) {
	frame := c.first
	if c.first = nil; frame == nil {
		err = c.s.conn.QueryRow(c.ctx, `select data from rouse.chunks where tenant = rouse.tenant() and sum = $1`, c.chunks[0]).Scan(&frame)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return c.missing()
	}
	if err != nil {
		return told(err)
	}
	if c.piece, err = c.s.piece(c.ctx, c.chunks[0], frame); err != nil {
		return fmt.Errorf("the content %.12s: %w", c.sum, err)
	}
	c.chunks = c.chunks[1:]
	c.hash.Write(c.piece)
	return nil
}

// piece is what a chunk has, whose frame is empty where it is in the bucket.
func (s *Store) piece(ctx context.Context, sum, frame []byte) (piece []byte, err error) {
	where := "the store"
	if len(frame) == 0 {
		if frame, where, err = s.away(ctx, hex.EncodeToString(sum)); err != nil {
			return nil, err
		}
	}
	piece, err = s.codec.Piece(frame, chunk)
	if is := sha256.Sum256(piece); err == nil && !bytes.Equal(is[:], sum) {
		err = errors.New("its hash is another")
	}
	if err != nil {
		return nil, fmt.Errorf("a chunk is damaged in %s: %w", where, err)
	}
	return piece, nil
}
