package schedule

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"rouse/internal/clock"
	"rouse/internal/disk"
	"rouse/internal/jsonl"
	"rouse/internal/proc"
)

// Ledger is the record of a home's slots: a file of JSON lines that is only ever
// added to, but for compaction, under a lock file beside it. Its fields are set
// once and not changed after.
type Ledger struct {
	Path string  // logs/ledger.jsonl
	Disk disk.FS // nil is the machine's
	// Now is the wall clock; nil is time.Now.
	Now func() time.Time
	// Since is when rouse.yaml was written. The slots of an entry that the ledger
	// does not know count from then, but from two minutes ago at most.
	Since time.Time
	// Alone says that no other process may run slots of the home now: who took one is dead.
	Alone bool
	// Wrote, unless nil, is told what [Ledger.Due] and [Attempt.Settle] wrote.
	Wrote func([]Record)

	open  sync.Once
	lines *jsonl.File

	compactAt int64 // bytes; 0 is compactFrom
	keep      int   // lines; 0 is keepLines

	home  string        // what tells this home's jitter from others'; "" is the folder
	self  proc.Identity // zero is this process
	alive func(proc.Identity) bool
}

// stateEvery is after how many bytes the ledger says again what all lines come
// to, so that a reader needs only its end.
const stateEvery = 4 << 10

// tail is how much of the end of a ledger is read at first.
const tail = 2*stateEvery + 4<<10

// loaded is what a ledger comes to.
type loaded struct {
	*state
	size  int64
	fresh int64 // bytes after the newest state line
	bad   int   // lines that cannot be read
}

// load reads the end of the ledger. A line that is not whole, as a killed
// process leaves one, is passed over.
func (l *Ledger) load() (got loaded, err error) {
	size, err := l.file().Tail(tail, func(lines []byte) (ok bool) {
		got, ok = loadEnd(lines)
		return ok
	})
	if errors.Is(err, fs.ErrNotExist) {
		return loaded{state: newState()}, nil
	}
	got.size = size
	return got, err
}

// file is the ledger's file, which stays open.
func (l *Ledger) file() *jsonl.File {
	l.open.Do(func() { l.lines = &jsonl.File{FS: l.disk(), Path: l.Path} })
	return l.lines
}

// loadEnd is what lines come to; ok says that they were enough, whatever there is
// before them.
func loadEnd(data []byte) (got loaded, ok bool) {
	got.state = newState()
	if i := bytes.LastIndex(data, []byte(`"event":"`+eventState+`"`)); i >= 0 {
		start := bytes.LastIndexByte(data[:i], '\n') + 1
		var r Record
		line, _, _ := bytes.Cut(data[start:], []byte{'\n'})
		if json.Unmarshal(line, &r) == nil && r.State != nil {
			data, ok = data[start:], true
		}
	}
	got.fresh = int64(len(data))
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		var r Record
		if json.Unmarshal(line, &r) == nil {
			got.apply(r)
		} else if len(line) > 0 {
			got.bad++
		}
	}
	return got, ok
}

// Records gives all lines that are about slots, the oldest first. A missing
// ledger has none.
func (l *Ledger) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r, err := range jsonl.Read[Record](l.Path) {
			if err != nil {
				err = fmt.Errorf("read the slots: %w", err)
			}
			if (err != nil || r.Event == eventSlot) && !yield(r, err) {
				return
			}
		}
	}
}

// lockWait is how long another process may hold the ledger before we give up.
const lockWait = 10 * time.Second

// ErrLocked says that another process holds the ledger, and goes on holding it.
var ErrLocked = errors.New("another process holds the ledger of slots; is one stopped?")

// lock takes the ledger.
func (l *Ledger) lock() (unlock func(), err error) {
	if err := l.disk().MkdirAll(filepath.Dir(l.Path), 0o700); err != nil {
		return nil, err
	}
	unlock, err = disk.LockBeside(context.Background(), l.Path, lockWait)
	if errors.Is(err, disk.ErrHeld) {
		return nil, ErrLocked
	}
	return unlock, err
}

// named is the size up to which the ledger's name is made durable with each
// write: the process that made the file may have died before it could.
const named = 4 << 10

// write adds lines, durably, to a ledger that is locked.
func (l *Ledger) write(have loaded, lines []Record) error {
	if len(lines) == 0 {
		return nil
	}
	data, err := encode(have, lines)
	if err != nil {
		return err
	}
	if err := l.file().Append(data, true); err != nil {
		return err
	}
	if have.size < named {
		if err := l.disk().SyncDir(filepath.Dir(l.Path)); err != nil {
			return err
		}
	}
	_ = l.compactIf(have, have.size+int64(len(data))) // the lines are written; the next write tries again
	return nil
}

// encode makes lines of records, and of the state where it is time for it.
// have is what the ledger comes to with them.
func encode(have loaded, lines []Record) ([]byte, error) {
	data, err := jsonl.Marshal(lines...)
	if err != nil || have.fresh+int64(len(data)) <= stateEvery {
		return data, err
	}
	return jsonl.Marshal(append(slices.Clip(lines), Record{V: 1, Time: lines[len(lines)-1].Time, Event: eventState, State: have.state})...)
}

func (l *Ledger) now() time.Time { return clock.Now(l.Now) }

func (l *Ledger) disk() disk.FS { return disk.Or(l.Disk) }

func (l *Ledger) owner() proc.Identity {
	if l.self.PID == 0 {
		return proc.Self()
	}
	return l.self
}

func (l *Ledger) lives(r Record) bool {
	if r.Owner == nil || l.Alone && *r.Owner != l.owner() {
		return false
	}
	if l.alive != nil {
		return l.alive(*r.Owner)
	}
	return r.Owner.Alive()
}
