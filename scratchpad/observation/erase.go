package observation

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"rouse/internal/erase"
)

// Erase takes a value out of all entries, and only counts where it stands unless do is
// set. What contents are without it is put down in sums. Then nothing of the database's
// free pages is left either. It may be killed at any point and be done again.
func (s *Store) Erase(ctx context.Context, e *erase.Eraser, sums erase.Sums, do bool) (hits int, err error) {
	if hits, err = s.erase(e, sums, do); err == nil && do {
		err = s.scour(ctx)
	}
	if err == nil && !do {
		var raw int
		raw, err = s.eraseRaw(e)
		hits = max(hits, raw)
	}
	if err != nil {
		return hits, fmt.Errorf("erase in observations: %w", s.explain(err))
	}
	return hits, nil
}

func (s *Store) erase(e *erase.Eraser, sums erase.Sums, do bool) (hits int, err error) {
	if _, err := s.db.Exec(`PRAGMA secure_delete = ON`); err != nil {
		return 0, err
	}
	list, err := s.List(Filter{Expired: true})
	if err != nil {
		return 0, err
	}
	for _, was := range list {
		n, err := s.eraseEntry(was, e, sums, do)
		if hits += n; err != nil {
			return hits, err
		}
	}
	return hits, nil
}

// eraseRaw counts what stands in the database as it lies on the disk, in pages that
// nothing names too.
func (s *Store) eraseRaw(e *erase.Eraser) (hits int, err error) {
	for _, suffix := range []string{"", "-wal"} {
		f, err := os.Open(filepath.Join(s.dir, database+suffix))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return hits, err
		}
		n, err := e.Look(f, nil)
		if f.Close(); err != nil {
			return hits, err
		}
		hits += n
	}
	return hits, nil
}

func (s *Store) eraseEntry(was Entry, e *erase.Eraser, sums erase.Sums, do bool) (hits int, err error) {
	now := was
	metadata := string(was.Metadata)
	for _, text := range []*string{&now.Summary, &now.Facts, &now.Label, &now.Executor, &now.MIME, &metadata} {
		out, n := e.Bytes([]byte(*text))
		*text = string(out)
		hits += n
	}
	c, err := s.get(was.ID, scope{where: `true`})
	if err != nil {
		return hits, nil // its file is gone
	}
	defer c.Close()
	in, err := e.Look(c.Reader(), sums)
	if hits += in; err != nil || !do || hits == 0 {
		return hits, err
	}
	w := &Writer{}
	if in > 0 {
		if w, err = s.again(c, e); err != nil {
			return hits, err
		}
		kind := w.digest.entry()
		kind.n, kind.Facts, kind.Executor, kind.Label, kind.MIME = now.n, e.String(kind.Facts), now.Executor, now.Label, e.String(kind.MIME)
		now = kind
	}
	return hits, s.replace(was, now, metadata, w, in > 0)
}

// again writes a content once more, without the value. Its file has another name.
func (s *Store) again(c *Content, e *erase.Eraser) (*Writer, error) {
	turn := &Turn{s: s}
	if strings.HasPrefix(c.Entry.file, "0-") {
		turn.n = 1 << 40 // no turn has either
	}
	w := turn.Create(Origin{})
	w.id = c.ID
	if err := s.unlink(fmt.Sprintf("%d-%s.zst", turn.n, c.ID)); err != nil {
		return nil, err
	}
	if err := s.unlink(fmt.Sprintf("%d-%s.raw", turn.n, c.ID)); err != nil {
		return nil, err
	}
	_, err := io.Copy(w, e.Reader(c.Reader()))
	w.finish()
	if err = cmp.Or(err, w.seal()); err != nil {
		w.discard(nil)
	}
	return w, err
}

// replace makes an entry what it is without the value, and removes what it was.
func (s *Store) replace(was, now Entry, metadata string, w *Writer, content bool) error {
	err := s.change(func(tx *sql.Tx) error {
		if _, err := tx.Exec(`UPDATE entries SET summary = ?, facts = ?, label = ?, executor_name = ?, mime = ?, metadata = ? WHERE n = ?`,
			now.Summary, now.Facts, now.Label, now.Executor, now.MIME, metadata, was.n); err != nil || !content {
			return err
		}
		var small []byte
		if w.small {
			small = w.block.data
		}
		if _, err := tx.Exec(`UPDATE entries SET content_kind = ?, size_bytes = ?, runes = ?, lines = ?, sha256 = ?, valid = ?, stored_bytes = ?,
			codec = ?, file = ?, content = ? WHERE n = ?`, now.Kind, now.Bytes, now.Runes, now.Lines, now.SHA256, now.valid, w.index.end.offset,
			s.opt.Codec, w.name, small, was.n); err != nil {
			return err
		}
		if _, err := tx.Exec(`DELETE FROM chunks WHERE entry = ?`, was.n); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE used SET bytes = (SELECT coalesce(sum(stored_bytes), 0) FROM entries)`); err != nil || w.small {
			return err
		}
		return w.index.insert(tx, was.n)
	})
	if err != nil || !content {
		return err
	}
	return s.unlink(was.file)
}

// scour leaves nothing of what was there: no file that no entry names, whatever its age,
// no page that is free and no write-ahead log.
func (s *Store) scour(ctx context.Context) error {
	now := s.opt.Now
	s.opt.Now = func() time.Time { return now().Add(s.opt.TTL + time.Hour) }
	err := s.removeOrphans(ctx, &Stats{})
	s.opt.Now = now
	for _, query := range []string{`VACUUM`, `PRAGMA wal_checkpoint(TRUNCATE)`} {
		if err == nil {
			_, err = s.db.Exec(query)
		}
	}
	return err
}
