package origin

import (
	"maps"
	"strings"
)

// Key is the key of the memory that says of other keys, by their names, where their
// values came from.
const Key = "origins"

// field is that of a task which says so.
const field = "origin"

// Line is a line of the notes with the mark of a set. Of none it is the line as it is,
// but one that itself begins with a mark does not any more.
func (s Set) Line(line string) string {
	kind, rest, ok := tagged(line)
	switch {
	case len(s) == 0 && OfLine(line) != nil:
		return "[NOTE] " + line
	case len(s) == 0 || strings.TrimSpace(line) == "":
		return line
	case !ok:
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

// tagged takes the tag from a line that has one, such as "[TOOL] shell".
func tagged(line string) (kind, rest string, ok bool) {
	inner, tag := strings.CutPrefix(line, "[")
	if kind, rest, ok = strings.Cut(inner, "]"); !ok || !tag {
		return "", line, false
	}
	return kind, rest, len(kind) >= len("NOTE") && strings.Trim(kind, "ABCDEFGHIJKLMNOPQRSTUVWXYZ ") == ""
}

// unmark takes the mark from a line.
func unmark(line string) (from Set, plain string) {
	inner, rest, _ := strings.Cut(line, "]")
	kind, names, ok := strings.Cut(inner, " from ")
	plain = kind + "]" + rest
	if _, _, fits := tagged(plain); !ok || !fits || len(inner) == len(line) {
		return nil, line
	}
	return Read(names), plain
}

// OfLine says which origins a line of the notes names; nil is none.
func OfLine(line string) Set {
	if !strings.HasPrefix(line, "[") {
		return nil // as most are
	}
	from, _ := unmark(line)
	return from
}

// Plain is a line of the notes without its mark.
func Plain(line string) string {
	_, plain := unmark(line)
	return plain
}

// OfText says which origins the lines of a text name.
func OfText(text string) (from Set) {
	for line := range strings.Lines(text) {
		from = from.With(OfLine(line)...)
	}
	return from
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
func OfTask(task any) Set {
	m, _ := task.(map[string]any)
	names, _ := m[field].(string)
	return Read(names)
}

// OfKeys says which origins the key [Key] names, by key.
func OfKeys(value any) map[string]Set {
	marks, list := map[string]Set{}, map[string]Set(nil)
	keys, _ := value.(map[string]any)
	for key, v := range keys {
		names, _ := v.(string)
		if marks[key] = Read(names); marks[key] != nil {
			list = marks
		}
	}
	return list
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
