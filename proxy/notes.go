package proxy

import (
	"fmt"
	"strings"
	"time"

	"rouse/internal/disk"
	"rouse/internal/jsonl"
	"rouse/internal/redact"
	"rouse/internal/text"
)

// maxNote bounds a note, in characters.
const maxNote = 4000

// Log is the file of the notes that came with calls, a JSON object a line:
// {v, time, session, event: "note", step, tool, text}, and at the end of a
// session {v, time, session, event: "end", calls, empty_notes, parked}. It is
// private to the user. The zero value keeps none.
type Log struct {
	FS      disk.FS
	Path    string
	Session string
	Redact  *redact.Redactor
	Now     func() time.Time
}

// record is one line of the log.
type record struct {
	V       int    `json:"v"`
	Time    string `json:"time"`
	Session string `json:"session"`
	Event   string `json:"event"`
	Step    int    `json:"step,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Text    string `json:"text,omitempty"`
	*counts
}

type counts struct {
	Calls  int64 `json:"calls"`
	Empty  int64 `json:"empty_notes"`
	Parked int64 `json:"parked"`
}

func (l Log) write(e record) error {
	if l.Path == "" {
		return nil
	}
	e.V, e.Time, e.Session = 1, l.Now().Format(time.RFC3339Nano), l.Session
	e.Tool, e.Text = l.Redact.String(e.Tool), l.Redact.String(e.Text)
	line, err := jsonl.Marshal(e)
	if err == nil {
		err = jsonl.Append(l.FS, l.Path, line, false)
	}
	if err != nil {
		return fmt.Errorf("notes: %w", err)
	}
	return nil
}

// note keeps the note that came with a call. None, or the one before again, is
// an empty note.
func (p *Proxy) note(r *request, note string) {
	p.mu.Lock()
	isNew := note != "" && note != p.noted
	if isNew {
		p.noted = note
	}
	p.mu.Unlock()
	if !isNew {
		p.empty.Add(1)
		return
	}
	note = text.Cut(p.Redact.String(note), maxNote)
	e := record{Event: "note", Step: r.step, Tool: strings.ToValidUTF8(r.tool, "�"), Text: note}
	if err := p.Notes.write(e); err != nil {
		p.unlogged.Do(func() { p.say(err.Error()) })
	}
}

// Close waits until the servers are gone, and ends the log with what there was of
// calls and notes. The context of [Proxy.Handler] has ended.
func (p *Proxy) Close() error {
	p.running.Wait()
	if p.Plain {
		return nil
	}
	return p.Notes.write(record{Event: "end", counts: &counts{p.calls.Load(), p.empty.Load(), p.parked.Load()}})
}
