package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"rouse/internal/object"
)

// Any returns v, a value such as [encoding/json] makes, without secrets in its
// strings and keys; v itself does not change. Two keys that become the same are
// one afterwards. A value of another type than these is taken as the JSON that
// it marshals to.
func (r *Redactor) Any(v any) any {
	if r.free() {
		return v
	}
	switch v := v.(type) {
	case nil, bool, float64, int, int64:
		return v
	case string:
		return r.String(v)
	case json.Number:
		return r.number(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = r.Any(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[r.String(k)] = r.Any(e)
		}
		return out
	}
	return r.marshalled(v)
}

// JSON returns a JSON text without secrets in its strings, keys and numbers, also
// those that needless escapes hide, such as \u0061 for a. One without secrets
// comes back as it is; of another one the order of keys is lost.
func (r *Redactor) JSON(text json.RawMessage) json.RawMessage {
	if r.free() || !bytes.ContainsRune(text, '\\') && r.String(string(text)) == string(text) {
		return text
	}
	var v any
	if object.Decode(text, &v) != nil {
		return json.RawMessage(r.String(string(text)))
	}
	clean := r.Any(v)
	if reflect.DeepEqual(v, clean) {
		return text
	}
	out, err := json.Marshal(clean)
	if err != nil { // not of what was JSON
		return json.RawMessage(r.String(string(text)))
	}
	return out
}

// number keeps a number that holds no secret; one that does becomes a string.
func (r *Redactor) number(n json.Number) any {
	if s := r.String(string(n)); s != string(n) {
		return s
	}
	return n
}

func (r *Redactor) marshalled(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return r.String(fmt.Sprint(v))
	}
	var out any
	if object.Decode(data, &out) != nil {
		return r.String(string(data))
	}
	return r.Any(out)
}

// Error returns err if its text holds no secret, else an error with the clean
// text. [errors.Is] still finds in that one what it finds in err; it cannot be
// unwrapped, as that would give the secret back, so a caller of [errors.As]
// must look before redacting.
func (r *Redactor) Error(err error) error {
	if r.free() || err == nil {
		return err
	}
	dirty := err.Error()
	clean := r.String(dirty)
	if clean == dirty {
		return err
	}
	return &cleanError{clean, func(target error) bool { return errors.Is(err, target) }}
}

type cleanError struct {
	text string
	is   func(target error) bool
}

func (e *cleanError) Error() string        { return e.text }
func (e *cleanError) Is(target error) bool { return e.is(target) }
