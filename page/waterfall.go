package page

import (
	"maps"
	"slices"

	"rouse/journal"
)

// mostRows is how many rows of a waterfall a page has.
const mostRows = 100

// waterfall finds in a journal which of its lines are about one request or call: those are a
// row. Of the rows it keeps only those that are asked for, and of these where their lines
// are, so that it is small however long the journal is.
type waterfall struct {
	from   int // the first row that is kept, from 1; 0 is for the newest ones
	rows   []*lines
	count  int // of all rows
	last   int // line
	asking *lines
	calls  map[int]*lines // that have no result yet, by their step
	spent  func(reply journal.Mark)
}

// lines are those of a row.
type lines struct {
	n     int
	marks []journal.Mark // without the lines themselves
}

// add takes in a line, and gives the row that has become another by it, or nil.
func (w *waterfall) add(m journal.Mark) *lines {
	w.last = m.Number
	r := w.row(m)
	if r != nil && (w.from == 0 || r.n >= w.from && r.n < w.from+mostRows) {
		m.Line = nil
		r.marks = append(r.marks, m)
	}
	return r
}

// row is the one that a line belongs to, nil where it says nothing to people.
func (w *waterfall) row(m journal.Mark) (r *lines) {
	switch m.Event {
	case "made", "parked", "variables", "end":
		return nil
	case "request":
		w.asking = w.begin()
		return w.asking
	case "retry":
		r = w.asking
	case "reply":
		if w.spent != nil {
			w.spent(m)
		}
		r, w.asking = w.asking, nil
	case "note", "policy", "approval", "origin", "intent", "started", "refused", "result":
		if m.Step == 0 {
			break
		}
		if r = w.calls[m.Step]; r == nil {
			r = w.begin()
			w.open(m.Step, r)
		}
		if m.Event == "result" {
			delete(w.calls, m.Step)
		}
		return r
	}
	if r == nil {
		r = w.begin()
	}
	return r
}

func (w *waterfall) begin() *lines {
	w.count++
	r := &lines{n: w.count}
	if w.from == 0 && len(w.rows) == 2*mostRows {
		w.rows = slices.Delete(w.rows, 0, mostRows)
	}
	if w.from == 0 || r.n >= w.from && r.n < w.from+mostRows {
		w.rows = append(w.rows, r)
	}
	return r
}

// open takes a call for one without a result. Where thousands are, the journal was not written by us.
func (w *waterfall) open(step int, r *lines) {
	if w.calls == nil || len(w.calls) > 1000 {
		w.calls = map[int]*lines{}
	}
	w.calls[step] = r
}

// isOpen says whether more is to come of a row.
func (w *waterfall) isOpen(r *lines) bool {
	return r == w.asking || slices.Contains(slices.Collect(maps.Values(w.calls)), r)
}

// shown are the rows that a page has.
func (w *waterfall) shown() []*lines { return w.rows[max(0, len(w.rows)-mostRows):] }
