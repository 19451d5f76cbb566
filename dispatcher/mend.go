package dispatcher

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"rouse/internal/lazy"
)

// mender reads JSON as models damage it and writes what was meant, strictly: other
// quotes, or none, line breaks and quotes within texts, comments, commas that are too
// many or missing, the words of Python. What is cut off it does not complete.
type mender struct {
	in  string // not read yet
	out []byte
}

var errNotMended = errors.New("this is no JSON")

func mended(damaged string) ([]byte, error) {
	m := &mender{in: damaged}
	if err := m.value(); err != nil {
		return nil, err
	}
	if m.next() != 0 {
		return nil, errNotMended
	}
	return m.out, nil
}

// next is the next byte that means anything, or 0 at the end.
func (m *mender) next() byte {
	for {
		m.in = strings.TrimLeft(m.in, " \t\r\n\u00a0")
		end := ""
		switch {
		case m.in == "":
			return 0
		case strings.HasPrefix(m.in, "//"):
			end = "\n"
		case strings.HasPrefix(m.in, "/*"):
			end = "*/"
		default:
			return m.in[0]
		}
		_, m.in, _ = strings.Cut(m.in, end)
	}
}

func (m *mender) value() error {
	switch m.next() {
	case '{':
		return m.members('}')
	case '[':
		return m.members(']')
	}
	return m.scalar(false)
}

// members reads an object or a list up to its end.
func (m *mender) members(end byte) error {
	m.out, m.in = append(m.out, m.in[0]), m.in[1:]
	first := true
	for {
		switch m.next() {
		case end:
			m.out, m.in = append(m.out, end), m.in[1:]
			return nil
		case ',':
			m.in = m.in[1:]
			continue
		case 0:
			return errNotMended
		}
		if !first {
			m.out = append(m.out, ',')
		}
		first = false
		if err := m.member(end == '}'); err != nil {
			return err
		}
	}
}

func (m *mender) member(named bool) error {
	if named {
		if err := m.scalar(true); err != nil {
			return err
		}
		if m.next() != ':' {
			return errNotMended
		}
		m.out, m.in = append(m.out, ':'), m.in[1:]
	}
	return m.value()
}

// words are those that mean a literal in another language.
var words = map[string]string{"True": "true", "False": "false", "None": "null", "undefined": "null"}

// scalar reads a text, with or without quotes, a number or a literal; as a name it
// is a text always.
func (m *mender) scalar(name bool) error {
	for _, quotes := range [][2]string{{`"`, `"`}, {"'", "'"}, {"`", "`"}, {"“", "”"}, {"‘", "’"}} {
		if text, ok := strings.CutPrefix(m.in, quotes[0]); ok {
			m.in = text
			return m.text(quotes[1])
		}
	}
	n := strings.IndexAny(m.in, ",:{}[]\"'`\n")
	if n <= 0 {
		return errNotMended
	}
	word := strings.TrimSpace(m.in[:n])
	m.in = m.in[n:]
	if meant, ok := words[word]; ok {
		word = meant
	}
	if name || !json.Valid([]byte(word)) {
		quoted, _ := json.Marshal(word) // a text always has a JSON form
		word = string(quoted)
	}
	m.out = append(m.out, word...)
	return nil
}

// nextName matches the next name where the comma before it is missing.
var nextName = lazy.Regexp(`^\s*["'][A-Za-z_]\w*["']\s*:`)

// text reads up to the closing quote, which is one that an end may follow.
func (m *mender) text(closing string) error {
	var b strings.Builder
	for m.in != "" {
		if rest, ok := strings.CutPrefix(m.in, closing); ok {
			after := mender{in: rest}
			if strings.IndexByte(",:}]\x00", after.next()) >= 0 || nextName().MatchString(rest) {
				m.in = rest
				m.out = append(append(append(m.out, '"'), b.String()...), '"')
				return nil
			}
		}
		m.char(&b)
	}
	return errNotMended
}

// char takes one character of a text, or its escape.
func (m *mender) char(b *strings.Builder) {
	r, size := utf8.DecodeRuneInString(m.in)
	switch {
	case r < ' ' || r == '"':
		quoted, _ := json.Marshal(string(r))
		b.Write(quoted[1 : len(quoted)-1])
	case r != '\\':
		b.WriteRune(r) // of a byte that is none, the mark for it
	case len(m.in) > 1 && strings.IndexByte("'`", m.in[1]) >= 0:
		b.WriteByte(m.in[1])
		size = 2
	case len(m.in) > 5 && m.in[1] == 'u' && json.Valid([]byte(`"`+m.in[:6]+`"`)):
		b.WriteString(m.in[:6])
		size = 6
	case len(m.in) > 1 && strings.IndexByte(`"\/bfnrt`, m.in[1]) >= 0:
		b.WriteString(m.in[:2])
		size = 2
	default:
		b.WriteString(`\\`)
	}
	m.in = m.in[size:]
}
