package scratchpad

import (
	"bytes"
)

// fresh is the text of an entry with its new value. A mapping that was an item of a
// list in the text that was read, as a pending task that becomes the current one,
// keeps its lines there: the order of its keys, and its comments.
func (s *State) fresh(l *layout, e entry, reuse bool) []byte {
	comment := ""
	if e.name != nil {
		comment = lineComment(e)
	}
	if m, ok := e.value.(map[string]any); ok && len(m) > 0 && reuse {
		if lines := s.moved(l, m); lines != nil {
			head := oneLine(e.key) + ":"
			return append(l.breaks(appendComment(append(appendSpaces(nil, l.indent), head...), comment)), lines...)
		}
	}
	return l.breaks(appendEntry(nil, l.indent, pair{e.key, e.value, comment}))
}

// moved are the lines of a list's item with that value, as they stand below a key;
// nil where there is none.
func (s *State) moved(l *layout, value map[string]any) []byte {
	for i := range len(l.keys) - 1 {
		list, end := s.entries[i].node, l.trailer(l.keys[i], l.keys[i+1], isComment)
		starts, column := l.items(list, end)
		for n, start := range starts {
			item := list.Content[n]
			if v, err := s.value(item, 1); err != nil || !same(v, value) {
				continue
			}
			if n+1 < len(starts) {
				end = starts[n+1]
			}
			return l.below(l.data[start:end], column, item.Column-1)
		}
	}
	return nil
}

// below moves the lines of an item, whose dash and keys stand at these columns, to
// where the value of a key stands; nil where a line cannot be moved.
func (l *layout) below(text []byte, dash, column int) []byte {
	var b []byte
	for seen := false; len(text) > 0; {
		end := nextLine(text, 0)
		line := bytes.Clone(text[:end])
		text = text[end:]
		if !seen && blanks(line) == dash && len(line) > dash && line[dash] == '-' {
			line[dash], seen = ' ', true
		}
		switch {
		case isBlank(line):
		case isRemark(line, 0) && blanks(line) < column:
			line = append(appendSpaces(nil, l.indent+2), bytes.TrimLeft(line, " \t")...)
		case blanks(line) < column:
			return nil
		default:
			line = append(appendSpaces(nil, l.indent+2), line[column:]...)
		}
		b = append(b, line...)
	}
	return l.endLine(b)
}
