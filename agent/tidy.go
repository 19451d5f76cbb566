package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/jsonl"
	"rouse/journal"
	"rouse/scratchpad"
)

// tidy takes out of the memory what became too much for it: finished tasks go to
// the archive, lines of the notes to a file of theirs. The journal has it first;
// it is put away once the memory is saved without it, and where that is interrupted
// by who settles the cycle. Its files are open before, as nothing may leave that
// cannot be kept.
func (k *Keeper) tidy(c *record) (outgoing, error) {
	if c.reopened {
		return k.tidyAgain(c)
	}
	if c.rewind != nil {
		return nil, nil // it was tidy then
	}
	d, out := &journal.Tidied{}, outgoing{}
	for _, shed := range []func(*record, *journal.Tidied) (leaving, error){k.shedTasks, k.shedNotes} {
		l, err := shed(c, d)
		if err != nil {
			// A journal that cannot be written is met again at once.
			_ = c.journal.Append(&journal.Warning{Text: err.Error()})
		}
		if err == nil && l.file != nil {
			out = append(out, l)
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	if err := c.state.Apply(d.Changes...); err != nil {
		out.close()
		return nil, fmt.Errorf("tidy the memory: %w", err)
	}
	c.tidied = d
	return out, cmp.Or(c.journal.Append(d), c.sync())
}

// shedTasks takes out the oldest of the finished tasks.
func (k *Keeper) shedTasks(c *record, d *journal.Tidied) (leaving, error) {
	done := c.state.Completed()
	n := len(done) - k.CompletedMax
	if k.CompletedMax <= 0 || n <= 0 {
		return leaving{}, nil
	}
	for _, task := range done[:n] {
		line, err := jsonl.Marshal(k.Redact.Any(task))
		if err != nil {
			return leaving{}, err // plain values have a JSON form
		}
		d.Tasks = append(d.Tasks, bytes.TrimSpace(line))
	}
	p, err := k.keepIn(k.Home.Archive())
	if err != nil {
		d.Tasks = nil
		return leaving{}, fmt.Errorf("keep the finished tasks that are too many: %w", err)
	}
	d.Changes = append(d.Changes, scratchpad.Change{Op: scratchpad.OpDrop, Key: "completed_tasks", Value: n})
	p.text, err = archived(c.id, d.Tasks, nil)
	return p, err
}

// shedNotes takes lines out of the notes.
func (k *Keeper) shedNotes(c *record, d *journal.Tidied) (leaving, error) {
	left, folded := fold(c.state.Notes())
	left, dropped := trim(left, k.NotesMax)
	if folded+dropped == "" {
		return leaving{}, nil
	}
	p, err := k.keepIn(k.Home.DroppedNotes())
	if err != nil {
		return leaving{}, fmt.Errorf("keep the notes that are dropped: %w", err)
	}
	d.Notes = strings.Trim(k.Redact.String(folded+dropped), "\n")
	d.Changes = append(d.Changes, set("notes", k.Redact.String(left)))
	p.text = block(c.id, d.Notes)
	return p, nil
}

// DroppedBy begins the line that says which cycle dropped the notes below it.
const DroppedBy = "--- dropped from the notes by cycle "

// block is how dropped notes are kept.
func block(cycle, notes string) []byte {
	return fmt.Appendf(nil, "%s%s\n%s\n", DroppedBy, cycle, notes)
}

// tidyAgain is what an interrupted cycle was to put away and has not.
func (k *Keeper) tidyAgain(c *record) (out outgoing, err error) {
	if c.tidied == nil {
		return nil, nil
	}
	for _, missing := range []func(*record) (leaving, error){k.missingTasks, k.missingNotes} {
		l, err := missing(c)
		if err != nil {
			return out, fmt.Errorf("put away what left the memory: %w", err)
		}
		if l.file != nil {
			out = append(out, l)
		}
	}
	return out, nil
}

func (k *Keeper) missingTasks(c *record) (leaving, error) {
	there := map[int]bool{}
	_, err := jsonl.Tail(k.Home.Archive(), 64<<10, func(lines []byte) bool {
		earlier := false
		for f, err := range jsonl.Values[Finished](bytes.NewReader(lines)) {
			if err != nil {
				break // a line too long to be one of ours
			}
			there[f.N] = there[f.N] || f.Cycle == c.id
			earlier = earlier || f.Cycle != c.id
		}
		return earlier
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return leaving{}, err
	}
	text, err := archived(c.id, c.tidied.Tasks, there)
	if err != nil || len(text) == 0 {
		return leaving{}, err
	}
	p, err := k.keepIn(k.Home.Archive())
	p.text = text
	return p, err
}

func (k *Keeper) missingNotes(c *record) (leaving, error) {
	if c.tidied.Notes == "" {
		return leaving{}, nil
	}
	text, there := block(c.id, c.tidied.Notes), false
	_, err := jsonl.Tail(k.Home.DroppedNotes(), int64(2*len(text)+1024), func(lines []byte) bool {
		there = bytes.Contains(lines, text)
		return true
	})
	if there || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return leaving{}, err
	}
	p, err := k.keepIn(k.Home.DroppedNotes())
	p.text = text
	return p, err
}

// Finished is a line of the archive: a finished task that left the memory.
type Finished struct {
	Cycle string          `json:"cycle"` // that moved it there
	N     int             `json:"n"`     // from 1 in each cycle
	Entry json.RawMessage `json:"entry"` // as completed_tasks had it
}

// archive is where the finished tasks are that left the memory, "" without any.
func (k *Keeper) archive() string {
	if info, err := os.Stat(k.Home.Archive()); err != nil || info.Size() == 0 {
		return ""
	}
	return k.Home.Rel(k.Home.Archive())
}

// archived are the lines of the archive for what a cycle moves there, but for those
// that are there already.
func archived(cycle string, tasks []json.RawMessage, there map[int]bool) ([]byte, error) {
	var list []Finished
	for i, task := range tasks {
		if !there[i+1] {
			list = append(list, Finished{cycle, i + 1, task})
		}
	}
	return jsonl.Marshal(list...)
}

// outgoing is what is to be put where it goes.
type outgoing []leaving

type leaving struct {
	file *jsonl.File
	text []byte
	name func() error // makes the name of a new file durable
}

// keepIn opens a file for what leaves the memory.
func (k *Keeper) keepIn(path string) (leaving, error) {
	l := leaving{file: &jsonl.File{FS: k.disk(), Path: path}, name: func() error { return nil }}
	if !disk.Exists(path) {
		l.name = func() error { return k.disk().SyncDir(filepath.Dir(path)) }
	}
	return l, l.file.Append(nil, false)
}

func (o outgoing) write() error {
	for _, l := range o {
		err := l.file.Append(l.text, true)
		if err := cmp.Or(err, l.name()); err != nil {
			return fmt.Errorf("put away what left the memory: %w", err)
		}
	}
	return nil
}

func (o outgoing) close() {
	for _, l := range o {
		_ = l.file.Close() // what is durable was said before
	}
}

// Moved is how many finished tasks a cycle moved to the archive of a home; "" is all
// cycles.
func Moved(h home.Home, cycle string) (n int, err error) {
	for f, err := range jsonl.Read[Finished](h.Archive()) {
		if err != nil {
			return n, fmt.Errorf("archive: %w", err)
		}
		if cycle == "" || f.Cycle == cycle {
			n++
		}
	}
	return n, nil
}
