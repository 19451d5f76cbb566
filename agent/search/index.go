package search

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"strconv"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"rouse/internal/disk"
)

// version is that of the schema, in the database's user_version.
const version = 1

// seen says what the files were like as a whole when all of them were in, and when each
// was last asked.
const schema = `
CREATE VIRTUAL TABLE texts USING fts5(text, at UNINDEXED, step UNINDEXED, ref UNINDEXED, tokenize = "unicode61 remove_diacritics 2");
CREATE TABLE files (name TEXT PRIMARY KEY, size INTEGER NOT NULL, time INTEGER NOT NULL, open INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX files_open ON files (name, size, time) WHERE open;
CREATE TABLE seen (look TEXT NOT NULL, checked INTEGER NOT NULL);
INSERT INTO seen VALUES ('', 0);
PRAGMA user_version = ` // and the number

// busy is how long to wait for another process that writes.
const busy = 10 * time.Second

// fill opens the index and takes in what is new, while nobody else does.
func (x *Index) fill(ctx context.Context, path string) error {
	unlock := func() {}
	if path != "" {
		var err error
		unlock, err = disk.LockFolder(ctx, x.Home.Logs(), time.Minute)
		if errors.Is(err, disk.ErrHeld) {
			x.note = "another search is filling the index: what it has so far"
			return x.connect(path)
		}
		if err != nil {
			return err
		}
	}
	defer unlock()
	if err := x.connect(path); err != nil {
		return err
	}
	err := x.update(ctx)
	if err != nil {
		x.db.Close()
	}
	return err
}

// errOther is an index of another version, or a file that is none.
var errOther = errors.New("it is of another version")

// connect opens the index, and makes one where there is none.
func (x *Index) connect(path string) error {
	name := ":memory:?_pragma=temp_store(memory)"
	if x.file = nil; path != "" {
		if err := x.make(path); err != nil {
			return err
		}
		v := url.Values{"_txlock": {"immediate"}, "_pragma": {
			"busy_timeout(" + strconv.FormatInt(busy.Milliseconds(), 10) + ")", "synchronous(normal)", "temp_store(memory)", "trusted_schema(off)",
		}}
		name = (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: v.Encode()}).String()
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	x.db = db
	if err = x.prepare(); err != nil {
		db.Close()
	}
	return err
}

// make makes the file, which is readable only by its owner, where there is none.
func (x *Index) make(path string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return errOther
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	x.file, err = f.Stat()
	return errors.Join(err, f.Close())
}

func (x *Index) prepare() error {
	var found int
	if err := x.db.QueryRow(`PRAGMA user_version`).Scan(&found); err != nil || found == version {
		return err
	}
	return x.change(func(tx *sql.Tx) error {
		if err := tx.QueryRow(`PRAGMA user_version`).Scan(&found); err != nil || found == version {
			return err
		}
		if found != 0 {
			return errOther
		}
		_, err := tx.Exec(schema + strconv.Itoa(version))
		return err
	})
}

// change runs do in a transaction.
func (x *Index) change(do func(tx *sql.Tx) error) error {
	tx, err := x.db.Begin()
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit()
}

// isDamage says that an index is not what it should be, or takes the disk's last room,
// so that another one is made.
func isDamage(err error) bool {
	if err == nil || errors.Is(err, errOther) {
		return err != nil
	}
	switch code(err) {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_ERROR, lib.SQLITE_SCHEMA, lib.SQLITE_FORMAT, lib.SQLITE_MISMATCH, lib.SQLITE_CONSTRAINT, lib.SQLITE_FULL:
		return true
	}
	return false
}

// code is the primary result code of SQLite in err, 0 if there is none.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// discard removes an index that is damaged, unless somebody else has.
func (x *Index) discard(ctx context.Context, path string, err error) error {
	if path == "" || !isDamage(err) {
		return err
	}
	unlock, locked := disk.LockFolder(ctx, x.Home.Logs(), busy)
	if locked != nil {
		return locked
	}
	defer unlock()
	if now, failed := os.Lstat(path); failed == nil && x.file != nil && !os.SameFile(now, x.file) {
		return err
	}
	return cmp.Or(x.Home.DropSearch(disk.OS{}), err)
}
