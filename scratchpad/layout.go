package scratchpad

import (
	"bytes"
	"strings"

	"gopkg.in/yaml.v3"
)

// layout says which bytes of the text belong to which key, so that a new text
// can be put together from the old one's pieces.
type layout struct {
	data   []byte
	starts []int // where each line starts, as yaml.v3 counts lines
	indent int   // column of the keys, from 0
	// keys holds the start of each key that is in the text, and then the end of
	// the last one. What stands above the first key and below that end is kept.
	keys []int
	nl   string // the line break in use
}

// layout measures the text; nil where it cannot be taken to pieces by lines:
// a root in braces, keys written as `? key`.
func (s *State) layout() *layout {
	l := &layout{data: s.data, starts: lineStarts(s.source), nl: "\n"}
	if i := bytes.IndexByte(s.data, '\n'); i > 0 && s.data[i-1] == '\r' {
		l.nl = "\r\n"
	}
	from := 0
	if r := s.root(); r != nil {
		if r.Style&yaml.FlowStyle != 0 || len(r.Content) == 0 {
			return nil
		}
		l.indent = r.Content[0].Column - 1
		for i := 0; i < len(r.Content); i += 2 {
			if !l.addKey(r.Content[i]) {
				return nil
			}
		}
		from = r.Content[len(r.Content)-2].Line
	}
	l.keys = append(l.keys, l.documentEnd(from))
	return l
}

// addKey notes the start of a key; it must be the first thing in its line.
func (l *layout) addKey(k *yaml.Node) bool {
	if k.Line > len(l.starts) || k.Column-1 != l.indent {
		return false
	}
	start := l.starts[k.Line-1]
	line := l.data[start:]
	if len(line) <= l.indent || blanks(line) != l.indent || line[l.indent] == '?' && k.Value[:min(len(k.Value), 1)] != "?" {
		return false
	}
	if n := len(l.keys); n > 0 && l.keys[n-1] >= start {
		return false
	}
	l.keys = append(l.keys, start)
	return true
}

// documentEnd is where a `...` line after the given line starts, or the end.
func (l *layout) documentEnd(line int) int {
	for _, start := range l.starts[min(line, len(l.starts)):] {
		rest := l.data[start:]
		if bytes.HasPrefix(rest, []byte("...")) && (len(rest) == 3 || strings.IndexByte(" \t\r\n", rest[3]) >= 0) {
			return start
		}
	}
	return len(l.data)
}

func lineStarts(s source) []int {
	starts := []int{len(s.bom())}
	for i := starts[0]; i < len(s.data); {
		if b := s.data[i]; b >= ' ' && b < 0x80 {
			i++
			continue
		}
		n := yamlBreak(s.data[i:])
		if n == 0 {
			i++
			continue
		}
		i += n
		starts = append(starts, i)
	}
	return starts
}

// blanks counts the spaces at the start of a line.
func blanks(line []byte) int {
	return len(line) - len(bytes.TrimLeft(line, " "))
}

// trailer is where the blank lines and comments at the end of data[start:end]
// begin: what belongs to no value, or to the key below. What is a comment, comment
// says.
func (l *layout) trailer(start, end int, comment func(line []byte, column int) bool) int {
	for {
		prev := l.lineBefore(end)
		if prev <= start || !isBlank(l.data[prev:end]) && !comment(l.data[prev:end], l.indent) {
			return end
		}
		end = prev
	}
}

// lineBefore is the start of the line that ends at offset end.
func (l *layout) lineBefore(end int) int {
	i := end - 1
	if i > 0 && l.data[i] == '\n' && l.data[i-1] == '\r' {
		i--
	}
	for i > 0 && l.data[i-1] != '\n' && l.data[i-1] != '\r' {
		i--
	}
	return max(i, 0)
}

func isBlank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

// isComment reports whether a line is a comment that begins at column or before
// it: no block of text that is nested deeper can hold such a line.
func isComment(line []byte, column int) bool {
	n := blanks(line)
	return n <= column && n < len(line) && line[n] == '#'
}

// isRemark is isComment at any depth. Such a line may be one of a text.
func isRemark(line []byte, _ int) bool {
	return bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("#"))
}

// remarks are the comments and blank lines behind the old value of the key in
// data[start:end]. Comments that stand deeper than the key are moved to its
// column, since they may be text below the new value.
func (l *layout) remarks(old *yaml.Node, start, end int) []byte {
	trailer := l.trailer(start, end, isComment)
	deep := l.trailer(start, end, isRemark)
	if deep == trailer || !holds(l.data[start:deep], old) {
		return l.data[trailer:end]
	}
	var b []byte
	for i := deep; i < end; {
		next := nextLine(l.data[:end], i)
		line := l.data[i:next]
		if isRemark(line, 0) && !isComment(line, l.indent) {
			line = append(appendSpaces(nil, l.indent), bytes.TrimLeft(line, " \t")...)
		}
		b = append(b, line...)
		i = next
	}
	return b
}

// holds reports whether the text of one key has the value of a node, so that
// nothing of the value stands behind the text.
func holds(text []byte, node *yaml.Node) bool {
	doc, err := source{data: text}.decode()
	if err != nil || doc == nil || len(doc.Content[0].Content) != 2 {
		return false
	}
	got, err := source{}.value(doc.Content[0].Content[1], 0)
	if err != nil {
		return false
	}
	want, err := source{}.value(node, 0)
	return err == nil && same(got, want)
}

// items cuts the lines of a block list into one piece an item, each with the
// comments right above it. It gives the start of each and the column of the
// dashes; nil where the list is not laid out that way.
func (l *layout) items(list *yaml.Node, end int) (starts []int, column int) {
	if list == nil || list.Kind != yaml.SequenceNode || list.Style&yaml.FlowStyle != 0 {
		return nil, 0
	}
	column = list.Column - 1
	first := list.Line - 1
	for _, item := range list.Content {
		n := item.Line - 1
		for n >= first && n < len(l.starts) && !l.isDash(n, column) {
			n--
		}
		if n < first || n >= len(l.starts) || l.starts[n] >= end {
			return nil, 0
		}
		first = n + 1
		for n > 0 && isComment(l.data[l.starts[n-1]:l.starts[n]], column) {
			n--
		}
		starts = append(starts, l.starts[n])
	}
	return starts, column
}

func (l *layout) isDash(line, column int) bool {
	text := l.data[l.starts[line]:]
	return len(text) > column && blanks(text) == column && text[column] == '-'
}
