package observation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Stats says what a GC did.
type Stats struct {
	Entries int   // expired ones that it removed
	Orphans int   // files without an entry that it removed
	Bytes   int64 // that both gave back, as stored
	More    bool  // it ran out of time, and there may be more
}

// gcBatch is how many entries go in one transaction.
const gcBatch = 200

// GC ends the turns whose process is gone, and removes expired entries and files
// that no entry names, those of a turn that still runs excepted, until ctx is
// over.
func (s *Store) GC(ctx context.Context) (Stats, error) {
	var st Stats
	if err := s.gc(ctx, &st); err != nil {
		return st, fmt.Errorf("collect observations: %w", s.explain(err))
	}
	if st.Entries+st.Orphans > 0 {
		s.say("expired observations were removed, entries=%d, orphaned_files=%d, bytes=%d", st.Entries, st.Orphans, st.Bytes)
	}
	return st, nil
}

func (s *Store) gc(ctx context.Context, st *Stats) error {
	if err := s.mark(); err != nil {
		return err
	}
	if err := s.change(s.endDead); err != nil {
		return err
	}
	for more := true; more; {
		if ctx.Err() != nil {
			st.More = true
			return nil
		}
		var err error
		if more, err = s.removeExpired(st); err != nil {
			return err
		}
	}
	if err := s.removeOrphans(ctx, st); err != nil {
		return err
	}
	if _, err := s.db.Exec(`DELETE FROM turns WHERE ended_at < ? AND id NOT IN (SELECT turn_id FROM entries)`,
		s.now()-s.opt.TTL.Milliseconds()); err != nil {
		return err
	}
	return s.shrink()
}

// shrink gives free pages of the database back, a bounded number.
func (s *Store) shrink() error {
	page := func(*struct{}, *sql.Rows) error { return nil } // each step gives one back
	_, err := rows(s.db.Query, page, `PRAGMA incremental_vacuum(4096)`)
	return err
}

// removeExpired removes some, and says whether there may be more.
func (s *Store) removeExpired(st *Stats) (more bool, err error) {
	var list []victim
	err = s.change(func(tx *sql.Tx) error {
		list, err = rows(tx.Query, (*victim).scan, `SELECT n, file, stored_bytes FROM entries WHERE expires_at <= ? LIMIT ?`, s.now(), gcBatch)
		if err != nil {
			return err
		}
		return remove(tx, list)
	})
	if err != nil {
		return false, err
	}
	for _, v := range list {
		st.Entries++
		st.Bytes += v.bytes
		if err := s.unlink(v.file); err != nil {
			return false, err
		}
	}
	return len(list) == gcBatch, nil
}

// victim is an entry to be removed.
type victim struct {
	n     int64
	file  string
	bytes int64
}

func (v *victim) scan(row *sql.Rows) error { return row.Scan(&v.n, &v.file, &v.bytes) }

func remove(tx *sql.Tx, list []victim) error {
	for _, v := range list {
		if _, err := tx.Exec(`DELETE FROM entries WHERE n = ?`, v.n); err != nil {
			return err
		}
	}
	return nil
}

// makeRoom removes entries until need more bytes fit: expired ones, then the
// oldest of turns that are over, then those of them that are kept. It gives the
// files to remove after the commit.
func (s *Store) makeRoom(tx *sql.Tx, need int64) ([]string, error) {
	var used int64
	if err := tx.QueryRow(`SELECT bytes FROM used`).Scan(&used); err != nil {
		return nil, err
	}
	if used+need <= s.opt.MaxBytes {
		return nil, nil
	}
	if err := s.endDead(tx); err != nil {
		return nil, err
	}
	now := s.now()
	list, err := rows(tx.Query, (*victim).scan, `SELECT n, file, stored_bytes FROM entries WHERE expires_at IS NOT NULL
		ORDER BY expires_at > ?, label != '' AND kept_until > ?, created_at, n`, now, now)
	if err != nil {
		return nil, err
	}
	var files []string
	var freed, spare int64
	if len(list) > 10*gcBatch {
		spare = s.opt.MaxBytes / 50 // so that the next ones need not look at all of them again
	}
	for i, v := range list {
		if used+need+spare <= s.opt.MaxBytes {
			list = list[:i]
			break
		}
		used, freed = used-v.bytes, freed+v.bytes
		files = append(files, v.file)
	}
	if used+need > s.opt.MaxBytes {
		return nil, s.errFull()
	}
	s.say("observation store is full: the oldest observations were removed, entries=%d, bytes=%d, max_bytes=%d", len(list), freed, s.opt.MaxBytes)
	return files, remove(tx, list)
}

// removeOrphans removes files that no entry names and that nobody writes: not
// those of a turn that runs, and none written within the last ttl.
func (s *Store) removeOrphans(ctx context.Context, st *Stats) error {
	dir := filepath.Join(s.dir, contents)
	list, err := os.ReadDir(dir) // before the look at the entries: a new file is not in it
	if err != nil {
		return err
	}
	for _, f := range list {
		if ctx.Err() != nil {
			st.More = true
			return nil
		}
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) || f.Name() == lastGC {
			continue
		}
		if err != nil {
			return err
		}
		orphan, err := s.isOrphan(f.Name())
		if err != nil {
			return err
		}
		if !orphan || s.opt.Now().Sub(info.ModTime()) < s.opt.TTL {
			continue
		}
		st.Orphans++
		st.Bytes += info.Size()
		if err := s.unlink(f.Name()); err != nil {
			return err
		}
	}
	return nil
}

// isOrphan says whether neither an entry names the file nor a turn that runs can
// still be writing it.
func (s *Store) isOrphan(file string) (bool, error) {
	turn, _, _ := strings.Cut(file, "-")
	n, err := strconv.ParseInt(turn, 10, 64)
	if err != nil {
		n = -1
	}
	var owned bool
	err = s.db.QueryRow(`SELECT EXISTS (SELECT 1 FROM entries WHERE file = ?1 AND id = ?2)
		OR EXISTS (SELECT 1 FROM turns WHERE n = ?3 AND ended_at IS NULL)`, file, fileID(file), n).Scan(&owned)
	return !owned, err
}

// fileID is the id of the entry in a file's name.
func fileID(file string) string {
	_, rest, _ := strings.Cut(file, "-")
	id, _, _ := strings.Cut(rest, ".")
	return id
}
