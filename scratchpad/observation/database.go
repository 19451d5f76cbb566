package observation

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// version is that of the schema, in the database's user_version.
const version = 1

// Times are milliseconds since 1970. An entry of a turn that has not ended has
// no expires_at. content is last, so that reading the rest never passes over it.
const schema = `
CREATE TABLE turns (
	n        INTEGER PRIMARY KEY AUTOINCREMENT,
	id       TEXT NOT NULL UNIQUE,
	owner    TEXT NOT NULL,
	began_at INTEGER NOT NULL,
	ended_at INTEGER
);
CREATE TABLE entries (
	n             INTEGER PRIMARY KEY,
	id            TEXT NOT NULL UNIQUE,
	turn_id       TEXT NOT NULL,
	step_num      INTEGER NOT NULL,
	executor_name TEXT NOT NULL,
	content_kind  TEXT NOT NULL,
	mime          TEXT NOT NULL,
	size_bytes    INTEGER NOT NULL,
	runes         INTEGER NOT NULL,
	lines         INTEGER NOT NULL,
	sha256        TEXT NOT NULL,
	valid         INTEGER NOT NULL,
	summary       TEXT NOT NULL,
	facts         TEXT NOT NULL,
	metadata      TEXT NOT NULL,
	created_at    INTEGER NOT NULL,
	expires_at    INTEGER,
	label         TEXT NOT NULL DEFAULT '',
	kept_until    INTEGER NOT NULL DEFAULT 0,
	stored_bytes  INTEGER NOT NULL,
	codec         TEXT NOT NULL,
	file          TEXT NOT NULL,
	content       BLOB
);
CREATE INDEX entries_turn ON entries (turn_id);
CREATE INDEX entries_expires ON entries (expires_at);
CREATE INDEX entries_kept ON entries (label) WHERE label != '';
CREATE TABLE chunks (
	entry  INTEGER NOT NULL,
	k      INTEGER NOT NULL,
	byte   INTEGER NOT NULL,
	rune   INTEGER NOT NULL,
	line   INTEGER NOT NULL,
	offset INTEGER NOT NULL,
	sizes  BLOB NOT NULL,
	PRIMARY KEY (entry, k)
);
CREATE TABLE used (bytes INTEGER NOT NULL);
INSERT INTO used VALUES (0);
CREATE TRIGGER entries_added AFTER INSERT ON entries BEGIN
	UPDATE used SET bytes = bytes + new.stored_bytes;
END;
CREATE TRIGGER entries_removed AFTER DELETE ON entries BEGIN
	UPDATE used SET bytes = bytes - old.stored_bytes;
	DELETE FROM chunks WHERE entry = old.n;
END;
`

// connect opens the database and sees to it that it can be used.
func (s *Store) connect() error {
	name := filepath.Join(s.dir, database)
	how := os.O_RDWR | os.O_CREATE
	if s.opt.Look {
		how = os.O_RDONLY
	}
	f, err := os.OpenFile(name, how, 0o600)
	if err != nil {
		return err
	}
	s.file, err = f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", s.dsn(name))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	s.db = db
	if err := s.prepare(); err != nil {
		db.Close()
		return err
	}
	return nil
}

func (s *Store) dsn(name string) string {
	v := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(" + strconv.FormatInt(s.opt.BusyTimeout.Milliseconds(), 10) + ")", "temp_store(memory)"}}
	if s.opt.Look {
		v.Set("mode", "ro")
	} else {
		v["_pragma"] = append(v["_pragma"], "auto_vacuum(incremental)", "journal_mode(wal)", "synchronous(full)")
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: name, RawQuery: v.Encode()}).String()
}

// prepare checks the schema, and makes it where there is none.
func (s *Store) prepare() error {
	var found int
	if err := s.db.QueryRow(`PRAGMA user_version`).Scan(&found); err != nil {
		return err
	}
	if found > version {
		return fmt.Errorf("%s has version %d, this program knows %d: use a newer program", database, found, version)
	}
	if found == 0 {
		return s.make()
	}
	return s.probe()
}

