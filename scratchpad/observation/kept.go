package observation

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// keptName is a file beside the database that is there once something was kept.
const keptName = database + ".kept"

// HasKept says whether anything was ever kept in the store in dir, at the price
// of one stat.
func HasKept(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, keptName))
	return err == nil
}

// markKept makes HasKept true, durably.
func (s *Store) markKept() error {
	if err := s.touch(filepath.Join(s.dir, keptName)); err != nil {
		return err
	}
	return s.opt.FS.SyncDir(s.dir)
}

// Exists says whether there is a store in dir, without opening it.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, database))
	return err == nil
}

// Lasting parks a content that later turns are to have as well, such as a part of the
// memory, and gives its id. One that an earlier turn parked for the same executor
// becomes this turn's; what that executor parked before expires as any other. The
// content stays for ttl after the turn in which it was last asked for.
func (t *Turn) Lasting(o Origin, data []byte, ttl time.Duration) (id string, err error) {
	sum := sha256.Sum256(data)
	err = t.s.row(`UPDATE entries SET turn_id = ?, expires_at = NULL WHERE n = (SELECT n FROM entries
		WHERE executor_name = ? AND sha256 = ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY n DESC LIMIT 1) RETURNING id`,
		t.id, o.Executor, hex.EncodeToString(sum[:]), t.s.now()).Scan(&id)
	if c, lost := t.Get(id); err != nil || lost != nil {
		w := t.Create(o)
		w.Write(data)
		e, err := w.Commit(nil)
		if err != nil {
			return "", err
		}
		id = e.ID
	} else {
		c.Close()
	}
	return id, t.s.last(o.Executor, id, ttl)
}

// last lets one content of an executor stay, and no other of those that nobody kept.
func (s *Store) last(executor, id string, ttl time.Duration) error {
	now := s.now()
	err := s.change(func(tx *sql.Tx) error {
		_, err := tx.Exec(`UPDATE entries SET kept_until = CASE WHEN id = ? THEN ? ELSE 0 END,
			expires_at = CASE WHEN id = ? OR expires_at IS NULL THEN expires_at ELSE min(expires_at, ?) END
			WHERE executor_name = ? AND label = ''`, id, now+ttl.Milliseconds(), id, now+s.opt.TTL.Milliseconds(), executor)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep observation %s: %w", id, s.explain(err))
	}
	return nil
}
