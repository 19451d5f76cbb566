// Package object changes members of a JSON object and leaves all the rest as it
// is, byte for byte: order, digits, escapes and white space.
package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// Object is a JSON object in parts. The zero value is an empty one.
type Object struct {
	// Text is what was parsed; changes do not show in it.
	Text    []byte
	Members []Member

	open, end []byte // what stands before the members, and behind them
}

// Member is a key with its value.
type Member struct {
	Key   string
	Value json.RawMessage

	lead, trail []byte // between the commas, what stands before the value and behind it
}

// ErrNone says that a text is not one JSON object.
var ErrNone = errors.New("not a JSON object")

// Decode is [json.Unmarshal] that keeps the digits of numbers, and does not mind what
// follows the value.
func Decode(text []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(v)
}

// Parse takes a text apart.
func Parse(text []byte) (*Object, error) {
	at := blank(text, 0)
	if !json.Valid(text) || text[at] != '{' {
		return nil, ErrNone
	}
	o := &Object{Text: text, open: text[:at+1]}
	for gap := at + 1; ; gap = at + 1 {
		begun := blank(text, gap)
		if text[begun] == '}' { // there are no members
			o.end = text[gap:]
			return o, nil
		}
		at = quoted(text, begun)
		var m Member
		if err := json.Unmarshal(text[begun:at], &m.Key); err != nil {
			return nil, err
		}
		begun = blank(text, blank(text, at)+1) // behind the colon
		at = behind(text, begun)
		m.Value = bytes.TrimRight(text[begun:at:at], space)
		end := begun + len(m.Value)
		m.lead, m.Value, m.trail = text[gap:begun], m.Value[:len(m.Value):len(m.Value)], text[end:at]
		if text[at] == '}' {
			m.trail, o.end = nil, text[end:]
		}
		if o.Members = append(o.Members, m); text[at] == '}' {
			return o, nil
		}
	}
}

const space = " \t\r\n"

// blank is where the white space ends that begins at from.
func blank(text []byte, from int) int { return len(text) - len(bytes.TrimLeft(text[from:], space)) }

// quoted is where the text in quotes ends that begins at from.
func quoted(text []byte, from int) int {
	for from++; text[from] != '"'; from++ {
		if text[from] == '\\' {
			from++
		}
	}
	return from + 1
}

// behind is where the comma or the brace is that follows the value at from.
func behind(text []byte, from int) int {
	for depth := 0; ; from++ {
		switch text[from] {
		case '"':
			from = quoted(text, from) - 1
		case '{', '[':
			depth++
		case ',', '}', ']':
			if depth == 0 {
				return from
			}
			if text[from] != ',' {
				depth--
			}
		}
	}
}

// index is where a key is, the last time where there are several, or -1.
func (o *Object) index(key string) int {
	for i, m := range slices.Backward(o.Members) {
		if m.Key == key {
			return i
		}
	}
	return -1
}

// Get is the value of a key, the last where there are several, or nil.
func (o *Object) Get(key string) json.RawMessage {
	if i := o.index(key); i >= 0 {
		return o.Members[i].Value
	}
	return nil
}

// String is the value of a key that is a text, or "".
func (o *Object) String(key string) (s string) {
	_ = json.Unmarshal(o.Get(key), &s) // another type is none
	return s
}

// Sub is the value of a key that is an object, else an empty one.
func (o *Object) Sub(key string) *Object {
	if sub, err := Parse(o.Get(key)); err == nil {
		return sub
	}
	return &Object{}
}

// Set changes a value; a key that is new comes last.
func (o *Object) Set(key string, value json.RawMessage) {
	if i := o.index(key); i >= 0 {
		o.Members[i].Value = value
		return
	}
	name, _ := json.Marshal(key) // a text always has a JSON form
	o.Members = append(o.Members, Member{Key: key, Value: value, lead: append(name, ':')})
}

// Remove takes a key out, wherever it stands.
func (o *Object) Remove(key string) {
	o.Members = slices.DeleteFunc(o.Members, func(m Member) bool { return m.Key == key })
}

// With is the object with another value of a key; o stays.
func (o *Object) With(key string, value []byte) []byte {
	c := *o
	c.Members = slices.Clone(o.Members)
	c.Set(key, value)
	return c.JSON()
}

// JSON is the text of the object as it now is.
func (o *Object) JSON() json.RawMessage {
	if o.Text == nil {
		o.Text, o.open, o.end = []byte("{}"), []byte("{"), []byte("}")
	}
	b := bytes.NewBuffer(make([]byte, 0, len(o.Text)))
	b.Write(o.open)
	for i, m := range o.Members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(m.lead)
		b.Write(m.Value)
		b.Write(m.trail)
	}
	b.Write(o.end)
	return b.Bytes()
}
