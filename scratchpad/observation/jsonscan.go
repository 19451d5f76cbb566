package observation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"rouse/internal/text"
)

// Bounds of a sketch of JSON. What is past them is read over, and counted.
const (
	maxDepth  = 1000 // deeper is taken for no JSON
	maxNodes  = 2000 // shapes
	maxKeys   = 64   // of one object
	maxKey    = 256  // bytes
	maxScalar = 1024 // bytes of a number or a word
	maxSketch = 1000 // characters of the sketch in words
)

// shape is what all values at one place of a document have in common.
type shape struct {
	types    []string
	keys     []string
	fields   map[string]*shape
	more     bool // keys were left out
	elem     *shape
	arrays   bool
	min, max int // elements of the arrays here
}

func (s *shape) saw(typ string) {
	for _, t := range s.types {
		if t == typ {
			return
		}
	}
	s.types = append(s.types, typ)
}

// jsonScan reads JSON values, one after another, as they pass, and sketches
// their shape. It is strict about structure and numbers, not about the contents
// of strings.
type jsonScan struct {
	state  func(*jsonScan, []byte) []byte // takes some of the input; nil after an error
	inside bool                           // a text, a number or a word, where space counts
	stack  []open
	escape bool
	key    []byte // of the field that is read, or the number or word
	isKey  bool
	nodes  int
	values int64
	root   shape
}

// open is an object or an array that has not ended.
type open struct {
	shape  *shape // nil past the bounds
	field  *shape // of the key that was read
	array  bool
	number int // of elements
}

func newJSONScan() *jsonScan { return &jsonScan{state: (*jsonScan).value} }

func (j *jsonScan) add(p []byte) {
	if j.values == 0 && len(j.stack) == 0 {
		p = bytes.TrimPrefix(p, []byte("\ufeff"))
	}
	for j.state != nil {
		if !j.inside {
			p = bytes.TrimLeft(p, " \t\r\n")
		}
		if len(p) == 0 {
			return
		}
		p = j.state(j, p)
	}
}

// end says whether all of it was JSON.
func (j *jsonScan) end() bool {
	return j.state != nil && len(j.stack) == 0 && j.values > 0 && len(j.key) == 0
}

// value expects a value.
func (j *jsonScan) value(p []byte) []byte {
	switch c := p[0]; {
	case c == '{':
		return j.push(p[1:], "object", (*jsonScan).firstKey)
	case c == '[':
		return j.push(p[1:], "array", (*jsonScan).firstElement)
	case c == '"':
		j.saw("string")
		j.isKey = false
		j.state, j.inside = (*jsonScan).text, true
		return p[1:]
	default:
		j.state, j.inside = (*jsonScan).scalar, true
		return p
	}
}

// here is the shape of the value that begins.
func (j *jsonScan) here() *shape {
	if len(j.stack) == 0 {
		return &j.root
	}
	top := &j.stack[len(j.stack)-1]
	if !top.array {
		return top.field
	}
	if top.shape == nil {
		return nil
	}
	if top.shape.elem == nil {
		top.shape.elem = j.node()
	}
	return top.shape.elem
}

func (j *jsonScan) node() *shape {
	if j.nodes == maxNodes {
		return nil
	}
	j.nodes++
	return &shape{}
}

func (j *jsonScan) saw(typ string) *shape {
	s := j.here()
	if s != nil {
		s.saw(typ)
	}
	return s
}

func (j *jsonScan) push(p []byte, typ string, next func(*jsonScan, []byte) []byte) []byte {
	if len(j.stack) == maxDepth {
		return j.fail()
	}
	j.stack = append(j.stack, open{shape: j.saw(typ), array: typ == "array"})
	j.state = next
	return p
}

func (j *jsonScan) fail() []byte {
	j.state = nil
	return nil
}

func (j *jsonScan) firstElement(p []byte) []byte {
	if p[0] == ']' {
		return j.pop(p[1:])
	}
	j.stack[len(j.stack)-1].number = 1
	j.state = (*jsonScan).value
	return p
}

func (j *jsonScan) firstKey(p []byte) []byte {
	if p[0] == '}' {
		return j.pop(p[1:])
	}
	return j.nextKey(p)
}

func (j *jsonScan) nextKey(p []byte) []byte {
	if p[0] != '"' {
		return j.fail()
	}
	j.key, j.isKey = j.key[:0], true
	j.state, j.inside = (*jsonScan).text, true
	return p[1:]
}

// text is within a string.
func (j *jsonScan) text(p []byte) []byte {
	for i := 0; i < len(p); i++ {
		switch {
		case j.escape:
			j.escape = false
		case p[i] == '\\':
			j.escape = true
		case p[i] == '"':
			j.keep(p[:i])
			j.inside = false
			if j.isKey {
				j.state = (*jsonScan).colon
			} else {
				j.done()
			}
			return p[i+1:]
		case p[i] < ' ':
			return j.fail()
		}
	}
	j.keep(p)
	return nil
}

