package scratchpad

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"

	"rouse/internal/lazy"
)

// maxMends is how often a text is mended, and maxMended how many bytes are read for
// that: each time it is all of the text.
const (
	maxMends  = 100
	maxMended = 32 << 20
)

// mend is a text in which what the library stumbled over is written as it takes it,
// in as many lines; nil where that is wrong in YAML 1.2 too.
func (s source) mend(text []byte, dec *yaml.Decoder) []byte {
	parser := field(field(reflect.ValueOf(dec).Elem(), "parser"), "parser")
	at := source{s.name, text}.at(field(parser, "problem_mark"))
	switch rest := text[at:]; said(field(parser, "problem")) {
	case "found incompatible YAML document":
		if bytes.HasPrefix(rest, []byte("%YAML 1.2")) {
			return slices.Replace(bytes.Clone(text), at, at+9, []byte("%YAML 1.1")...)
		}
	case "found unknown escape character":
		if json.Valid(text) {
			return unescaped(text, 0, len(text))
		}
		if bytes.HasPrefix(rest, []byte(`\/`)) {
			return unescaped(text, at, at+closing(rest))
		}
	case "found a tab character where an indentation space is expected":
		return indented(text, at)
	}
	return nil
}

// closing is where a text in double quotes ends.
func closing(text []byte) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text)
}

// unescaped writes the slashes in text[start:end] without a backslash.
func unescaped(text []byte, start, end int) []byte {
	b := bytes.Clone(text[:start])
	for i := start; i < end; i++ {
		if text[i] == '\\' && i+1 < end {
			if i++; text[i] != '/' {
				b = append(b, '\\')
			}
		}
		b = append(b, text[i])
	}
	return append(b, text[end:]...)
}

// blockHead matches the line above a block of text that does not say how far it is
// indented: dashes, a key, and the sign.
var blockHead = lazy.Regexp{Expr: `^( *(?:- +)*)([^#\n]*[^ #\n:-][^#\n]*: +)?([|>])([+-]?[ \t]*(?:#.*)?)\r?\n$`}

// indented says of the block of text whose first line begins with the tab at a place
// how far it is indented.
func indented(text []byte, tab int) []byte {
	line := bytes.LastIndexByte(text[:tab], '\n') + 1
	start, end := line, line
	for end > 0 && isBlank(text[start:end]) {
		end, start = start, bytes.LastIndexByte(text[:max(start-1, 0)], '\n')+1
	}
	m := blockHead.Get().FindSubmatchIndex(text[start:end])
	if m == nil {
		return nil
	}
	parent := m[3] - m[2] // the column of the key, or that of the last dash
	if m[4] < 0 {
		parent = bytes.LastIndexByte(text[start:start+parent], '-')
	}
	deep := tab - line - parent
	if parent < 0 || deep < 1 || deep > 9 {
		return nil
	}
	return slices.Insert(bytes.Clone(text), start+m[7], byte('0'+deep))
}
