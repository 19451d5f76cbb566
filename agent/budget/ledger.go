package budget

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"rouse/internal/disk"
	"rouse/internal/jsonl"
	"rouse/internal/proc"
)

const (
	lockTime = 10 * time.Second // for what must not wait for long
	// compactFrom is the size from which the ledger is summed up, in bytes, when
	// a process first reads it.
	compactFrom = 256 << 10
	keepDays    = 62 // of a ledger that is summed up
)

// Kinds of records.
const (
	reserve = "reserve"
	settle  = "settle"
	sum     = "sum" // of what a day, or a cycle on that day, has spent
)

// record is one line of the ledger. Its field v comes first: it marks where a line
// begins that an earlier program wrote behind what a crash left of another one.
type record struct {
	V     int           `json:"v"`
	Event string        `json:"event"`
	ID    string        `json:"id,omitempty"`
	Time  time.Time     `json:"time"`
	Day   string        `json:"day"` // of the local calendar
	Cycle string        `json:"cycle,omitempty"`
	Owner proc.Identity `json:"owner,omitzero"`
	Amount
}

var lineStart = []byte(`{"v":`)

// book is what the records come to.
type book struct {
	days, cycles map[string]Amount
	spent        map[key]Amount // by day and cycle
	held         map[string]record
	bad          int // lines that cannot be read
}

type key struct{ day, cycle string }

func newBook() book {
	return book{map[string]Amount{}, map[string]Amount{}, map[key]Amount{}, map[string]record{}, 0}
}

// month sums up the days of a month such as 2026-04.
func (b book) month(name string) (all Amount) {
	for day, a := range b.days {
		if len(day) > len(name) && day[:len(name)] == name {
			all = all.plus(a)
		}
	}
	return all
}

func (b book) add(day, cycle string, a Amount) {
	b.days[day] = b.days[day].plus(a)
	b.cycles[cycle] = b.cycles[cycle].plus(a)
	b.spent[key{day, cycle}] = b.spent[key{day, cycle}].plus(a)
}

// apply counts one record. What is settled counts for the day and the cycle of
// its reservation; a settlement without one is another's, and counts nothing.
func (b book) apply(r record) {
	switch r.Event {
	case sum:
		b.add(r.Day, r.Cycle, r.Amount)
	case reserve:
		b.add(r.Day, r.Cycle, r.Amount)
		if r.Tokens > 0 {
			b.held[r.ID] = r
		}
	case settle:
		if h, ok := b.held[r.ID]; ok {
			b.add(h.Day, h.Cycle, r.Amount.minus(h.Amount))
			delete(b.held, r.ID)
		}
	}
}

func (b *Budget) disk() disk.FS { return disk.Or(b.Disk) }

// locked calls do while no other process writes in the ledger, with all that
// others wrote read.
func (b *Budget) locked(ctx context.Context, do func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.self.PID == 0 {
		b.self = proc.Self()
	}
	if b.lock == nil {
		b.lock = disk.Beside(b.Path)
	}
	unlock, err := b.lock.Lock(ctx, disk.Patient)
	if err != nil {
		return fmt.Errorf("lock the spend ledger: %w", err)
	}
	defer unlock()
	if err := b.catchUp(); err != nil {
		return fmt.Errorf("read the spend ledger: %w", err)
	}
	return do()
}

// catchUp reads what was written since the last time, or all of a file that
// another process has summed up.
func (b *Budget) catchUp() error {
	first, size := b.file == nil, int64(0)
	err := b.ledger().Read(func(r io.ReaderAt, info fs.FileInfo) error {
		if size = info.Size(); first || !os.SameFile(info, b.file) || size < b.offset {
			b.read, b.offset = newBook(), 0
		}
		b.file = info
		data, err := io.ReadAll(io.NewSectionReader(r, b.offset, size-b.offset))
		if err == nil {
			b.offset += int64(len(data))
			b.applyAll(data)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		b.read, b.file, b.offset = newBook(), nil, 0
		return nil
	}
	if err == nil && first && size > compactFrom {
		return b.compact()
	}
	return err
}

// ledger is the file, which stays open. The caller holds mu.
func (b *Budget) ledger() *jsonl.File {
	if b.lines == nil {
		b.lines = &jsonl.File{FS: b.disk(), Path: b.Path}
	}
	return b.lines
}

func (b *Budget) applyAll(data []byte) {
	for line := range bytes.Lines(data) {
		if r, ok := parse(line); ok {
			b.read.apply(r)
		} else if len(bytes.TrimSpace(line)) > 0 {
			b.read.bad++
		}
	}
}

// parse reads a line, also one that stands behind half of another one.
func parse(line []byte) (r record, ok bool) {
	if start := bytes.LastIndex(line, lineStart); start >= 0 {
		ok = json.Unmarshal(line[start:], &r) == nil
	}
	return r, ok && r.Day != ""
}

func (b *Budget) record(event, id string, a Amount) record {
	r := record{V: 1, Event: event, ID: id, Time: b.now(), Day: b.today(), Cycle: b.cycleID(), Amount: a}
	if event == reserve && a.Tokens > 0 {
		r.Owner = b.self
	}
	return r
}

// append writes a record. If it fails, what was written of the record may count
// as spent.
func (b *Budget) append(r record, durable bool) error {
	line, err := jsonl.Marshal(r)
	if err == nil {
		err = b.write(line, durable)
	}
	if err != nil {
		return fmt.Errorf("write the spend ledger: %w", err)
	}
	return nil
}

func (b *Budget) write(line []byte, durable bool) error {
	err := b.ledger().Append(line, durable)
	if err != nil || !durable || b.synced {
		return err
	}
	err = b.disk().SyncDir(filepath.Dir(b.Path))
	b.synced = err == nil
	return err
}

// compact replaces the ledger by its sums, and the reservations of processes
// that live. Of days before yesterday the cycles are forgotten, and days older
// than keepDays wholly.
func (b *Budget) compact() error {
	sums := newBook()
	now := b.now().Local()
	yesterday, oldest := now.AddDate(0, 0, -1).Format(dayForm), now.AddDate(0, 0, -keepDays).Format(dayForm)
	for k, a := range b.read.spent {
		if k.day < yesterday && k.cycle != b.cycleID() {
			k.cycle = ""
		}
		if k.day >= oldest {
			sums.add(k.day, k.cycle, a)
		}
	}
	var lines, live []record
	for _, r := range b.read.held {
		if r.Day >= oldest && r.Owner.Alive() {
			sums.add(r.Day, r.Cycle, Amount{}.minus(r.Amount))
			live = append(live, r)
		}
	}
	keys := slices.Collect(maps.Keys(sums.spent))
	sort.Slice(keys, func(i, j int) bool { return keys[i].day+keys[i].cycle < keys[j].day+keys[j].cycle })
	for _, k := range keys {
		lines = append(lines, record{V: 1, Event: sum, Time: now, Day: k.day, Cycle: k.cycle, Amount: sums.spent[k]})
	}
	text, err := jsonl.Marshal(append(lines, live...)...)
	if err != nil {
		return err
	}
	if err := disk.Replace(b.disk(), b.Path, text, 0o600); err != nil {
		return err
	}
	return b.catchUp()
}
