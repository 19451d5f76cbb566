// Package observation stores what tools gave back: outputs of any size, none of
// it lost, and each of them readable in parts.
//
// A [Store] is a SQLite database and a folder beside it. Contents of up to 64
// KiB are in their row. A larger one is an append-only file of chunks of at most
// 64 KiB, each cut after a newline where it has one and each a zstd frame of its
// own behind a filter, which spares searches the decoding; so the file is a plain
// .zst. Rows of the database say where each chunk begins, in bytes, characters
// and lines. Reading a part costs one look into that index and one chunk.
//
// A cycle works through a [Turn], which sees its own entries and those that were
// kept, and no others. An operator's commands use the [Store] itself.
//
// Nothing is there by half: a content is written and synced before the row that
// names it, and what a crash leaves is a file that [Store.GC] collects.
package observation

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"rouse/internal/disk"
)

// Names below the folder of a store.
const (
	database = "observations.db"
	contents = "observations.db.d" // files of large contents
	lastGC   = ".gc"               // in contents; its time is that of the last GC
)

// ErrNotFound is the answer to every id that is not to be read: unknown, of
// another turn, expired or malformed.
var ErrNotFound = errors.New("no such observation")

// Codec says how large contents are kept.
type Codec string

// The codecs.
const (
	Zstd Codec = "zstd"
	Raw  Codec = "raw" // quicker to write and to search, and two to three times larger
)

// Options set a store up; each zero value is its default.
type Options struct {
	MaxBytes     int64         // of all contents as stored; 2 GiB
	TTL          time.Duration // from the end of the turn, for later ones; 1 hour
	Stay         time.Duration // from the end of the turn, for people; TTL where that is more
	Codec        Codec         // zstd
	PreviewChars int           // of the head, and of the tail, in a summary; 500
	BusyTimeout  time.Duration // how long to wait for another process; 5 seconds

	// Look leaves a store as it is: none is made, and a damaged one is not set aside.
	Look bool

	FS  disk.FS          // through which contents are written; disk.OS
	Now func() time.Time // time.Now
	Say func(string)     // is told of what is set aside and what has to go; nobody
}

func (o Options) withDefaults() Options {
	o.MaxBytes = cmp.Or(o.MaxBytes, 2<<30)
	o.TTL = cmp.Or(o.TTL, time.Hour)
	o.Codec = cmp.Or(o.Codec, Zstd)
	o.PreviewChars = cmp.Or(o.PreviewChars, 500)
	o.BusyTimeout = cmp.Or(o.BusyTimeout, 5*time.Second)
	o.FS = disk.Or(o.FS)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Store holds observations. Several processes and goroutines may use one folder
// at once.
type Store struct {
	opt     Options
	dir     string
	db      *sql.DB
	file    os.FileInfo // the database that was opened
	decoder func() (*zstd.Decoder, error)

	statements sync.Map // of *sql.Stmt, by their text
}

// Open opens the store in dir, and makes one where there is none. A damaged
// database is renamed and a new one begun, which the log is told. A database of
// a later program is an error and stays as it is.
func Open(dir string, o Options) (*Store, error) {
	s := &Store{opt: o.withDefaults(), dir: dir}
	s.decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(4<<20))
	})
	if s.opt.Codec != Zstd && s.opt.Codec != Raw {
		return nil, fmt.Errorf("open observation store: codec %q is neither zstd nor raw", s.opt.Codec)
	}
	var err error
	if !s.opt.Look {
		err = s.opt.FS.MkdirAll(filepath.Join(dir, contents), 0o700)
	}
	if err == nil {
		err = s.connect()
	}
	if isDamage(err) && !s.opt.Look {
		s.setAside(err)
		err = s.connect()
	}
	if err != nil {
		return nil, fmt.Errorf("open observation store: %w", s.explain(err))
	}
	return s, nil
}

// Close closes the store; writers and contents in use end with errors.
func (s *Store) Close() error {
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close observation store: %w", err)
	}
	return nil
}

// Holds says of a path in the folder of a store whether reading one observation takes it.
func Holds(path, id string) bool {
	file, large := strings.CutPrefix(path, contents+"/")
	return large && fileID(file) == id || !strings.Contains(path, "/") && strings.HasPrefix(path, database)
}

// Due says whether a GC of the store in dir is due, at the price of one stat:
// one was made or the store begun more than ttl ago. Where there is no store,
// none is due.
func Due(dir string, ttl time.Duration, now time.Time) bool {
	info, err := os.Stat(filepath.Join(dir, contents, lastGC))
	return err == nil && now.Sub(info.ModTime()) >= ttl
}

// mark makes the time of the last GC now.
func (s *Store) mark() error {
	name := filepath.Join(s.dir, contents, lastGC)
	if err := s.touch(name); err != nil {
		return err
	}
	now := s.opt.Now()
	return os.Chtimes(name, now, now)
}

// touch makes an empty file where there is none.
func (s *Store) touch(name string) error {
	f, err := s.opt.FS.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// setAside renames a damaged database, unless another process has.
func (s *Store) setAside(cause error) {
	name := filepath.Join(s.dir, database)
	now, err := os.Stat(name)
	if err != nil || s.file != nil && !os.SameFile(now, s.file) {
		return
	}
	aside := name + ".damaged-" + s.opt.Now().UTC().Format("20060102T150405.000")
	if err := s.opt.FS.Rename(name, aside); err != nil {
		s.say("observation store is damaged and cannot be set aside, error=%v", err)
		return
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := s.opt.FS.Rename(name+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.say("observation store: set aside, error=%v", err)
		}
	}
	s.say("observation store was damaged: set aside, a new one is begun, file=%s, cause=%v", aside, cause)
}

func (s *Store) say(format string, args ...any) {
	if s.opt.Say != nil {
		s.opt.Say(fmt.Sprintf(format, args...))
	}
}
