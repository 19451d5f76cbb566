package page

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"rouse/agent/budget"
	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/journal"
)

// row is one of a waterfall as it is shown.
type row struct {
	N               int
	Path            string // of all that is known of it, "" if that is here
	What, Text      string
	Result          string
	State, Class    string
	Tokens, Money   string
	Said            []string // of it, by others
	Start, Length   string
	X, Width        float64 // of its bar, in hundredths of the whole
	Iteration, Step int

	began, ended time.Time
	ruled        string // what the policy said
	carried      bool   // it was begun
}

// drawing is what rows need to be shown.
type drawing struct {
	file   *os.File
	path   func(parts ...string) string // in the cycle
	model  string
	prices budget.Prices
	// zero is when the cycle began; bars go from one time to another.
	zero, from, until time.Time
	owner             proc.Identity // of the journal
}

// maxLine is the longest line of a journal that a page parses, in bytes.
const maxLine = 4 << 20

// row reads the lines of a row, of which more is to come if it is open.
func (d *drawing) row(l *lines, open bool) row {
	r := row{N: l.n}
	for _, m := range l.marks {
		e, err := d.event(m)
		if err != nil {
			r.Said = append(r.Said, err.Error())
			continue
		}
		if r.began.IsZero() || m.Event == "intent" {
			r.began = e.Time
		}
		r.ended = e.Time
		d.take(&r, e)
	}
	switch {
	case r.State == "" && open && r.What != "":
		r.State, r.Class = "running", "warn"
	case r.State == "" && r.Iteration > 0:
		r.State, r.Class = "no answer", "bad"
	case r.State == "" && r.carried:
		r.State, r.Class = "unknown outcome", "bad"
		r.Said = append(r.Said, "the cycle ended while it ran: whether it did its work is not known, and it is not repeated")
	}
	r.What = cmp.Or(r.What, "?")
	r.Start = took(r.began.Sub(d.zero))
	if r.Class != "" && !open {
		r.Length = took(r.ended.Sub(r.began))
	}
	return r
}

// draw gives a row its bar, which is wide enough to be seen.
func (d *drawing) draw(r *row) {
	all := max(1, float64(d.until.Sub(d.from)))
	part := func(t time.Duration) float64 { return math.Round(1e4*float64(t)/all) / 100 }
	r.X = max(0, min(99, part(r.began.Sub(d.from))))
	r.Width = max(.7, min(100-r.X, part(r.ended.Sub(r.began))))
}

// event reads one line.
func (d *drawing) event(m journal.Mark) (e journal.Event, err error) {
	if m.Size > maxLine {
		return e, fmt.Errorf("line %d of the log (%s) has %d bytes, too many to be shown: rouse log --json has it", m.Number, m.Event, m.Size)
	}
	line := make([]byte, m.Size)
	if _, err := d.file.ReadAt(line, m.At); err != nil && err != io.EOF {
		return e, fmt.Errorf("line %d of the log: %w", m.Number, err)
	}
	if e.UnmarshalJSON(bytes.TrimSpace(line)) != nil {
		return e, fmt.Errorf("line %d of the log (%s) is no whole line", m.Number, m.Event)
	}
	return e, nil
}

// take adds to a row what an event says.
func (d *drawing) take(r *row, e journal.Event) {
	switch p := e.Data.(type) {
	case *journal.Request:
		r.Iteration, r.What, r.Tokens = p.Iteration, "ask", fmt.Sprintf("about %d", p.Tokens)
		if r.Path = d.path("requests", fmt.Sprint(p.Iteration)); p.For != "" {
			r.Path, r.What = "", "ask for a "+p.For
		}
	case *journal.Reply:
		if r.Iteration == 0 {
			r.What, r.began = "reply", e.Time.Add(-time.Duration(p.Ms)*time.Millisecond)
		}
		r.State, r.Class, r.Result = "answered", "good", p.Said()
		r.Tokens = fmt.Sprintf("%d + %d", p.Usage.Input, p.Usage.Output)
		if cost, ok := d.cost(p.Model, p.Usage); ok {
			r.Money = money(cost)
		}
		r.Said = append(r.Said, "model: "+cmp.Or(p.Model, d.model))
	case *journal.Intent:
		d.step(r, p.Step)
		r.What, r.Text, r.carried = p.Tool, string(p.Args), true
		if p.Approval != "" {
			r.Said = append(r.Said, "approved as "+p.Approval)
		}
	case *journal.Result:
		d.step(r, p.Step)
		d.result(r, p)
	case *journal.Note:
		d.step(r, p.Step)
		r.Said = append(r.Said, "note: "+p.Text)
	case *journal.Checked:
		r.What, r.Text, r.Result = "check by the "+p.By, p.Check, p.Seen
		r.State, r.Class = outcome(p.OK, "holds", "does not hold")
		if p.Flaky {
			r.Said = append(r.Said, "it held at the second try alone")
		}
		r.began = e.Time.Add(-time.Duration(p.Ms) * time.Millisecond)
	case *journal.Started: // is on the page of the step
	default:
		d.other(r, e)
	}
}

// step says that a row is about a call.
func (d *drawing) step(r *row, n int) {
	r.Step, r.Path = n, d.path("steps", fmt.Sprint(n))
}

// other takes in an event that the log says in a line: of a call, or alone.
func (d *drawing) other(r *row, e journal.Event) {
	kind, said, _ := strings.Cut(e.Text(), " ")
	said = strings.TrimSpace(said)
	step := 0
	switch p := e.Data.(type) {
	case *journal.Policy:
		step, r.ruled = p.Step, p.Do
	case *journal.Origin:
		step = p.Step
	case *journal.Refused:
		step = p.Step
	case *journal.Approval:
		step = p.Step
	}
	if step > 0 {
		d.step(r, step)
		said = strings.TrimPrefix(said, fmt.Sprintf("step %d: ", step))
	}
	if step > 0 || r.Iteration > 0 {
		r.Said = append(r.Said, kind+": "+said)
		return
	}
	if r.What, r.Text = cmp.Or(kind, e.Header.Event), said; kind == "warn" || kind == "limit" {
		r.State, r.Class = "look", "warn"
	}
}

// result takes in what came of a call.
func (d *drawing) result(r *row, p *journal.Result) {
	r.What, r.Result = p.Tool, p.Shown()
	switch {
	case p.OK:
		r.State, r.Class = "ok", "good"
	case r.ruled == "ask":
		r.State, r.Class = "asked", "warn"
	case r.ruled == "deny":
		r.State, r.Class = "denied", "warn"
	case p.Tool == "done" || p.Tool == "update_scratchpad":
		r.State, r.Class = "refused", "warn"
	default:
		r.State, r.Class = "failed", "bad"
	}
	if p.Error != "" {
		r.Result = p.Error
	}
	if p.ScratchpadID != "" {
		r.Said = append(r.Said, fmt.Sprintf("%s kept as %s", text.Count(p.SizeBytes, "byte"), p.ScratchpadID))
	}
	if p.Warning != "" {
		r.Said = append(r.Said, "warning: "+p.Warning)
	}
	for _, q := range journal.Unsupported(p.Evidence) {
		r.Said = append(r.Said, "unsupported: "+q.String())
	}
}

func outcome(ok bool, good, bad string) (state, class string) {
	if ok {
		return good, "good"
	}
	return bad, "bad"
}

// took is a time that something took, for people.
func took(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
