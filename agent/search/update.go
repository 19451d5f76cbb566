package search

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"rouse/agent"
	"rouse/home"
	"rouse/internal/clock"
	"rouse/internal/jsonl"
	"rouse/internal/text"
	"rouse/journal"
)

// file is one that texts are in, as it is. The time is in nanoseconds; without one it
// is no file.
type file struct {
	name       string // of a journal its cycle
	size, time int64
	was        int64 // the size of what is in of it
}

// What a search asks of the disk: which journals there are, and what the newest are
// like and those that may grow; once in an hour all of them, as ten thousand answers
// take longer than the search.
const (
	lookedAt = 20
	looksAll = time.Hour
)

// look is what there is.
type look struct {
	*Index
	cycles []string        // that have a journal, the newest first
	files  map[string]file // those that were asked for
}

// watched are the files that are asked for by each search, where these cycles have
// not slept.
func (l look) watched(open []string) []string {
	return slices.Concat(l.cycles[:min(lookedAt, len(l.cycles))], open, l.others())
}

// others are the files beside the journals, in the order of their numbers.
func (x *Index) others() []string {
	d := x.Home.Rel(x.Home.DroppedNotes())
	return []string{x.Home.Rel(x.Home.Archive()), d, d + home.Aside}
}

func (x *Index) path(name string) string {
	if home.ValidCycle(name) {
		return x.Home.Journal(name)
	}
	return x.Home.Folder(name)
}

// ask asks what a file is like.
func (l look) ask(name string) file {
	f, asked := l.files[name]
	if asked {
		return f
	}
	if info, err := os.Lstat(l.path(name)); err == nil && info.Mode().IsRegular() {
		f = file{name: name, size: info.Size(), time: info.ModTime().UnixNano()}
	}
	l.files[name] = f
	return f
}

