package scratchpad

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Parse reads the text of a state file; name is what errors call the file. The
// state keeps data, which must not be changed afterwards. What is wrong with
// the content is a [*SyntaxError]. The whole text is refused if it is not one
// UTF-8 document with a mapping of text keys at its root, or if it uses what we
// could not write back as it was: aliases, merge keys, tags, doubled keys.
func Parse(name string, data []byte) (*State, error) {
	src := source{name, data}
	if len(data) > MaxBytes {
		return nil, tooLarge(name, int64(len(data)))
	}
	if err := src.checkText(); err != nil {
		return nil, err
	}
	doc, err := src.decode()
	if err != nil {
		return nil, err
	}
	s := &State{source: src, doc: doc}
	if err := s.readRoot(); err != nil {
		return nil, err
	}
	s.addMissing()
	return s, nil
}

func tooLarge(name string, size int64) error {
	return fmt.Errorf("read %s: %d bytes, the limit is %d", name, size, MaxBytes)
}

// checkText finds what is not text before the YAML library meets it: that
// library reads UTF-16 and gives no line for a NUL.
func (s source) checkText() error {
	if bytes.HasPrefix(s.data, []byte{0xff, 0xfe}) || bytes.HasPrefix(s.data, []byte{0xfe, 0xff}) {
		return s.fail(0, "the file is UTF-16, save it as UTF-8")
	}
	for i := 0; i < len(s.data); {
		if b := s.data[i]; b >= ' ' && b < 0x7f || b == '\n' {
			i++
			continue
		}
		r, n := utf8.DecodeRune(s.data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return s.fail(i, "invalid UTF-8 byte 0x%02x", s.data[i])
		case r == 0:
			return s.fail(i, "NUL byte%s", s.utf16Hint())
		case !legal(r):
			return s.fail(i, "control character %U, write it as an escape in double quotes", r)
		}
		i += n
	}
	return nil
}

func (s source) utf16Hint() string {
	if bytes.Count(s.data[:min(len(s.data), 64)], []byte{0}) > min(len(s.data), 64)/4 {
		return ", the file looks like UTF-16, save it as UTF-8"
	}
	return ""
}

// legal reports whether YAML 1.1 allows a character to stand unescaped.
func legal(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r == 0x85 || r >= ' ' && r <= '~' ||
		r >= 0xa0 && r <= 0xfffd || r >= 0x10000
}

// decode makes the nodes of the one document; nil if there is none. What is right
// in YAML 1.2, and wrong for the library, is written otherwise for it.
func (s source) decode() (*yaml.Node, error) {
	text := s.data
	for tries := 0; ; tries++ {
		dec := yaml.NewDecoder(bytes.NewReader(text))
		doc, err := s.read(dec)
		if err == nil || tries == maxMends || tries*len(text) > maxMended {
			return doc, err
		}
		if text = s.mend(text, dec); text == nil {
			return nil, err
		}
	}
}

func (s source) read(dec *yaml.Decoder) (doc *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			doc, err = nil, s.fail(0, "the YAML library gave up: %v", r)
		}
	}()
	var first, second yaml.Node
	if err := dec.Decode(&first); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, s.syntaxError(dec, err)
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		return nil, s.failAt(&second, "a second document starts here, the state is one document")
	case !errors.Is(err, io.EOF):
		return nil, s.syntaxError(dec, err)
	}
	return &first, nil
}

func (s source) failAt(n *yaml.Node, format string, args ...any) error {
	return s.fail(s.offset(n.Line, n.Column), format, args...)
}

// syntaxError places an error of yaml.v3, whose text names no column and often
// the line of what surrounds the problem. The library keeps the exact place in
// unexported fields; it is frozen at v3.0.1, and a test holds it to them.
func (s source) syntaxError(dec *yaml.Decoder, err error) error {
	outer := field(field(reflect.ValueOf(dec).Elem(), "parser"), "parser")
	msg, mark := said(field(outer, "problem")), field(outer, "problem_mark")
	context := said(field(outer, "context"))
	switch {
	case msg == "": // such as an unknown anchor: found above the parser
		msg = strings.TrimPrefix(err.Error(), "yaml: ")
		mark = field(field(field(reflect.ValueOf(dec).Elem(), "parser"), "event"), "start_mark")
	case context == "while scanning a simple key", context != "" && s.at(mark) >= len(s.data):
		// It notices the missing colon, quote or bracket far below.
		mark = field(outer, "context_mark")
		msg += ", " + context + " that starts here"
	}
	// Behind the last line there is nothing to show.
	end := len(bytes.TrimRight(s.data, " \t\r\n"))
	return s.fail(min(s.at(mark), end), "%s", msg)
}

// at is the place of a mark of yaml.v3, which counts from 0.
func (s source) at(mark reflect.Value) int {
	return s.offset(count(field(mark, "line"))+1, count(field(mark, "column"))+1)
}

// field is the named field of a struct or of what a pointer points to, or the
// zero Value where there is none.
func field(v reflect.Value, name string) reflect.Value {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v.FieldByName(name)
}

func said(v reflect.Value) string {
	if v.Kind() != reflect.String {
		return ""
	}
	return v.String()
}

func count(v reflect.Value) int {
	if !v.CanInt() {
		return 0
	}
	return int(v.Int())
}
