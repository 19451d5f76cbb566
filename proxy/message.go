package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// object is where the members of a JSON object stand in its text, so that one of
// them can be replaced and the rest stays as it is, byte for byte.
type object struct {
	text    []byte
	members []member
}

type member struct {
	key        string
	start, end int // of the value
}

var errNoObject = errors.New("not a JSON object")

func parse(text []byte) (*object, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errNoObject
	}
	o := &object{text: text}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		end := int(dec.InputOffset())
		o.members = append(o.members, member{key.(string), end - len(value), end})
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(text[dec.InputOffset():])) > 0 {
		return nil, errNoObject
	}
	return o, nil
}

// get is the value of a key, the last where there are several, or nil.
func (o *object) get(key string) json.RawMessage {
	for i := len(o.members) - 1; i >= 0; i-- {
		if m := o.members[i]; m.key == key {
			return o.text[m.start:m.end]
		}
	}
	return nil
}

// string is the value of a key that is a text, or "".
func (o *object) string(key string) (s string) {
	_ = json.Unmarshal(o.get(key), &s) // another type is none
	return s
}

// with is the text with another value of a key, which is added at the end where
// there is none.
func (o *object) with(key string, value []byte) []byte {
	for i := len(o.members) - 1; i >= 0; i-- {
		if m := o.members[i]; m.key == key {
			return bytes.Join([][]byte{o.text[:m.start], value, o.text[m.end:]}, nil)
		}
	}
	end := bytes.LastIndexByte(o.text, '}')
	comma := ","
	if len(o.members) == 0 {
		comma = ""
	}
	return fmt.Appendf(nil, "%s%s%q:%s%s", o.text[:end], comma, key, value, o.text[end:])
}

// inside is the text with another value at the end of a path of keys, if all of
// them are there.
func inside(text []byte, change func([]byte) ([]byte, bool), path ...string) ([]byte, bool) {
	if len(path) == 0 {
		return change(text)
	}
	o, err := parse(text)
	if err != nil || o.get(path[0]) == nil {
		return text, false
	}
	value, ok := inside(o.get(path[0]), change, path[1:]...)
	if !ok {
		return text, false
	}
	return o.with(path[0], value), true
}

// idKey is an id in a form in which that of a request and that of its answer are
// the same, whatever JSON library wrote them; "" is none.
func idKey(id json.RawMessage) string {
	var s string
	if len(id) == 0 || string(id) == "null" {
		return ""
	}
	if json.Unmarshal(id, &s) == nil {
		return "text " + s
	}
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	if f, err := strconv.ParseFloat(string(id), 64); err == nil {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return "other " + string(id)
}

// Codes of JSON-RPC errors that are ours.
const (
	codeInvalid = -32600 // no JSON-RPC, or too large
	codeEnded   = -32000 // the server is gone
)

// failure is an answer of ours to a request that gets no other.
func failure(id json.RawMessage, code int, why string) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	message, _ := json.Marshal(why) // a text always has a JSON form
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, message)
}

// each gives every message of a batch, as the protocol once had them, to change,
// and makes a batch of what that gives; else it is change itself.
func each(text []byte, change func([]byte) [][]byte) [][]byte {
	trimmed := bytes.TrimSpace(text)
	var batch []json.RawMessage
	if len(trimmed) == 0 || trimmed[0] != '[' || json.Unmarshal(trimmed, &batch) != nil || len(batch) == 0 {
		return change(text)
	}
	var out [][]byte
	for _, m := range batch {
		out = append(out, change(m)...)
	}
	if len(out) == 0 {
		return nil
	}
	return [][]byte{bytes.Join([][]byte{[]byte("["), bytes.Join(out, []byte(",")), []byte("]")}, nil)}
}
