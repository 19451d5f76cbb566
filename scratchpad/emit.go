package scratchpad

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// yaml.v3 writes some strings so that they read back changed or not at all
// (leading line breaks and tabs, `|2-` blocks), and writes text that YAML 1.1
// readers take for something else (yes, on, 1:30). So new text is written here.
// All of it is block style, indented by two, with LF line ends.

// simpleKeyMax is the longest key, in bytes, that is written before its colon;
// YAML allows 1024 characters.
const simpleKeyMax = 1000

// pair is one key of a mapping; comment, if not empty, is put behind its first
// line.
type pair struct {
	key     string
	value   any
	comment string
}

// appendEntry writes the lines of a pair at indent.
func appendEntry(b []byte, indent int, p pair) []byte {
	return appendPair(appendSpaces(b, indent), indent, p)
}

func appendPair(b []byte, indent int, p pair) []byte {
	k := oneLine(p.key)
	if len(k) > simpleKeyMax {
		b = append(b, "? "+k+"\n"...)
		b = append(appendSpaces(b, indent), ':')
	} else {
		b = append(b, k+":"...)
	}
	if hasItems(p.value) {
		return appendBlock(appendComment(b, p.comment), indent+2, p.value, false)
	}
	return appendScalar(b, indent, p.value, p.comment)
}

// appendItem writes one item of a list whose dashes stand at indent.
func appendItem(b []byte, indent int, v any) []byte {
	return appendDash(appendSpaces(b, indent), indent, v)
}

func appendDash(b []byte, indent int, v any) []byte {
	b = append(b, '-')
	if hasItems(v) {
		return appendBlock(append(b, ' '), indent+2, v, true)
	}
	return appendScalar(b, indent, v, "")
}

// hasItems says whether v is a list or a mapping that takes lines of its own.
func hasItems(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

// appendBlock writes the lines of a list or mapping; inline says that the first
// one is already indented.
func appendBlock(b []byte, indent int, v any, inline bool) []byte {
	pad := func() {
		if !inline {
			b = appendSpaces(b, indent)
		}
		inline = false
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			pad()
			b = appendDash(b, indent, item)
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			pad()
			b = appendPair(b, indent, pair{k, v[k], ""})
		}
	}
	return b
}

// sortedKeys puts the task first, as people say it: {task, summary}.
func sortedKeys(m map[string]any) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		if a == "task" || b == "task" {
			return strings.Compare(strings.TrimPrefix(a, "task"), strings.TrimPrefix(b, "task"))
		}
		return strings.Compare(a, b)
	})
}

// appendScalar writes what stands behind a colon or dash at indent, and the
// line's end.
func appendScalar(b []byte, indent int, v any, comment string) []byte {
	b = append(b, ' ')
	switch v := v.(type) {
	case nil:
		b = append(b, "null"...)
	case string:
		if literal(v) {
			return appendLiteral(b, indent+2, v, comment)
		}
		b = append(b, oneLine(v)...)
	case json.Number:
		b = append(b, v...)
	case []any:
		b = append(b, "[]"...)
	case map[string]any:
		b = append(b, "{}"...)
	default:
		b = fmt.Append(b, v)
	}
	return appendComment(b, comment)
}

func appendComment(b []byte, comment string) []byte {
	if comment != "" {
		b = append(b, " "+comment...)
	}
	return append(b, '\n')
}

func appendSpaces(b []byte, n int) []byte {
	return append(b, bytes.Repeat([]byte{' '}, n)...)
}

// literal reports whether s is written as a literal block: it has several
// lines, one of them with something to see, and nothing that needs an escape.
func literal(s string) bool {
	return strings.Contains(s, "\n") && strings.Trim(s, "\n\t ") != "" && !needsEscape(s)
}

// appendLiteral writes s as a literal block. The indentation is said where the
// first line with text begins with a blank, so that readers need not guess it.
func appendLiteral(b []byte, indent int, s, comment string) []byte {
	b = append(b, '|')
	if c := strings.TrimLeft(s, "\n")[0]; c == ' ' || c == '\t' {
		b = append(b, '2')
	}
	body := strings.TrimSuffix(s, "\n")
	switch {
	case body == s:
		b = append(b, '-')
	case strings.HasSuffix(body, "\n"):
		b = append(b, '+')
	}
	b = appendComment(b, comment)
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			b = append(appendSpaces(b, indent), line...)
		}
		b = append(b, '\n')
	}
	return b
}

// oneLine writes s as a scalar on one line: plain where every YAML reads it as
// text, else in quotes.
func oneLine(s string) string {
	switch {
	case s == "" || strings.ContainsAny(s, "\n\t") || needsEscape(s):
		return doubleQuoted(s)
	case plainSafe(s):
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// plainSafe reports whether s, one printable line, needs no quotes. What does
// not begin with a letter gets them: numbers, dates, 1:30, =, <<, ~ and all the
// signs with a meaning are among it.
func plainSafe(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	if !unicode.IsLetter(r) || strings.Contains(s, ": ") || strings.Contains(s, " #") ||
		strings.HasSuffix(s, ":") || strings.HasSuffix(s, " ") {
		return false
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	return true
}

// needsEscape reports whether s has a character that cannot stand in a block or
// in single quotes: one that YAML forbids or that it takes for a line break.
func needsEscape(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && !raw(r) })
}

func raw(r rune) bool {
	switch r {
	case '\r', 0x85, 0x2028, 0x2029, 0xfeff:
		return false
	}
	return legal(r)
}

func doubleQuoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case raw(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
