package observation

import (
	"cmp"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"
)

// Kind says what a content is.
type Kind string

// The kinds of content, as they are found out.
const (
	Text   Kind = "text"
	JSON   Kind = "json" // one value, or one after another
	CSV    Kind = "csv"
	TSV    Kind = "tsv"
	HTML   Kind = "html"
	Log    Kind = "log"    // text of which many lines have a level
	Binary Kind = "binary" // not UTF-8, NUL bytes, or known by its first bytes
)

// Entry is what is known of one observation.
type Entry struct {
	// ID is 16 hexadecimal characters that cannot be guessed, behind [SharedPrefix] of
	// what another home shares; "" if the entry was not stored.
	ID       string `json:"id"`
	Turn     string `json:"turn_id"`
	Step     int    `json:"step_num"`
	Executor string `json:"executor_name"`
	Kind     Kind   `json:"content_kind"`
	MIME     string `json:"mime,omitempty"` // only of a binary
	Bytes    int64  `json:"size_bytes"`
	// Runes counts characters: code points, and each byte that is part of none.
	Runes  int64  `json:"characters"`
	Lines  int64  `json:"lines"` // the last may lack its newline
	SHA256 string `json:"sha256"`
	// Summary is the beginning and the end, with the number of characters left
	// out between them; of a binary what it is.
	Summary string `json:"summary"`
	// Facts are lines that help to decide what to read: counts, errors, shape.
	Facts    string          `json:"facts,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"` // as the tool gave it
	Created  time.Time       `json:"created_at"`
	Expires  time.Time       `json:"expires_at,omitzero"` // zero before the turn has ended
	Label    string          `json:"label,omitempty"`     // of one that is kept
	Stored   int64           `json:"stored_bytes"`
	// From are the origins of what another home shares.
	From []string `json:"origins,omitempty"`

	n     int64
	valid bool // UTF-8
	codec Codec
	file  string // "" if the content is in the row
}

const columns = `n, id, turn_id, step_num, executor_name, content_kind, mime, size_bytes, runes, lines, sha256,
	valid, summary, facts, metadata, created_at, expires_at, label, stored_bytes, codec, file`

// scan reads columns, and then what is in more.
func (e *Entry) scan(row interface{ Scan(...any) error }, more ...any) error {
	var created int64
	var expires sql.NullInt64
	var metadata string
	err := row.Scan(append([]any{&e.n, &e.ID, &e.Turn, &e.Step, &e.Executor, &e.Kind, &e.MIME, &e.Bytes, &e.Runes,
		&e.Lines, &e.SHA256, &e.valid, &e.Summary, &e.Facts, &metadata, &created, &expires, &e.Label, &e.Stored,
		&e.codec, &e.file}, more...)...)
	e.Created = time.UnixMilli(created)
	if expires.Valid {
		e.Expires = time.UnixMilli(expires.Int64)
	}
	if metadata != "" {
		e.Metadata = json.RawMessage(metadata)
	}
	return err
}

// newID is unguessable.
func newID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Filter chooses entries.
type Filter struct {
	Turn    string // of one turn; "" for all
	Kept    bool   // only those kept
	Expired bool   // also those that have expired and are still there
	Kind    Kind   // of one kind
	Limit   int    // the newest so many, 0 for all, after
	Skip    int    // others
}

// List lists entries, the newest first.
func (s *Store) List(f Filter) ([]Entry, error) {
	see := s.all()
	if f.Expired {
		see = scope{where: `true`}
	}
	if f.Turn != "" {
		see.where, see.args = see.where+` AND turn_id = ?`, append(see.args, f.Turn)
	}
	if f.Kept {
		see.where, see.args = see.where+` AND `+s.shown().where+` AND label != ''`, append(see.args, s.shown().args...)
	}
	if f.Kind != "" {
		see.where, see.args = see.where+` AND content_kind = ?`, append(see.args, f.Kind)
	}
	return s.list(see.where, cmp.Or(f.Limit, -1), f.Skip, see.args...)
}

// Held is how many observations there are, and the bytes that they take on the disk.
func (s *Store) Held() (count int, bytes int64, err error) {
	err = s.row(`SELECT count(*), coalesce(sum(stored_bytes), 0) FROM entries`).Scan(&count, &bytes)
	return count, bytes, s.explain(err)
}

func (s *Store) list(where string, limit, skip int, args ...any) ([]Entry, error) {
	read := func(e *Entry, row *sql.Rows) error { return e.scan(row) }
	list, err := rows(s.db.Query, read, `SELECT `+columns+` FROM entries WHERE `+where+` ORDER BY created_at DESC, n DESC LIMIT ? OFFSET ?`, append(args, limit, skip)...)
	if err != nil {
		return nil, fmt.Errorf("list observations: %w", s.explain(err))
	}
	return list, nil
}

// Remove removes an entry, whoever made it.
func (s *Store) Remove(id string) error {
	var file string
	err := s.db.QueryRow(`DELETE FROM entries WHERE id = ? RETURNING file`, id).Scan(&file)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("remove observation %s: %w", id, s.explain(err))
	}
	return s.unlink(file)
}

// unlink removes the file of a content, after the row that named it.
func (s *Store) unlink(file string) error {
	if file == "" {
		return nil
	}
	err := s.opt.FS.Remove(filepath.Join(s.dir, contents, file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove observation: %w", err)
	}
	return nil
}