// make makes the schema, unless another process was first.
func (s *Store) make() error {
	err := s.change(func(tx *sql.Tx) error {
		var found int
		if err := tx.QueryRow(`PRAGMA user_version`).Scan(&found); err != nil || found != 0 {
			return err
		}
		_, err := tx.Exec(schema + `PRAGMA user_version = ` + strconv.Itoa(version))
		return err
	})
	if err != nil {
		return err
	}
	return s.mark()
}

// errIncomplete is a database without the tables that it should have.
var errIncomplete = errors.New("tables are missing")

// probe notices the damage that can be noticed without reading everything.
func (s *Store) probe() error {
	for _, query := range []string{
		`SELECT count(*) FROM (SELECT id, label, kept_until, file FROM entries LIMIT 1)`,
		`SELECT count(*) FROM (SELECT entry, sizes FROM chunks LIMIT 1)`,
		`SELECT count(*) FROM (SELECT owner FROM turns LIMIT 1)`,
		`SELECT bytes FROM used`,
	} {
		var n int64
		err := s.db.QueryRow(query).Scan(&n)
		if code(err) == lib.SQLITE_ERROR || errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: %v", errIncomplete, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// row asks for one row by a statement that is kept, since to read one again costs
// as much as to carry it out.
func (s *Store) row(query string, args ...any) *sql.Row {
	st, ok := s.statements.Load(query)
	if !ok {
		made, err := s.db.Prepare(query)
		if err != nil {
			return s.db.QueryRow(query, args...) // whose error is told as that of any row
		}
		if st, ok = s.statements.LoadOrStore(query, made); ok {
			made.Close()
		}
	}
	return st.(*sql.Stmt).QueryRow(args...)
}

// rows are those of a query, each as scan reads it. The connection, of which there
// is one, is free again when they are worked on.
func rows[T any](ask func(string, ...any) (*sql.Rows, error), scan func(*T, *sql.Rows) error, query string, args ...any) ([]T, error) {
	found, err := ask(query, args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var list []T
	for found.Next() {
		var v T
		if err := scan(&v, found); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, found.Err()
}

// change runs do in a transaction that nobody else writes in.
func (s *Store) change(do func(tx *sql.Tx) error) error {
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		tx.Rollback()
		return err
	}
	if err := tx.Commit(); err != nil {
		return errCommit{err}
	}
	return nil
}

// errCommit is an error of a commit, after which it is not known what holds.
type errCommit struct{ error }

func (e errCommit) Unwrap() error { return e.error }

// code is the primary result code of SQLite in err, 0 if there is none.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

func isDamage(err error) bool {
	c := code(err)
	return c == lib.SQLITE_CORRUPT || c == lib.SQLITE_NOTADB || errors.Is(err, errIncomplete)
}

// explain says in words what SQLite met. A database that turns out damaged is
// set aside, so that the next to open the store begins a new one.
func (s *Store) explain(err error) error {
	if isDamage(err) && s.opt.Look {
		return fmt.Errorf("the database is damaged; the next cycle that needs it sets it aside: %w", err)
	}
	if isDamage(err) {
		s.setAside(err)
		return fmt.Errorf("the database is damaged and was set aside: %w", err)
	}
	switch code(err) {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("locked by another process for %v: %w", s.opt.BusyTimeout, err)
	case lib.SQLITE_FULL:
		return fmt.Errorf("the disk is full: %w", err)
	case lib.SQLITE_IOERR:
		return fmt.Errorf("the disk is full or failing: %w", err)
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return fmt.Errorf("%s cannot be written: %w", filepath.Join(s.dir, database), err)
	}
	if isDiskFull(err) {
		return fmt.Errorf("the disk is full: %w", err)
	}
	return err
}

// isDiskFull says whether err is that a disk, a quota or a limit is full.
func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
