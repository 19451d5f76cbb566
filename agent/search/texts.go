package search

import (
	"bufio"
	"encoding/json"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/origin"
)

// row is one text that can be found.
type row struct {
	kind Kind
	at   time.Time
	step int
	ref  string
	text string
}

// Bounds of what is kept of one text, and of all of a cycle, in bytes.
const (
	maxText = 64 << 10
	maxAll  = 64 << 20
)

// texts are what a journal says that can be found.
type texts struct {
	clean func(string) string
	began time.Time
	rows  []row
	size  int
	done  bool // a task was completed
	from  origin.Set
}

// read gives the texts of a journal, and says whether its cycle slept.
func (t *texts) read(events iter.Seq2[journal.Event, error]) (rows []row, slept bool) {
	for e, err := range events {
		if err != nil || t.size > maxAll || len(t.rows) == maxRows {
			break
		}
		_, slept = e.Data.(*journal.Sleep)
		t.take(e)
	}
	return t.rows, slept
}

// lines are those of a file, but for what is too long to be one of ours: to read it
// would take thirty times as much memory.
type lines struct {
	r    *bufio.Reader
	rest []byte
}

// maxLine is the longest line that is read, in bytes.
const maxLine = 4 << 20

// Reset begins with another file.
func (l *lines) Reset(r io.Reader) {
	if l.r == nil {
		l.r = bufio.NewReaderSize(nil, maxLine)
	}
	l.r.Reset(r)
	l.rest = nil
}

// Read is that of a journal.
func (l *lines) Read(p []byte) (n int, err error) {
	for long := false; len(l.rest) == 0; {
		line, err := l.r.ReadSlice('\n')
		if full := err == bufio.ErrBufferFull; full || long {
			long = full
			continue
		}
		if l.rest = line; err != nil && len(line) == 0 {
			return 0, err
		}
	}
	n = copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (t *texts) take(e journal.Event) {
	switch d := e.Data.(type) {
	case *journal.Note:
		t.add(row{Note, e.Time, d.Step, "", t.from.Text(d.Text)})
	case *journal.Origin:
		t.from = t.from.With(d.From...)
	case *journal.State:
		t.state(e.Time, d.Changes)
	case *journal.Intent:
		t.call(e.Time, d)
	case *journal.Result:
		t.result(e.Time, d)
	case *journal.Sleep:
		if d.Error != "" {
			t.add(row{Result, e.Time, 0, "", d.Outcome + ": " + d.Error})
		}
	}
}

// add takes in a text, of a kind but once.
func (t *texts) add(r row) {
	r.text = t.clean(r.text)
	if y := r.at.Year(); y < 1 || y > 9998 { // which has no JSON in some time zones
		r.at = t.began
	}
	same := func(o row) bool { return o.kind == r.kind && o.text == r.text }
	if r.text == "" || (r.kind == Note || r.kind == Task) && slices.ContainsFunc(t.rows, same) {
		return
	}
	t.size += len(r.text)
	t.rows = append(t.rows, r)
}

// state takes in changes of the memory: what Rouse itself adds to the notes is in
// other events, and where a task is taken from the queue the rest of that is not new.
func (t *texts) state(at time.Time, changes []scratchpad.Change) {
	taken := slices.ContainsFunc(changes, func(c scratchpad.Change) bool { return c.Key == "current_task" })
	for _, c := range changes {
		items, list := c.Value.([]any)
		switch {
		case c.Op == scratchpad.OpDrop || c.Value == nil || c.Key == "pending_actions" && taken || c.Key == "notes" && c.Op == scratchpad.OpAppend:
		case c.Key == "current_task":
			t.add(row{Task, at, 0, "", task(c.Value)})
		case list && (c.Key == "pending_actions" || c.Key == "completed_tasks"):
			for _, item := range items {
				t.finish(item)
				t.add(row{Task, at, 0, "", task(item)})
			}
		case c.Key == "notes":
			t.add(row{Note, at, 0, "", plain(c.Value)})
		default:
			t.add(row{Note, at, 0, "", c.Key + ": " + plain(c.Value)})
		}
	}
}

// finish takes out a task that is completed now, with what came of it.
func (t *texts) finish(entry any) {
	if m, ok := entry.(map[string]any); ok && m["summary"] != nil {
		t.done = true
		begun := t.clean(task(m["task"]))
		t.rows = slices.DeleteFunc(t.rows, func(r row) bool { return r.kind == Task && r.text == begun })
	}
}

// task is a task as text, with what came of it.
func task(v any) string {
	m, ok := v.(map[string]any)
	if !ok || m["task"] == nil {
		return plain(v)
	}
	said := plain(m["task"])
	if m["summary"] != nil {
		said += " → " + plain(m["summary"])
	}
	return origin.OfTask(v).Text(said)
}

// plain is a text as it is, and any other value as JSON.
func plain(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, err := json.Marshal(v)
	if err != nil || v == nil {
		return ""
	}
	return string(data)
}

func (t *texts) call(at time.Time, d *journal.Intent) {
	var cell struct{ Action, Name, Code string }
	if d.Tool == "notebook" && json.Unmarshal(d.Args, &cell) == nil && cell.Action == "exec" {
		t.add(row{Cell, at, d.Step, "", cell.Name + ": " + cell.Code})
		return
	}
	t.add(row{Call, at, d.Step, "", d.Tool + " " + string(d.Args)})
}

// result takes in what a call gave back, but for what the memory says already.
func (t *texts) result(at time.Time, d *journal.Result) {
	r := row{Result, at, d.Step, d.ScratchpadID, strings.TrimSpace(d.Error + " " + d.Shown())}
	switch {
	case d.Tool == ToolName || d.Tool == "update_scratchpad" && d.OK || d.Tool == "done" && t.done:
		return
	case d.Tool == "done" && d.OK:
		r.kind = Task
	case d.ScratchpadID != "":
		r.kind, r.text = Observation, d.Facts+" "+r.text
	}
	if r.text != "null" {
		t.add(r)
	}
}
