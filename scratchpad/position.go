package scratchpad

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"rouse/internal/text"
)

// source is the text of a file and the name to call it by.
type source struct {
	name string
	data []byte
}

// SyntaxError is a place in a state file that cannot be accepted.
type SyntaxError struct {
	File string
	// Line and Column count from 1, as an editor does: a line ends at LF, CRLF
	// or CR, a column is a character.
	Line, Column int
	Msg          string
	Text         string // the line itself
}

// Error gives the place, the reason and the line, of which a long one is cut
// around the place and control characters are escaped.
func (e *SyntaxError) Error() string {
	line := e.Text
	if e.Column > 100 {
		line = "…" + string([]rune(line)[min(e.Column-61, utf8.RuneCountInString(line)):])
	}
	return fmt.Sprintf("read %s: line %d, column %d: %s: %s", e.File, e.Line, e.Column, e.Msg, text.Line(line, 120))
}

// fail makes the error for the place at offset.
func (s source) fail(offset int, format string, args ...any) error {
	offset = max(min(offset, len(s.data)), len(s.bom()))
	start, line := len(s.bom()), 1
	for i := start; i < offset; {
		n := editorBreak(s.data[i:])
		if n == 0 || i+n > offset {
			i++
			continue
		}
		i += n
		start, line = i, line+1
	}
	end := len(s.data)
	if i := bytes.IndexAny(s.data[start:], "\r\n"); i >= 0 {
		end = start + i
	}
	return &SyntaxError{
		File: s.name, Line: line, Column: utf8.RuneCount(s.data[start:offset]) + 1,
		Msg: fmt.Sprintf(format, args...), Text: string(s.data[start:end]),
	}
}

// bom is the byte order mark at the start, if there is one.
func (s source) bom() []byte {
	if bytes.HasPrefix(s.data, []byte("\ufeff")) {
		return s.data[:3]
	}
	return nil
}

// offset finds a place that yaml.v3 names by line and column, both from 1.
func (s source) offset(line, column int) int {
	i := len(s.bom())
	for ; line > 1 && i < len(s.data); line-- {
		i = nextLine(s.data, i)
	}
	for ; column > 1 && i < len(s.data); column-- {
		_, n := utf8.DecodeRune(s.data[i:])
		i += n
	}
	return i
}

// nextLine is where the line after the one at i starts, as YAML 1.1 counts.
func nextLine(data []byte, i int) int {
	for i < len(data) {
		if n := yamlBreak(data[i:]); n > 0 {
			return i + n
		}
		i++
	}
	return i
}

// editorBreak is the length of the line break at the start of b, 0 for none.
func editorBreak(b []byte) int {
	switch {
	case b[0] == '\n':
		return 1
	case b[0] == '\r' && len(b) > 1 && b[1] == '\n':
		return 2
	case b[0] == '\r':
		return 1
	}
	return 0
}

// yamlBreak is editorBreak with the breaks that only YAML 1.1 knows: NEL, LS, PS.
func yamlBreak(b []byte) int {
	switch {
	case b[0] == 0xc2 && len(b) > 1 && b[1] == 0x85:
		return 2
	case b[0] == 0xe2 && len(b) > 2 && b[1] == 0x80 && (b[2] == 0xa8 || b[2] == 0xa9):
		return 3
	}
	return editorBreak(b)
}
