package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rouse/internal/text"
	"rouse/scratchpad"
	"rouse/scratchpad/origin"
)

// Key is what became of a key of the memory, in lines that can be shown.
type Key struct {
	Key, How   string
	Gone, Come []string
}

// Keys are the keys that changed: the tasks, then all else, then the notes, and at the end
// what they say of calls. So many tasks left for the archive.
func Keys(list []scratchpad.Difference, moved int) (keys []Key) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b scratchpad.Difference) int { return place(a.Key) - place(b.Key) })
	var calls Key
	from := origins(list)
	for _, d := range list {
		if d.Key == origin.Key && len(from) > 0 {
			continue
		}
		k := Key{text.Line(d.Key, 200), d.Kind, removed(d), added(d)}
		if from[d.Key] != "" {
			k.How += ", from " + text.Line(from[d.Key], 200)
		}
		switch d.Key {
		case "completed_tasks":
			n := min(moved, len(k.Gone))
			if k.Gone = k.Gone[n:]; n > 0 {
				k.Gone = append([]string{fmt.Sprintf("%s moved to the archive, scratchpad/completed.jsonl", text.Count(n, "task"))}, k.Gone...)
			}
		case "notes":
			k.Gone, calls.Gone = parted(k.Gone)
			k.Come, calls.Come = parted(k.Come)
		}
		keys = append(keys, k)
	}
	if len(calls.Gone)+len(calls.Come) > 0 {
		calls.Key, calls.How = "lines", fmt.Sprintf("of calls in the notes: %d more, %d fewer", len(calls.Come), len(calls.Gone))
		keys = append(keys, calls)
	}
	return keys
}

// origins are where changed keys came from, nil where marks of others changed or one was taken away.
func origins(list []scratchpad.Difference) map[string]string {
	i := slices.IndexFunc(list, func(d scratchpad.Difference) bool { return d.Key == origin.Key })
	if i < 0 {
		return nil
	}
	from := map[string]string{}
	was, _ := list[i].Before.(map[string]any)
	is, _ := list[i].After.(map[string]any)
	for key := range is {
		from[key] = origin.OfKey(is, key).Outside().String()
		changed := slices.ContainsFunc(list, func(d scratchpad.Difference) bool { return d.Key == key })
		if from[key] != "" && !changed && is[key] != was[key] {
			return nil
		}
	}
	for key := range was {
		if is[key] == nil {
			return nil
		}
	}
	return from
}

// place is where a key is shown.
func place(key string) int {
	first := []string{"current_task", "pending_actions", "completed_tasks"}
	last := []string{"notes", "last_updated"}
	if i := slices.Index(first, key); i >= 0 {
		return i
	}
	return len(first) + slices.Index(last, key) + 1
}

// parted takes the lines of calls out of those of the notes.
func parted(lines []string) (other, calls []string) {
	for _, line := range lines {
		if _, plain := origin.Unmark(line); strings.HasPrefix(plain, "[TOOL] ") || strings.HasPrefix(plain, "[TOOLS] ") {
			calls = append(calls, line)
		} else {
			other = append(other, line)
		}
	}
	return other, calls
}

// removed are the lines that a difference takes away.
func removed(d scratchpad.Difference) []string {
	if len(d.Removed) > 0 || len(d.Added) > 0 {
		return values(d.Removed)
	}
	if lost, got := d.Lines(); len(lost)+len(got) > 0 {
		return lines(lost)
	}
	if d.Kind == scratchpad.KindAdded || d.Kind == scratchpad.KindExtended {
		return nil
	}
	return textLines(d.Before)
}

// added are the lines that a difference brings.
func added(d scratchpad.Difference) []string {
	lost, got := d.Lines()
	switch {
	case len(d.Removed) > 0 || len(d.Added) > 0:
		return values(d.Added)
	case len(lost)+len(got) > 0:
		return lines(got)
	case d.Kind == scratchpad.KindRemoved:
		return nil
	case d.Kind == scratchpad.KindExtended:
		return textLines(d.Appended)
	}
	return textLines(d.After)
}

// lines are those of a text as they are shown.
func lines(list []string) (all []string) {
	for _, line := range list {
		all = append(all, text.Line(line, 2000))
	}
	return all
}

func values(list []any) []string {
	var lines []string
	for _, v := range list {
		lines = append(lines, strings.Join(textLines(v), `\n`))
	}
	return lines
}

// textLines are the lines of a value: of a text its own, else one of JSON.
func textLines(v any) []string {
	s, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			return []string{err.Error()}
		}
		return []string{text.Line(string(b), 2000)}
	}
	return lines(strings.Split(strings.Trim(s, "\n"), "\n"))
}
