package observation

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"rouse/internal/proc"
)

// Turn is a cycle's access to the store: it adds entries, and reads its own and
// those that were kept.
type Turn struct {
	s  *Store
	id string
	n  int64
}

// Begin begins a turn. Its entries do not expire before it ends, by [Turn.End]
// or with its owner.
func (s *Store) Begin(id string, owner proc.Identity) (*Turn, error) {
	data, err := json.Marshal(owner)
	if err != nil {
		return nil, fmt.Errorf("begin turn %s: %w", id, err)
	}
	r, err := s.db.Exec(`INSERT INTO turns (id, owner, began_at) VALUES (?, ?, ?)`, id, string(data), s.now())
	if err != nil {
		return nil, fmt.Errorf("begin turn %s: %w", id, s.explain(err))
	}
	n, err := r.LastInsertId()
	if err != nil {
		return nil, fmt.Errorf("begin turn %s: %w", id, err)
	}
	return &Turn{s, id, n}, nil
}

// End ends the turn: from now on its entries expire.
func (t *Turn) End() error { return t.s.End(t.id) }

// EndFor is End with another [Options.Stay].
func (t *Turn) EndFor(stay time.Duration) error { return t.s.endFor(t.id, stay) }

// End ends a turn, such as one whose process died; one that has ended or never
// began stays so.
func (s *Store) End(id string) error { return s.endFor(id, s.opt.Stay) }

func (s *Store) endFor(id string, stay time.Duration) error {
	err := s.change(func(tx *sql.Tx) error { return s.end(tx, id, stay) })
	if err != nil {
		return fmt.Errorf("end turn %s: %w", id, s.explain(err))
	}
	return nil
}

func (s *Store) end(tx *sql.Tx, id string, stay time.Duration) error {
	now := s.now()
	if _, err := tx.Exec(`UPDATE turns SET ended_at = ? WHERE id = ? AND ended_at IS NULL`, now, id); err != nil {
		return err
	}
	_, err := tx.Exec(`UPDATE entries SET expires_at = max(?, kept_until) WHERE turn_id = ? AND expires_at IS NULL`,
		now+max(s.opt.TTL, stay).Milliseconds(), id)
	return err
}

// endDead ends the turns whose owner is gone.
func (s *Store) endDead(tx *sql.Tx) error {
	turns, err := rows(tx.Query, (*running).scan, `SELECT id, owner FROM turns WHERE ended_at IS NULL`)
	if err != nil {
		return err
	}
	for _, r := range turns {
		var who proc.Identity
		if json.Unmarshal(r.owner, &who) == nil && who.Alive() {
			continue
		}
		if err := s.end(tx, r.id, s.opt.Stay); err != nil {
			return err
		}
	}
	return nil
}

// running is a turn that has not ended.
type running struct {
	id    string
	owner []byte
}

func (r *running) scan(row *sql.Rows) error { return row.Scan(&r.id, &r.owner) }

// scope limits a query to what may be seen.
type scope struct {
	where string
	args  []any
}

// all is what an operator sees: whatever has not expired.
func (s *Store) all() scope {
	return scope{`(expires_at IS NULL OR expires_at > ?)`, []any{s.now()}}
}

// shown is what turns may see: what people see, but for the time after their ttl.
func (s *Store) shown() scope {
	a := s.all()
	return scope{a.where + ` AND (expires_at IS NULL OR kept_until > ? OR EXISTS
		(SELECT 1 FROM turns WHERE turns.id = turn_id AND (ended_at IS NULL OR ended_at > ?)))`,
		append(a.args, s.now(), s.now()-s.opt.TTL.Milliseconds())}
}

// own is what the turn sees.
func (t *Turn) own() scope {
	a := t.s.shown()
	return scope{a.where + ` AND (turn_id = ? OR label != '')`, append(a.args, t.id)}
}

// Get gives the content of an entry that the turn may read; for any other id the
// error is [ErrNotFound].
func (t *Turn) Get(id string) (*Content, error) { return t.s.get(id, t.own()) }

// Get gives the content of any entry that has not expired.
func (s *Store) Get(id string) (*Content, error) { return s.get(id, s.all()) }

// Keep makes an entry that the turn may read visible to later ones, for at least
// ttl from now. The label says what it is, in one line.
func (t *Turn) Keep(id, label string, ttl time.Duration) error {
	return t.s.keep(id, label, ttl, t.own())
}

// Keep is [Turn.Keep] for any entry that has not expired.
func (s *Store) Keep(id, label string, ttl time.Duration) error {
	return s.keep(id, label, ttl, s.all())
}

func (s *Store) keep(id, label string, ttl time.Duration, see scope) error {
	label = strings.Join(strings.Fields(label), " ")
	if label == "" || ttl <= 0 {
		return fmt.Errorf("keep observation %s: it needs a label, and a time of more than nothing", id)
	}
	until := s.now() + ttl.Milliseconds()
	err := s.change(func(tx *sql.Tx) error {
		r, err := tx.Exec(`UPDATE entries SET label = ?, kept_until = ?,
			expires_at = CASE WHEN expires_at IS NULL THEN NULL ELSE max(expires_at, ?) END WHERE id = ? AND `+see.where,
			append([]any{label, until, until, id}, see.args...)...)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			return cmp.Or(err, ErrNotFound)
		}
		return s.markKept() // before the commit: nothing is kept and not found
	})
	if err == nil || errors.Is(err, ErrNotFound) {
		return err
	}
	return fmt.Errorf("keep observation %s: %w", id, s.explain(err))
}

// Kept lists what was kept by other turns, the newest first.
func (t *Turn) Kept() ([]Entry, error) {
	see := t.s.shown()
	return t.s.list(see.where+` AND label != '' AND turn_id != ?`, -1, 0, append(see.args, t.id)...)
}

func (s *Store) now() int64 { return s.opt.Now().UnixMilli() }
