// Package search finds what cycles wrote, read and did: in their journals, among the
// finished tasks that left the memory, and in the notes that were dropped from it.
//
// The files are what counts. Beside them is an index, a SQLite database with a table
// of FTS5, that is filled when somebody searches and never by a cycle that does not:
// with the journals whose names, sizes and times are not as they were, and without those that are
// gone. One that is missing, of another version or damaged is made anew, and where it
// cannot be written all is read into memory instead, which [Found] says.
//
// A row of the index is one text. Its number has the second in which the cycle began,
// where the text is from, which one of them it is, and its kind; so the newest come first, a cycle's
// rows go together, and what is asked of one kind or of late is read of the number alone.
package search

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/redact"
)

// Kind is what a text was.
type Kind string

// The kinds: what the model wrote into its memory or with a call, what it was to do
// and did, what it called and got back, the code of cells, and outputs that were too
// large to be shown, as they were shown.
const (
	Note        Kind = "note"
	Task        Kind = "task"
	Call        Kind = "call"
	Result      Kind = "result"
	Cell        Kind = "cell"
	Observation Kind = "observation"
)

// Kinds are all of them. Their places are in the index.
func Kinds() []Kind { return []Kind{Note, Task, Call, Result, Cell, Observation} }

// Query is what to look for.
type Query struct {
	Text  string // words, and "phrases"
	Any   bool   // one of them is enough, and what has most of them comes first
	Kinds []Kind // none is all
	// Since and Before bound the cycles that count, by their ids; "" is no bound.
	Since, Before string
	Limit         int // 0 is none
	Bytes         int // of an excerpt; 0 is 200
}

// NewQuery looks for a text in cycles that began since a time, as in [Since], of one kind
// or, with "", of all.
func NewQuery(text, since, kind string, now time.Time) (q Query, err error) {
	q.Text = text
	if kind != "" {
		q.Kinds = []Kind{Kind(kind)}
	}
	if kind != "" && !slices.Contains(Kinds(), Kind(kind)) {
		return q, &QueryError{fmt.Sprintf("kind %q: use one of %v", kind, Kinds())}
	}
	q.Since, err = Since(since, now)
	return q, err
}

// Hit is a text that has what was looked for.
type Hit struct {
	Cycle   string    `json:"cycle"`
	Kind    Kind      `json:"kind"`
	Step    int       `json:"step,omitempty"`
	Time    time.Time `json:"time"`
	Excerpt string    `json:"excerpt"` // one line, without secrets
	ID      string    `json:"scratchpad_id,omitempty"`

	sum    uint64
	source source
}

// Found is what was found, the newest first.
type Found struct {
	Hits []Hit
	More bool // than were asked for
	// Note says what the hits may lack, or why they took long; "" is nothing.
	Note string
}

// Index is that of a home.
type Index struct {
	Home   home.Home
	Redact *redact.Redactor
	Now    func() time.Time // nil is time.Now

	db    *sql.DB
	file  os.FileInfo // of the database
	lines lines
	note  string
}

// QueryError says what is wrong with a query.
type QueryError struct{ msg string }

func (e *QueryError) Error() string { return e.msg }

// Wrong is a [QueryError].
func Wrong(format string, args ...any) error { return &QueryError{fmt.Sprintf(format, args...)} }

// Find looks for a query, once it has taken in what is new.
func (x Index) Find(ctx context.Context, q Query) (Found, error) {
	match, err := expression(q.Text, q.Any)
	if err != nil || !disk.Exists(x.Home.Logs()) {
		return Found{}, err
	}
	f, err := x.find(ctx, x.Home.Search(), match, q)
	if isDamage(err) {
		f, err = x.find(ctx, x.Home.Search(), match, q) // it was removed
	}
	if err == nil || ctx.Err() != nil {
		return f, cmp.Or(err, context.Cause(ctx))
	}
	why := err
	if f, err = x.find(ctx, "", match, q); err != nil {
		return f, fmt.Errorf("search: %w", err)
	}
	f.Note = strings.TrimPrefix(f.Note+"; ", "; ") + fmt.Sprintf("without an index, as it cannot be kept: %v", why)
	return f, nil
}

