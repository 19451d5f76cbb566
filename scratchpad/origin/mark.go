package origin

import (
	"maps"
	"strings"
)

// Key is the key of the memory that says of other keys, by their names, where their
// values came from.
const Key = "origins"

// All stands in [Key] for all of the memory.
const All = "*"

// field is that of a task which says so.
const field = "origin"

// Line is a line of the notes with the mark of a set. Of none it is the line as it is,
// but one that itself begins with a mark does not any more.
func (s Set) Line(line string) string {
	from, _ := Unmark(line)
	kind, rest, tagged := cut(line)
	switch {
	case len(s) == 0 && from != nil:
		return "[NOTE] " + line
	case len(s) == 0 || strings.TrimSpace(line) == "" || from.String() == s.String():
		return line
	case !tagged || from != nil:
		return "[NOTE from " + s.String() + "] " + line
	}
	return "[" + kind + " from " + s.String() + "]" + rest
}

// Text is a text of several lines with the mark of a set in each.
func (s Set) Text(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = s.Line(line)
	}
	return strings.Join(lines, "\n")
}

// cut takes the tag from a line that has one, such as "[TOOL] shell".
func cut(line string) (kind, rest string, ok bool) {
	inner, open := strings.CutPrefix(line, "[")
	tag, rest, closed := strings.Cut(inner, "]")
	kind, _, _ = strings.Cut(tag, " from ")
	return kind, rest, open && closed && len(kind) >= len("NOTE") && strings.Trim(kind, "ABCDEFGHIJKLMNOPQRSTUVWXYZ ") == ""
}

// Unmark gives the origins that a line of the notes names, nil without any, and the line
// without them.
func Unmark(line string) (Set, string) {
	kind, rest, tagged := cut(line)
	_, names, _ := strings.Cut(line[:len(line)-len(rest)], " from ")
	if from := Read(strings.TrimSuffix(names, "]")); tagged && from != nil {
		return from, "[" + kind + "]" + rest
	}
	return nil, line
}

// Task is a task, or what is kept of one that is done, with the mark of a set in the
// place of its own.
func (s Set) Task(task any) any {
	bare := Bare(task)
	if len(s) == 0 || bare == nil || bare == "" {
		return bare
	}
	m, ok := bare.(map[string]any)
	if m = maps.Clone(m); !ok || len(m) == 0 {
		m = map[string]any{"task": bare}
	}
	m[field] = s.String()
	return m
}

// OfTask says which origins a task names; nil is none.
func OfTask(task any) Set { return OfKey(task, field) }

// OfKey says which origins the value of the key [Key] names for one.
func OfKey(value any, key string) Set {
	m, _ := value.(map[string]any)
	names, _ := m[key].(string)
	return Read(names)
}

// Bare is a task without its mark.
func Bare(task any) any {
	m, ok := task.(map[string]any)
	if _, marked := m[field]; !ok || !marked {
		return task
	}
	m = maps.Clone(m)
	if delete(m, field); len(m) == 1 && m["task"] != nil {
		return m["task"]
	}
	return m
}
