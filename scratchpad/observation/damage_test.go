package observation

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	goversion "go/version"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/proc"
)

// made makes a store with two entries in dir and closes it.
func made(t *testing.T, dir string) {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := s.Begin("turn", proc.Self())
	if err != nil {
		t.Fatal(err)
	}
	put(t, turn, numbered(50))
	put(t, turn, numbered(50_000))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedDatabaseIsSetAside(t *testing.T) {
	edit := func(do func(data []byte) []byte) func(t *testing.T, name string) {
		return func(t *testing.T, name string) {
			data, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(name, do(data), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name   string
		damage func(t *testing.T, name string)
		aside  bool
	}{
		{"not a database", edit(func([]byte) []byte { return []byte(strings.Repeat("no database ", 1000)) }), true},
		{"cut short", edit(func(b []byte) []byte { return b[:5000] }), true},
		{"cut to a header", edit(func(b []byte) []byte { return b[:100] }), true},
		{"pages of zeros", edit(func(b []byte) []byte { clear(b[4096:]); return b }), true},
		{"pages of noise", edit(func(b []byte) []byte { copy(b[4096:], bytes.Repeat([]byte{0xa5}, len(b))); return b }), true},
		{"a table is gone", func(t *testing.T, name string) { execute(t, name, `DROP TABLE chunks`) }, true},
		{"the sum is gone", func(t *testing.T, name string) { execute(t, name, `DELETE FROM used`) }, true},
		{"empty", edit(func([]byte) []byte { return nil }), false},
		{"removed", func(t *testing.T, name string) {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			made(t, dir)
			tt.damage(t, filepath.Join(dir, database))
			var log bytes.Buffer
			s := openStore(t, dir, Options{Say: func(text string) { fmt.Fprintln(&log, text) }})
			aside, _ := filepath.Glob(filepath.Join(dir, database+".damaged-*"))
			if (len(aside) > 0) != tt.aside || strings.Contains(log.String(), "set aside") != tt.aside {
				t.Errorf("set aside: %v; log: %s", aside, log.String())
			}
			turn := begin(t, s, "turn")
			checkWhole(t, get(t, turn, put(t, turn, numbered(50_000)).ID), numbered(50_000))
			checkIntact(t, s)
		})
	}
}

// execute runs a statement on a database that no store has open.
func execute(t *testing.T, name, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
}

// TestDamageFoundLater spoils pages under a store that is open: what meets them
// says so, and the next to open the store begins a new one.
func TestDamageFoundLater(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	s := openStore(t, dir, Options{})
	name := filepath.Join(dir, database)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	copy(data[4096:], bytes.Repeat([]byte{0xa5}, len(data)))
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	execute(t, filepath.Join(t.TempDir(), "other"), `SELECT 1`)
	_, err = s.List(Filter{})
	if err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Fatalf("the error is %v", err)
	}
	begin(t, openStore(t, dir, Options{}), "turn")
	aside, _ := filepath.Glob(name + ".damaged-*")
	if !slices.ContainsFunc(aside, func(s string) bool { return !strings.HasSuffix(s, "-wal") && !strings.HasSuffix(s, "-shm") }) {
		t.Errorf("set aside: %v", aside)
	}
}

func TestDamagedContentIsNoticed(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	turn := begin(t, s, "turn")
	e := put(t, turn, numbered(50_000))
	name := filepath.Join(dir, contents, files(t, dir)[0])
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	whole := bytes.Clone(data)
	for i := 0; i < len(data); i += 997 {
		data[i] ^= 0x55
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		c := get(t, turn, e.ID)
		if _, err := c.WriteTo(&out); err == nil && !bytes.Equal(out.Bytes(), numbered(50_000)) {
			t.Fatalf("with byte %d changed it reads as something else", i)
		}
		data[i] = whole[i]
	}
	if err := os.Truncate(name, int64(len(data))/2); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, turn, e.ID).WriteTo(&bytes.Buffer{}); err == nil {
		t.Error("half a file is read without an error")
	}
}

func TestNewerDatabaseStaysAsItIs(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	execute(t, filepath.Join(dir, database), `PRAGMA user_version = 7`)
	_, err := Open(dir, Options{})
	if err == nil || !strings.Contains(err.Error(), "version 7, this program knows 1: use a newer program") {
		t.Fatalf("the error is %v", err)
	}
	if aside, _ := filepath.Glob(filepath.Join(dir, "*damaged*")); len(aside) > 0 {
		t.Errorf("set aside: %v", aside)
	}
}

func TestLockedDatabaseIsAClearError(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{BusyTimeout: 30 * time.Millisecond})
	turn := begin(t, s, "turn")
	small := put(t, turn, []byte("text")).ID
	other := openStore(t, dir, Options{})
	tx, err := other.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{[]byte("text"), numbered(50_000)} {
		e, err := tryPut(turn, data)
		if err == nil || !strings.Contains(err.Error(), "locked by another process for 30ms") {
			t.Errorf("the error is %v", err)
		}
		if e.ID != "" || e.Summary == "" || e.Bytes != int64(len(data)) {
			t.Errorf("the entry does not tell what was not stored: %+v", e)
		}
	}
	checkWhole(t, get(t, turn, small), []byte("text")) // reading goes on
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	put(t, turn, numbered(50_000))
	if n := len(files(t, dir)); n != 1 {
		t.Errorf("%d files, want 1", n)
	}
}

