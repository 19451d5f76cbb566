// Package object changes members of a JSON object and leaves all the rest as it
// is, byte for byte: order, digits, escapes and white space.
package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	dec := json.NewDecoder(bytes.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, ErrNone
	}
	o := &Object{Text: text, open: text[:dec.InputOffset()]}
	gap := dec.InputOffset() // what stands between two values begins here
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := Member{Key: key.(string)}
		if err := dec.Decode(&m.Value); err != nil {
			return nil, err
		}
		end := dec.InputOffset()
		m.lead, m.Value = text[gap:end-int64(len(m.Value))], text[end-int64(len(m.Value)):end:end]
		if n := len(o.Members); n > 0 {
			o.Members[n-1].trail, m.lead, _ = bytes.Cut(m.lead, []byte(","))
		}
		o.Members, gap = append(o.Members, m), end
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if o.end = text[gap:]; len(bytes.TrimSpace(text[dec.InputOffset():])) > 0 {
		return nil, ErrNone
	}
	return o, nil
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
		fmt.Fprintf(b, "%s%s%s", m.lead, m.Value, m.trail)
	}
	b.Write(o.end)
	return b.Bytes()
}
