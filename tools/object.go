package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// object is a JSON object whose members keep their order and their bytes.
type object struct{ members []member }

type member struct {
	key   string
	value json.RawMessage
}

func parseObject(raw json.RawMessage) (*object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	open, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	o := &object{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		o.members = append(o.members, member{key.(string), value})
	}
	_, err = dec.Token()
	return o, err
}

// get gives the value of a key, the last where there are several, or nil.
func (o *object) get(key string) json.RawMessage {
	for i := len(o.members) - 1; i >= 0; i-- {
		if o.members[i].key == key {
			return o.members[i].value
		}
	}
	return nil
}

func (o *object) set(key string, value json.RawMessage) {
	for i := len(o.members) - 1; i >= 0; i-- {
		if o.members[i].key == key {
			o.members[i].value = value
			return
		}
	}
	o.members = append(o.members, member{key, value})
}

func (o *object) remove(key string) {
	for i := len(o.members) - 1; i >= 0; i-- {
		if o.members[i].key == key {
			o.members = append(o.members[:i:i], o.members[i+1:]...)
			return
		}
	}
}

// at gives the part that a JSON Pointer in a fragment names, such as
// #/$defs/item (RFC 6901), or nil.
func (o *object) at(ref string) json.RawMessage {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	raw := o.json()
	for _, step := range strings.Split(path, "/") {
		sub, err := parseObject(raw)
		if err != nil {
			return nil
		}
		raw = sub.get(strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	return raw
}

func (o *object) json() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o.members {
		if i > 0 {
			b.WriteByte(',')
		}
		key, _ := json.Marshal(m.key) // a string always has a JSON form
		b.Write(key)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}
