package page

import (
	"encoding/json"
	"slices"
	"strings"

	"rouse/home"
	"rouse/internal/text"
	"rouse/scratchpad"
	"rouse/scratchpad/origin"
)

// entry is a key of the memory, or one of its tasks.
type entry struct {
	Key    string
	By     string // who wrote it last, as far as snapshots tell
	Lines  []marked
	Folded []marked // those before them, which are long
	Hidden int      // lines that are not shown
}

// Outside is how many of the folded lines came from outside.
func (e entry) Outside() (n int) {
	for _, l := range e.Folded {
		if l.From != "" {
			n++
		}
	}
	return n
}

// marked is a line of the memory, and where it came from if that is outside.
type marked struct{ Text, From string }

const (
	lookBack  = 10 // cycles that are asked who wrote what
	mostLines = 50 // of a key
	openLines = 8  // of them, unless that folds only a few
)

// memory is what the agent remembers, key by key.
func memory(h home.Home) (list []entry, err error) {
	now, _, err := h.Load()
	if err != nil {
		return nil, err
	}
	by, marks := writers(h, now), value(now, origin.Key)
	for _, key := range now.Keys() {
		if key == "last_updated" {
			continue // every edit writes it
		}
		e := entry{Key: key, By: by[key]}
		outside := origin.OfKey(marks, key).Outside()
		for _, item := range items(value(now, key)) {
			from, line := outside, shownAs(item)
			if key == "notes" {
				from, _ = origin.Unmark(line)
			} else if _, task := item.(map[string]any); task {
				from = from.With(origin.OfTask(item)...)
			}
			e.Lines = append(e.Lines, marked{line, from.Outside().String()})
		}
		if e.Hidden = max(0, len(e.Lines)-mostLines); e.Hidden > 0 {
			e.Lines = e.Lines[e.Hidden:]
		}
		if n := len(e.Lines) - openLines; n > openLines/2 {
			e.Folded, e.Lines = e.Lines[:n], e.Lines[n:]
		}
		list = append(list, e)
	}
	return list, nil
}

func value(s *scratchpad.State, key string) any {
	v, _ := s.Value(key)
	return v
}

// items are the parts of a value that are shown each on a line.
func items(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	case string:
		var list []any
		for line := range strings.Lines(v) {
			list = append(list, line)
		}
		return list
	}
	return []any{v}
}

func shownAs(v any) string {
	if s, ok := v.(string); ok {
		return strings.TrimSpace(s)
	}
	data, _ := json.Marshal(v) // plain values have a JSON form
	return text.Cut(string(data), 2000)
}

// writers say who changed keys last: between two cycles that is a person, in one the agent.
func writers(h home.Home, now *scratchpad.State) map[string]string {
	by := map[string]string{}
	ids, _ := h.Cycles(lookBack)
	credit := func(was, is *scratchpad.State, who string) {
		for _, d := range scratchpad.Diff(was, is) {
			if by[d.Key] == "" {
				by[d.Key] = who
			}
		}
	}
	if now.Large() {
		ids = nil // it would take long
	}
	for _, id := range ids {
		if after, err := h.LoadFile(h.After(id)); err == nil {
			credit(after, now, "you, after cycle "+id)
			now = after
		}
		before, err := h.LoadFile(h.Before(id))
		if err != nil {
			break
		}
		credit(before, now, "the agent, in cycle "+id)
		now = before
	}
	return by
}

// tasks are what is to be done and what was, each with its checks, the newest first.
func tasks(list []entry) (found []entry) {
	for _, key := range []string{"current_task", "pending_actions", "completed_tasks"} {
		if i := slices.IndexFunc(list, func(e entry) bool { return e.Key == key }); i >= 0 {
			found = append(found, list[i])
		}
	}
	return found
}
