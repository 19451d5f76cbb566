package schedule

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"rouse/internal/disk"
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
	// Wrote, unless nil, is told what [Ledger.Due] and [Attempt.Settle] wrote.
	Wrote func([]Record)

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
	torn  bool  // the last line is not whole
	bad   int   // lines that cannot be read
}

// open opens the ledger for reading. It waits for no FIFO.
func (l *Ledger) open() (*os.File, error) {
	if info, err := os.Stat(l.Path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file; move it away", l.Path)
	}
	return os.Open(l.Path)
}

// load reads the end of the ledger. A line that is not whole, as a killed
// process leaves one, is passed over.
func (l *Ledger) load() (loaded, error) {
	f, err := l.open()
	if errors.Is(err, fs.ErrNotExist) {
		return loaded{state: newState()}, nil
	}
	if err != nil {
		return loaded{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return loaded{}, err
	}
	for want := int64(tail); ; want *= 4 {
		got, ok, err := loadEnd(f, info.Size(), want)
		if ok || err != nil {
			return got, err
		}
	}
}

// loadEnd is load with no more than the last bytes; ok says that they were enough.
func loadEnd(f io.ReaderAt, size, want int64) (got loaded, ok bool, err error) {
	want = min(want, size)
	data := make([]byte, want)
	if _, err := f.ReadAt(data, size-want); err != nil && err != io.EOF {
		return got, false, err
	}
	got = loaded{state: newState(), size: size, fresh: want}
	got.torn = want > 0 && data[want-1] != '\n'
	whole := want == size
	if i := bytes.LastIndex(data, []byte(`"event":"`+eventState+`"`)); i >= 0 {
		start := bytes.LastIndexByte(data[:i], '\n') + 1
		var r Record
		line, _, _ := bytes.Cut(data[start:], []byte{'\n'})
		if (start > 0 || whole) && json.Unmarshal(line, &r) == nil && r.State != nil {
			data, got.fresh, ok = data[start:], want-int64(start), true
		}
	}
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		var r Record
		if json.Unmarshal(line, &r) == nil {
			got.apply(r)
		} else if len(line) > 0 {
			got.bad++
		}
	}
	return got, ok || whole, nil
}

// Records gives all lines that are about slots, the oldest first. A missing
// ledger has none.
func (l *Ledger) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r, err := range l.lines() {
			if (err != nil || r.Event == eventSlot) && !yield(r, err) {
				return
			}
		}
	}
}

func (l *Ledger) lines() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		f, err := l.open()
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Record{}, fmt.Errorf("read the slots: %w", err))
			return
		}
		defer f.Close()
		in := bufio.NewReader(f)
		for {
			line, err := in.ReadBytes('\n')
			var r Record
			if json.Unmarshal(line, &r) == nil && !yield(r, nil) {
				return
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(r, fmt.Errorf("read the slots: %w", err))
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
	f, err := l.disk().OpenFile(l.Path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
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
	var b bytes.Buffer
	if have.torn {
		b.WriteByte('\n') // no line follows half of another one
	}
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, r := range lines {
		if err := enc.Encode(r); err != nil {
			return nil, err
		}
	}
	if have.fresh+int64(b.Len()) > stateEvery {
		err := enc.Encode(Record{V: 1, Time: lines[len(lines)-1].Time, Event: eventState, State: have.state})
		return b.Bytes(), err
	}
	return b.Bytes(), nil
}

func (l *Ledger) now() time.Time {
	if l.Now == nil {
		return time.Now()
	}
	return l.Now()
}

func (l *Ledger) disk() disk.FS {
	if l.Disk == nil {
		return disk.OS{}
	}
	return l.Disk
}

func (l *Ledger) owner() proc.Identity {
	if l.self.PID == 0 {
		return proc.Self()
	}
	return l.self
}

func (l *Ledger) lives(r Record) bool {
	if r.Owner == nil {
		return false
	}
	if l.alive != nil {
		return l.alive(*r.Owner)
	}
	return r.Owner.Alive()
}
