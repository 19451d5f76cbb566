package schedule

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"sort"
	"time"

	"rouse/internal/disk"
	"rouse/internal/jsonl"
)

// A ledger is compacted when it is larger than compactFrom bytes and has doubled.
// The newest keepLines lines stay as they are, but for what a later one replaces;
// older slots are counted by entry, day and how they ended.
const (
	compactFrom = 1 << 20
	keepLines   = 20_000
)

func (l *Ledger) compactIf(have loaded, size int64) error {
	if size < cmp.Or(l.compactAt, compactFrom) || size < 2*have.Base {
		return nil
	}
	lines, err := l.all()
	if err != nil {
		return err
	}
	slots, err := jsonl.Marshal(compact(lines, cmp.Or(l.keep, keepLines))...)
	if err != nil {
		return err
	}
	have.Base = int64(len(slots))
	sum, err := jsonl.Marshal(Record{V: 1, Time: l.now().Round(0), Event: eventState, State: have.state})
	if err != nil {
		return err
	}
	return disk.Replace(l.disk(), l.Path, append(slots, sum...), 0o600)
}

// group is what old slots are counted by.
type group struct {
	entry, day string
	status     Status
	reason     string
	exit       int
}

// slotKey tells a slot from all others.
type slotKey struct {
	entry string
	slot  int64 // in seconds
}

// final leaves the last line of each slot, and of what waited only what no later
// line is about.
func final(lines []Record) (kept []Record) {
	newest := map[slotKey]int{}
	for i, r := range lines {
		newest[slotKey{r.Entry, r.Slot.Unix()}] = i
	}
	for i, r := range lines {
		last := newest[slotKey{r.Entry, r.Slot.Unix()}] == i
		if last || r.Count > 1 && r.Status != Waiting {
			kept = append(kept, r)
		}
	}
	return kept
}

// compact leaves the newest lines as final does, and counts older ones together.
func compact(lines []Record, keep int) (kept []Record) {
	lines = final(lines)
	at := map[group]int{}
	for i, r := range lines {
		switch old := len(lines)-i > keep; {
		case old && r.Status == Waiting: // what still waits is in the state
			continue
		case !old || r.Status == Running:
			kept = append(kept, r)
			continue
		}
		g := group{r.Entry, r.Slot.UTC().Format(time.DateOnly), r.Status, r.Reason, 0}
		if r.Exit != nil {
			g.exit = *r.Exit
		}
		if j, ok := at[g]; ok {
			k := &kept[j] // lines are not always in the order of their slots
			k.Last, k.Count, k.Slot = later(k.end(), r.end()), k.N()+r.N(), earlier(k.Slot, r.Slot)
			continue
		}
		at[g] = len(kept)
		kept = append(kept, r)
	}
	return kept
}

func (l *Ledger) all() (lines []Record, err error) {
	for r, err := range l.Records() {
		if err != nil {
			return nil, err
		}
		lines = append(lines, r)
	}
	return lines, nil
}

// Slots gives the last line of each slot, the oldest slot first. Slots of long ago
// are counted together.
func (l *Ledger) Slots() ([]Record, error) {
	lines, err := l.all()
	lines = final(lines)
	bySlot(lines)
	return lines, err
}

// Newest gives the newest slots as [Ledger.Slots] does, at most limit, from the end of the
// ledger.
func (l *Ledger) Newest(limit int) (list []Record, err error) {
	have, err := l.load()
	if err != nil {
		return nil, wrap(err)
	}
	_, err = jsonl.Tail(l.Path, int64(limit)*lineSize, func(data []byte) bool {
		var lines []Record
		for line := range bytes.SplitSeq(data, []byte{'\n'}) {
			var r Record
			other := bytes.Contains(line, []byte(`"event":"`+eventState)) || bytes.Contains(line, []byte(`"status":"`+Running))
			if !other && json.Unmarshal(line, &r) == nil && r.Event == eventSlot {
				lines = append(lines, r)
			}
		}
		list = final(append(lines, have.Open...)) // that which runs now
		return len(list) >= limit
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	bySlot(list)
	return list[max(0, len(list)-limit):], wrap(err)
}

// lineSize is about how many bytes the lines of a slot have that has run.
const lineSize = 600

func bySlot(list []Record) {
	sort.SliceStable(list, func(i, j int) bool { return list[i].Slot.Before(list[j].Slot) })
}
