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

	"github.com/jackc/pgx/v5"
)

// chunk is the largest piece of a content in one row, and batch how much of them is
// held before it is sent, both in bytes.
const chunk, batch = 1 << 20, 8 << 20

// maxBatch is how many contents are sent at once, however small.
const maxBatch = 500

// Manifest is that of the newest version of a home or, unless that is 0, of an epoch, and
// which version it is.
func (s *Store) Manifest(ctx context.Context, home, epoch int64) (manifest []byte, version int, err error) {
	err = s.conn.QueryRow(ctx, `select manifest, version from rouse.versions where home = $1 and ($2 = 0 or epoch = $2) order by version desc limit 1`, home, epoch).Scan(&manifest, &version)
	return manifest, version, none(err)
}

// Missing are those of some contents, by their SHA-256 in hex, that are not in the store.
func (s *Store) Missing(ctx context.Context, sums []string) (map[string]bool, error) {
	missing, raw := map[string]bool{}, make([][]byte, len(sums))
	for i, sum := range sums {
		missing[sum] = true
		raw[i], _ = hex.DecodeString(sum)
	}
	there, err := list[[]byte](ctx, s, `select sum from rouse.contents where tenant = rouse.tenant() and sum = any($1)`, raw)
	for _, sum := range there {
		delete(missing, hex.EncodeToString(sum))
	}
	return missing, err
}

// list are the rows of a query, each of one value.
func list[T any](ctx context.Context, s *Store, sql string, args ...any) ([]T, error) {
	rows, err := s.conn.Query(ctx, sql, args...)
	if err != nil {
		return nil, told(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[T])
	return all, told(err)
}

// Upload puts contents into the store. What was sent stays there, so one that was killed
// goes on where it was.
type Upload struct {
	s      *Store
	chunks map[string][]byte // that wait to be sent, by their SHA-256
	whole  pgx.Batch         // contents whose chunks are among them, or there
	bytes  int
	piece  []byte
	Sent   int64 // bytes, compressed
}

// Upload begins one; [Upload.Flush] ends it.
func (s *Store) Upload() *Upload {
	return &Upload{s: s, chunks: map[string][]byte{}, piece: make([]byte, chunk)}
}

// Add puts a content into the store, and gives its SHA-256 in hex.
func (u *Upload) Add(ctx context.Context, r io.Reader) (string, error) {
	sums, hash := [][]byte{}, sha256.New()
	for {
		n, err := io.ReadFull(r, u.piece)
		if n > 0 {
			hash.Write(u.piece[:n])
			sum := sha256.Sum256(u.piece[:n])
			sums = append(sums, sum[:])
			u.chunks[string(sum[:])] = bytes.Clone(u.piece[:n])
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
	u.whole.Queue(`insert into rouse.contents (sum, chunks) values ($1, $2) on conflict do nothing`, is, sums)
	if u.whole.Len() >= maxBatch {
		return hex.EncodeToString(is), u.Flush(ctx)
	}
	return hex.EncodeToString(is), nil
}

// Flush sends what waits: chunks that are not there yet, then the contents that are made of them.
func (u *Upload) Flush(ctx context.Context) error {
	sums := make([][]byte, 0, len(u.chunks))
	for sum := range u.chunks {
		sums = append(sums, []byte(sum))
	}
	there, err := list[[]byte](ctx, u.s, `select sum from rouse.chunks where tenant = rouse.tenant() and sum = any($1)`, sums)
	if err != nil {
		return err
	}
	for _, sum := range there {
		delete(u.chunks, string(sum))
	}
	var b pgx.Batch
	for sum, piece := range u.chunks {
		frame, err := u.s.codec.Frame(piece)
		if err != nil {
			return err
		}
		u.Sent += int64(len(frame))
		b.Queue(`insert into rouse.chunks (sum, data) values ($1, $2) on conflict do nothing`, []byte(sum), frame)
	}
	b.QueuedQueries = append(b.QueuedQueries, u.whole.QueuedQueries...)
	u.chunks, u.whole, u.bytes = map[string][]byte{}, pgx.Batch{}, 0
	if b.Len() == 0 {
		return nil
	}
	return told(u.s.conn.SendBatch(ctx, &b).Close())
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
	if c.piece, err = c.s.codec.Piece(frame, chunk); err != nil {
		return fmt.Errorf("a chunk of the content %.12s is damaged in the store: %w", c.sum, err)
	}
	c.chunks = c.chunks[1:]
	c.hash.Write(c.piece)
	return nil
}