// keep keeps the beginning of a key.
func (j *jsonScan) keep(p []byte) {
	if j.isKey {
		j.key = append(j.key, p[:min(len(p), maxKey-len(j.key))]...)
	}
}

func (j *jsonScan) colon(p []byte) []byte {
	if p[0] != ':' {
		return j.fail()
	}
	top := &j.stack[len(j.stack)-1]
	top.field = j.field(top.shape)
	j.key = j.key[:0]
	j.state = (*jsonScan).value
	return p[1:]
}

// field is the shape of the field of an object whose key was read.
func (j *jsonScan) field(s *shape) *shape {
	if s == nil {
		return nil
	}
	if f, ok := s.fields[string(j.key)]; ok {
		return f
	}
	if len(s.keys) == maxKeys || j.nodes == maxNodes {
		s.more = true
		return nil
	}
	if s.fields == nil {
		s.fields = make(map[string]*shape)
	}
	key := string(j.key)
	s.keys = append(s.keys, key)
	s.fields[key] = j.node()
	return s.fields[key]
}

// scalar is within a number, true, false or null.
func (j *jsonScan) scalar(p []byte) []byte {
	i := 0
	for i < len(p) && (isWord(p[i]) || p[i] == '-' || p[i] == '+' || p[i] == '.') {
		i++
	}
	if len(j.key)+i > maxScalar {
		return j.fail()
	}
	j.key = append(j.key, p[:i]...)
	if i == len(p) {
		return nil
	}
	if !j.endScalar() {
		return j.fail()
	}
	return p[i:]
}

func (j *jsonScan) endScalar() bool {
	if !json.Valid(j.key) {
		return false
	}
	switch j.key[0] {
	case 't', 'f':
		j.saw("boolean")
	case 'n':
		j.saw("null")
	default:
		j.saw("number")
	}
	j.key, j.inside = j.key[:0], false
	j.done()
	return true
}

// done follows a value.
func (j *jsonScan) done() {
	if len(j.stack) == 0 {
		j.values++
		j.state = (*jsonScan).value
		return
	}
	j.state = (*jsonScan).comma
}

func (j *jsonScan) comma(p []byte) []byte {
	top := &j.stack[len(j.stack)-1]
	switch {
	case p[0] == ',' && top.array:
		top.number++
		j.state = (*jsonScan).value
		return p[1:]
	case p[0] == ',':
		j.state = (*jsonScan).nextKey
		return p[1:]
	case p[0] == ']' && top.array, p[0] == '}' && !top.array:
		return j.pop(p[1:])
	}
	return j.fail()
}

func (j *jsonScan) pop(p []byte) []byte {
	top := j.stack[len(j.stack)-1]
	j.stack = j.stack[:len(j.stack)-1]
	if s := top.shape; s != nil && top.array {
		if !s.arrays {
			s.arrays, s.min = true, top.number
		}
		s.min, s.max = min(s.min, top.number), max(s.max, top.number)
	}
	j.done()
	return p
}

// String is the sketch: {id: number, tags: [0..5 of string]}.
func (j *jsonScan) String() string {
	var b strings.Builder
	if j.values > 1 {
		fmt.Fprintf(&b, "%d values, each ", j.values)
	}
	j.root.write(&b)
	return text.Cut(b.String(), maxSketch)
}

func (s *shape) write(b *strings.Builder) {
	if s == nil || len(s.types) == 0 || b.Len() > 4*maxSketch {
		b.WriteString("…")
		return
	}
	for i, typ := range s.types {
		if i > 0 {
			b.WriteString(" or ")
		}
		switch typ {
		case "object":
			s.writeObject(b)
		case "array":
			s.writeArray(b)
		default:
			b.WriteString(typ)
		}
	}
}

func (s *shape) writeObject(b *strings.Builder) {
	b.WriteByte('{')
	for i, key := range s.keys {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(plainKey(key) + ": ")
		s.fields[key].write(b)
	}
	if s.more {
		b.WriteString(", …")
	}
	b.WriteByte('}')
}

func (s *shape) writeArray(b *strings.Builder) {
	b.WriteByte('[')
	b.WriteString(strconv.Itoa(s.min))
	if s.max > s.min {
		b.WriteString(".." + strconv.Itoa(s.max))
	}
	if s.max > 0 {
		b.WriteString(" of ")
		s.elem.write(b)
	}
	b.WriteByte(']')
}

// plainKey is a key as it is, or in quotes where it could be misread.
func plainKey(key string) string {
	for _, c := range []byte(key) {
		if !isWord(c) && c != '-' && c != '.' {
			return `"` + key + `"`
		}
	}
	if key == "" {
		return `""`
	}
	return key
}
