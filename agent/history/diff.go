package history

import (
	"bytes"
	"slices"
	"strings"
)

// Change is how one path differs between two versions; nil is for nothing there.
type Change struct {
	Path    string
	Was, Is *Entry
}

// Kind is added, removed or changed.
func (c Change) Kind() string {
	switch {
	case c.Was == nil:
		return "added"
	case c.Is == nil:
		return "removed"
	}
	return "changed"
}

// Diff gives what is not the same in two versions, by path.
func Diff(a, b *Version) (list []Change) {
	was, is := cursor{lines: a.lines}, cursor{lines: b.lines}
	gone := func(lines []byte) {
		for line := range bytes.Lines(lines) {
			e := entryOn(line)
			list = append(list, Change{Path: e.Path, Was: e})
		}
	}
	for ; is.look(); is.from = is.to {
		passed, from, to := was.seek(is.path)
		gone(passed)
		if line := is.lines[is.from:is.to]; !bytes.Equal(was.lines[from:to], line) {
			w, i := entryOn(was.lines[from:to]), entryOn(line)
			if w == nil || !w.Same(*i) {
				list = append(list, Change{i.Path, w, i})
			}
		}
	}
	gone(was.lines[was.from:])
	return list
}

// entryOn is the entry of a line, nil of none.
func entryOn(line []byte) *Entry {
	if len(line) == 0 {
		return nil
	}
	e, _ := parseEntry(line) // each line is one: who read it made sure
	return &e
}

// Below keeps of a list what is at or below one of these paths; none is all.
func Below(list []Change, paths []string) []Change {
	return slices.DeleteFunc(list, func(c Change) bool {
		return len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool { return c.Path == p || strings.HasPrefix(c.Path, p+"/") })
	})
}