func TestModesOfFiles(t *testing.T) {
	dir := t.TempDir()
	old := syscall.Umask(0)
	s := openStore(t, dir, Options{})
	put(t, begin(t, s, "turn"), numbered(50_000))
	syscall.Umask(old)
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := d.Info()
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = os.ModeDir | 0o700
		}
		if err == nil && info.Mode() != want {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOddNamesOfFolders(t *testing.T) {
	for _, name := range []string{"with space", "q?a=b&c", "100%41", "#hash", "é 一", "a'b\"c;d"} {
		dir := filepath.Join(t.TempDir(), name)
		s := openStore(t, dir, Options{})
		turn := begin(t, s, "turn")
		checkWhole(t, get(t, turn, put(t, turn, numbered(20_000)).ID), numbered(20_000))
		if _, err := os.Stat(filepath.Join(dir, database)); err != nil {
			t.Error(err)
		}
	}
}

// An older SQLite can lose committed writes when it resets a write-ahead log; see
// sqlite.org/wal.html.
func TestSQLiteIsNewEnough(t *testing.T) {
	const least = "3.51.3"
	var have string
	if err := openStore(t, t.TempDir(), Options{}).db.QueryRow(`SELECT sqlite_version()`).Scan(&have); err != nil {
		t.Fatal(err)
	}
	if goversion.Compare("go"+have, "go"+least) < 0 {
		t.Errorf("SQLite is %s, and must be %s or later", have, least)
	}
}

// faults are some of each sort; the file tools' tests have the rest.
func faults() []disktest.Fault {
	var list []disktest.Fault
	for _, f := range disktest.Faults() {
		if f.Mode.Crash() || f.Err == syscall.ENOSPC || f.Err == syscall.EIO {
			list = append(list, f)
		}
	}
	return list
}

// TestEveryFaultOfTheContent fails each operation on the file of a content.
func TestEveryFaultOfTheContent(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{Codec: Raw})
	turn := begin(t, s, "turn")
	data := bytes.Repeat([]byte("0123456789abcde\n"), 90_000)
	stored, left := 0, 0
	points := disktest.Sweep(t, faults(), func(f *disktest.Faulty) {
		f.FS = unsynced{disk.OS{}}
		s.opt.FS = f
		e, err := tryPut(turn, data)
		if (err != nil) != (len(f.Fired()) > 0) {
			t.Fatalf("%v: met %v, told as %v", f.Fault, f.Fired(), err)
		}
		if err != nil && (e.ID != "" || e.Bytes != int64(len(data))) {
			t.Fatalf("%v: %+v", f.Fault, e)
		}
		s.opt.FS = unsynced{disk.OS{}}
		list, err := s.List(Filter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			stored++
			checkEntry(t, s, e)
			if err := s.Remove(e.ID); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range files(t, dir) {
			left++
			if !f.Fault.Mode.Crash() && !f.Fault.Stays {
				t.Errorf("%v: %s is left", f.Fault, name)
			}
			if err := os.Remove(filepath.Join(dir, contents, name)); err != nil {
				t.Fatal(err)
			}
		}
	})
	checkIntact(t, s)
	checkUsed(t, s)
	t.Logf("%d points, each told; %d stored without a fault; %d files left, all of crashes or a disk that stayed bad", points, stored, left)
}

// unsynced spares the machine's disk.
type unsynced struct{ disk.FS }

type unsyncedFile struct{ disk.File }

func (unsyncedFile) Sync() error { return nil }

func (unsynced) SyncDir(string) error { return nil }

func (u unsynced) OpenFile(name string, flag int, perm os.FileMode) (disk.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	return unsyncedFile{f}, err
}

func TestOpenNeedsAFolderThatCanBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, Options{}); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("the error is %v", err)
	}
	if _, err := Open(t.TempDir(), Options{Codec: "lz4"}); err == nil {
		t.Error("an unknown codec is taken")
	}
}

// TestLookChangesNothing: who only looks makes no store, and sets none aside.
func TestLookChangesNothing(t *testing.T) {
	dir := t.TempDir()
	look := func() error {
		s, err := Open(dir, Options{Look: true})
		if err == nil {
			defer s.Close()
			_, err = s.List(Filter{Kind: Text, Limit: 1, Skip: 1})
		}
		return err
	}
	if err := look(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("where there is none: %v", err)
	}
	made(t, dir)
	if err := look(); err != nil {
		t.Error(err)
	}
	name := filepath.Join(dir, database)
	if err := os.WriteFile(name, bytes.Repeat([]byte("no database"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := look(); err == nil || !strings.Contains(err.Error(), "damaged; the next cycle") {
		t.Errorf("of a damaged one: %v", err)
	}
	if aside, _ := filepath.Glob(name + ".damaged*"); len(aside) > 0 {
		t.Errorf("it was set aside: %v", aside)
	}
}