// sum tells what there is from what there was.
func (l look) sum(open []string) string {
	h := fnv.New128a()
	for _, cycle := range l.cycles {
		io.WriteString(h, cycle)
	}
	for _, name := range l.watched(open) {
		f := l.ask(name)
		fmt.Fprintf(h, "%s %d %d\n", name, f.size, f.time)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// update takes in what is new, and takes out what is gone.
func (x *Index) update(ctx context.Context) (err error) {
	l := look{Index: x, files: map[string]file{}}
	if l.cycles, err = x.Home.Cycles(0); err != nil {
		return err
	}
	open, err := x.open()
	if err != nil {
		return err
	}
	var seen string
	var checked int64
	if err := x.db.QueryRow(`SELECT look, checked FROM seen`).Scan(&seen, &checked); err != nil {
		return err
	}
	now := x.now()
	age := now.Sub(time.Unix(checked, 0))
	all := age < 0 || age > looksAll
	if !all && seen == l.sum(open) {
		return nil
	}
	if err := x.refresh(ctx, l, l.watched(open), all); err != nil || x.note != "" {
		return err
	}
	if open, err = x.open(); err != nil {
		return err
	}
	if all {
		checked = now.Unix()
	}
	_, err = x.db.Exec(`UPDATE seen SET look = ?, checked = ?`, l.sum(open), checked)
	return err
}

// open are the cycles that had not slept when their journal was read.
func (x *Index) open() (cycles []string, err error) {
	err = x.each(`SELECT name, size, time FROM files WHERE open`, func(f file) { cycles = append(cycles, f.name) })
	return cycles, err
}

func (x *Index) each(query string, do func(file)) error {
	rows, err := x.db.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var f file
		if err := rows.Scan(&f.name, &f.size, &f.time); err != nil {
			return err
		}
		do(f)
	}
	return rows.Err()
}

// batch is how many files are taken in at once: what is not done when a search is
// killed is done by the next one.
const batch = 200

// refresh takes in what is new among the watched files, or all, the newest first.
func (x *Index) refresh(ctx context.Context, l look, watched []string, all bool) error {
	had := map[string]file{}
	if err := x.each(`SELECT name, size, time FROM files`, func(f file) { had[f.name] = f }); err != nil {
		return err
	}
	var fresh []file
	for _, name := range slices.Concat(x.others(), l.cycles) {
		old, known := had[name]
		if known && !all && !slices.Contains(watched, name) {
			delete(had, name)
			continue
		}
		f := l.ask(name)
		if f.time == 0 {
			continue
		}
		delete(had, name)
		if f.was = old.size; f.size != old.size || f.time != old.time {
			fresh = append(fresh, f)
		}
	}
	if err := x.change(func(tx *sql.Tx) error { return x.clear(tx, slices.Collect(maps.Keys(had))...) }); err != nil {
		return err
	}
	for some := range slices.Chunk(fresh, batch) {
		if err := ctx.Err(); err != nil {
			return err
		}
		slices.Reverse(some) // FTS5 takes rows in their order at once
		if err := x.change(func(tx *sql.Tx) error { return x.take(tx, some) }); err != nil {
			return err
		}
	}
	return nil
}

// clear takes out what files brought.
func (x *Index) clear(tx *sql.Tx, names ...string) error {
	for _, name := range names {
		where, args := `rowid >> ? & ? = ?`, []any{sourceAt, 1<<sourceBits - 1, int64(archive) + int64(slices.Index(x.others(), name))}
		if home.ValidCycle(name) {
			from, to := span(name, journals)
			where, args = `rowid BETWEEN ? AND ?`, []any{from, to}
		}
		if _, err := tx.Exec(`DELETE FROM texts WHERE `+where, args...); err != nil {
			return err
		}
		if _, err := tx.Exec(`DELETE FROM files WHERE name = ?`, name); err != nil {
			return err
		}
	}
	return nil
}

// take takes in files, in place of what they brought before.
func (x *Index) take(tx *sql.Tx, files []file) error {
	insert, err := tx.Prepare(`INSERT OR REPLACE INTO texts (rowid, text, at, step, ref) VALUES (?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	add := func(cycle string, s source, place int, r row) error {
		if first(cycle) == 0 {
			return nil
		}
		_, err := insert.Exec(number(cycle, s, place, r.kind), r.text, r.at.UnixMilli(), r.step, r.ref)
		return err
	}
	for _, f := range files {
		open, err := x.takeOne(tx, f, add)
		if errors.As(err, new(*fs.PathError)) {
			if !errors.Is(err, fs.ErrNotExist) { // it may go meanwhile
				x.note = fmt.Sprintf("not all could be read: %v", err)
			}
			continue
		}
		if err == nil {
			_, err = tx.Exec(`INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)`, f.name, f.size, f.time, open)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeOne takes in a journal, or what one of the other files has more.
func (x *Index) takeOne(tx *sql.Tx, f file, add add) (open bool, err error) {
	if home.ValidCycle(f.name) {
		if f.was > 0 {
			err = x.clear(tx, f.name)
		}
		if err != nil {
			return false, err
		}
		j, err := os.Open(x.path(f.name))
		if err != nil {
			return false, err
		}
		defer j.Close()
		x.lines.Reset(j)
		t := texts{clean: x.clean, began: began(f.name)}
		rows, slept := t.read(journal.ReadFrom(&x.lines))
		for i, r := range rows {
			err = cmp.Or(err, add(f.name, journals, i, r))
		}
		return !slept, err
	}
	lines, err := addedTo(x.path(f.name), f.was)
	if lines == nil && err == nil {
		if err = x.clear(tx, f.name); err == nil {
			lines, err = addedTo(x.path(f.name), 0)
		}
	}
	if err != nil {
		return false, err
	}
	if i := slices.Index(x.others(), f.name); i > 0 {
		return false, x.droppedNotes(lines, archive+source(i), add)
	}
	return false, x.finished(lines, add)
}

// add takes in a text of a cycle.
type add func(cycle string, s source, place int, r row) error

// addedTo are the whole lines of a file behind a place; nil, unless that is its
// beginning, where no line begins there: then it is not the file that it was.
func addedTo(path string, from int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if from > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, from-1); err != nil || last[0] != '\n' {
			return nil, nil
		}
		if _, err := f.Seek(from, io.SeekStart); err != nil {
			return nil, err
		}
	}
	lines, err := io.ReadAll(f)
	return lines[:bytes.LastIndexByte(lines, '\n')+1], err
}

// finished takes in lines of the archive of tasks.
func (x *Index) finished(lines []byte, add add) error {
	for f, err := range jsonl.Values[agent.Finished](bytes.NewReader(lines)) {
		var entry any
		if err != nil || json.Unmarshal(f.Entry, &entry) != nil {
			continue
		}
		if err := add(f.Cycle, archive, f.N, row{Task, began(f.Cycle), 0, "", x.clean(task(entry))}); err != nil {
			return err
		}
	}
	return nil
}

// droppedNotes takes in notes that were dropped, but for what they say of calls.
func (x *Index) droppedNotes(lines []byte, s source, add add) error {
	cycle, place := "", 0
	for line := range strings.Lines(string(lines)) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), agent.DroppedBy); ok {
			cycle, place = id, 0
			continue
		}
		line = strings.TrimPrefix(line, "[NOTE] ")
		if place++; strings.HasPrefix(line, "[TOOL") {
			continue
		}
		if err := add(cycle, s, place, row{Note, began(cycle), 0, "", x.clean(line)}); err != nil {
			return err
		}
	}
	return nil
}

// clean is a text as the index has it: what is cut off has no part of a secret.
func (x *Index) clean(s string) string { return text.CutBytes(text.Words(x.Redact.String(s)), maxText) }

func (x *Index) now() time.Time { return clock.Now(x.Now) }

// began is when a cycle began, by its name.
func began(cycle string) time.Time {
	t, _ := time.ParseInLocation(home.CycleForm, cycle, time.Local) // who puts it in has looked
	return t
}