// find looks in the index at a path; "" is one in memory.
func (x Index) find(ctx context.Context, path, match string, q Query) (f Found, err error) {
	if err := x.fill(ctx, path); err != nil {
		return f, x.discard(ctx, path, err)
	}
	defer x.db.Close()
	f, err = x.ask(ctx, match, q)
	f.Note = x.note
	return f, x.discard(ctx, path, err)
}

// ask asks an index that is filled.
func (x *Index) ask(ctx context.Context, match string, q Query) (f Found, err error) {
	order, kinds, limit, end := "rowid DESC", 0, -1, int64(math.MaxInt64)
	if q.Any {
		order = "rank, rowid DESC"
	}
	for i, k := range Kinds() {
		if len(q.Kinds) == 0 || slices.Contains(q.Kinds, k) {
			kinds |= 1 << i
		}
	}
	if q.Limit > 0 {
		limit = q.Limit + 1
	}
	if q.Before != "" {
		end = first(q.Before)
	}
	rows, err := x.db.QueryContext(ctx, `SELECT rowid, at, step, ref, highlight(texts, 0, char(1), char(2)) FROM texts
		WHERE texts MATCH ? AND rowid >= ? AND rowid < ? AND (1 << (rowid & 7)) & ? ORDER BY `+order+` LIMIT ?`, match, first(q.Since), end, kinds, limit)
	if err != nil {
		return f, err
	}
	defer rows.Close()
	for rows.Next() {
		var h Hit
		var number, at int64
		var text string
		if err := rows.Scan(&number, &at, &h.Step, &h.ID, &text); err != nil {
			return f, err
		}
		h.Cycle, h.source, h.Kind = parts(number)
		h.Time, h.ID, h.Excerpt = time.UnixMilli(at), x.Redact.String(h.ID), x.excerpt(&text, cmp.Or(q.Bytes, 200))
		h.sum = sum(h.Kind, text)
		f.Hits = append(f.Hits, h)
	}
	if f.More = q.Limit > 0 && len(f.Hits) > q.Limit; f.More {
		f.Hits = f.Hits[:q.Limit]
	}
	f.Hits = once(f.Hits)
	return f, rows.Err()
}

// once leaves out what left the memory where its cycle has it too.
func once(hits []Hit) []Hit {
	has := map[uint64]bool{}
	for _, h := range hits {
		has[h.sum] = has[h.sum] || h.source == journals
	}
	return slices.DeleteFunc(hits, func(h Hit) bool { return h.source != journals && has[h.sum] })
}

// sum tells the texts of hits apart, which may be long and many.
func sum(k Kind, text string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, string(k)+" "+text)
	return h.Sum64()
}

// excerpt is a part of a text about the first mark in it, of which the marks are taken
// out: so many bytes, a third of them before the mark.
func (x *Index) excerpt(marked *string, size int) string {
	at := max(0, strings.IndexByte(*marked, 1))
	s := strings.NewReplacer("\x01", "", "\x02", "").Replace(*marked)
	*marked = s
	from := max(0, min(at-size/3, len(s)-size))
	if from > 0 { // to the beginning of a word, if there is one near
		from += max(0, strings.IndexByte(s[from:at], ' ')+1)
	}
	to := min(from+size, len(s))
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to--
	}
	part := x.Redact.Window(s, from, to)
	if from > 0 {
		part = "…" + part
	}
	if to < len(s) {
		part += "…"
	}
	return part
}

// Since is the id of a cycle that began at a time: a length of time before now, such as
// 36h or 7d, a day, or a cycle.
func Since(text string, now time.Time) (string, error) {
	if t, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return t.Format(home.CycleForm), nil
	}
	if home.ValidCycle(text) || text == "" {
		return text, nil
	}
	var days int
	if n, err := fmt.Sscanf(text, "%dd", &days); n == 1 && err == nil && text == fmt.Sprintf("%dd", days) && days >= 0 && days < 100_000 {
		return now.AddDate(0, 0, -days).Format(home.CycleForm), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return "", &QueryError{fmt.Sprintf("since %q: write 36h, 7d, 2026-04-01 or a cycle", text)}
	}
	return now.Add(-d).Format(home.CycleForm), nil
}
