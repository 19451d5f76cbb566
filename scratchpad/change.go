package scratchpad

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"rouse/internal/object"
	"rouse/internal/text"
)

// The operations of a [Change].
const (
	OpSet    = "set"    // replace the value of a key; a new key goes to the end
	OpExtend = "extend" // add the items of a list to a list
	OpAppend = "append" // add text to a text
	OpDrop   = "drop"   // take so many items from the beginning of a list
)

// ErrFull is of a change that would make a state too large to be loaded again.
var ErrFull = errors.New("the state is full")

// Change is one change of one key. The journal holds changes as JSON; one that
// was read back has the same effect, to the byte.
type Change struct {
	Op    string `json:"op"`
	Key   string `json:"key"`
	Value any    `json:"value"`
}

// UnmarshalJSON keeps the digits of numbers.
func (c *Change) UnmarshalJSON(data []byte) error {
	type bare Change
	var b bare
	if err := object.Decode(data, &b); err != nil {
		return err
	}
	*c = Change(b)
	return nil
}

// maxKey is the longest name of a key, in bytes.
const maxKey = 256

// saveRoom is what Apply leaves free below MaxBytes, for the time stamp.
const saveRoom = 256

// Apply makes the changes in order, all or, on an error, none. It refuses values
// of the wrong type and, with [ErrFull], a state too large to be loaded again, but
// for one that is no larger than before. Appending costs no encoding of what is there.
func (s *State) Apply(changes ...Change) error {
	next := s.Clone()
	for _, c := range changes {
		if err := next.apply(c); err != nil {
			return err
		}
	}
	if err := next.checkSize(s); err != nil {
		return err
	}
	*s = *next
	return nil
}

func (s *State) apply(c Change) error {
	old, found := s.Value(c.Key)
	if !found {
		if err := checkKey(c.Key); err != nil {
			return err
		}
	}
	v, err := plain(c.Value, 0)
	if err != nil {
		return fmt.Errorf("%s: %v", text.Line(c.Key, 60), err)
	}
	switch c.Op {
	case OpSet:
	case OpExtend:
		v, err = extended(c.Key, old, v)
	case OpAppend:
		v, err = appended(c.Key, old, v)
	case OpDrop:
		v, err = dropped(c.Key, old, v)
	default:
		return fmt.Errorf("%s: unknown operation %q", text.Line(c.Key, 60), c.Op)
	}
	if err != nil {
		return err
	}
	if v, err = fit(c.Key, v); err != nil {
		return err
	}
	bound := 0
	if e := s.find(c.Key); c.Op == OpAppend && e != nil {
		bound = e.size() + sizeBound(c.Value, 2)
	}
	s.put(c.Key, v)
	s.find(c.Key).bound = bound
	return nil
}

// size is at least the number of bytes that the entry takes.
func (e *entry) size() int {
	if e.bound == 0 {
		e.bound = sizeBound(e.key, 0) + sizeBound(e.value, 2)
	}
	return e.bound
}

func extended(key string, old, v any) (any, error) {
	list, isList := old.([]any)
	more, ok := v.([]any)
	switch {
	case !isList && old != nil:
		return nil, fmt.Errorf("%s: cannot extend %s, it is no list", text.Line(key, 60), describe(old))
	case !ok:
		return nil, fmt.Errorf("%s: want a list of items to add, got %s", text.Line(key, 60), describe(v))
	}
	return slices.Concat(list, more), nil
}

func appended(key string, old, v any) (any, error) {
	head, isText := old.(string)
	tail, ok := v.(string)
	switch {
	case !isText && old != nil:
		return nil, fmt.Errorf("%s: cannot append to %s, it is no text", text.Line(key, 60), describe(old))
	case !ok:
		return nil, fmt.Errorf("%s: want text to append, got %s", text.Line(key, 60), describe(v))
	}
	return head + tail, nil
}

func dropped(key string, old, v any) (any, error) {
	list, _ := old.([]any)
	n, err := strconv.Atoi(fmt.Sprint(v))
	if err != nil || n < 0 || n > len(list) {
		return nil, fmt.Errorf("%s: cannot take %s from its beginning, it has %d items", text.Line(key, 60), describe(v), len(list))
	}
	return slices.Clone(list[n:]), nil
}

// checkKey refuses names that no person means: they would only hide something.
func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("a key must not be empty")
	case len(key) > maxKey:
		return fmt.Errorf("the key %s is longer than %d bytes", text.Line(key, 40), maxKey)
	case !utf8.ValidString(key):
		return fmt.Errorf("the key %.40q is not UTF-8", key)
	case strings.ContainsFunc(key, unprintable):
		return fmt.Errorf("the key %.40q has line breaks or control characters", key)
	}
	return nil
}

func unprintable(r rune) bool { return unicode.IsControl(r) || !raw(r) }

// checkSize compares an upper bound of the text's size with the limit, and the
// text itself only where the bound is over it. What is over the limit may become
// smaller.
func (s *State) checkSize(was *State) error {
	const limit = MaxBytes - saveRoom
	bound := 2 * len(s.data) // re-encoding the whole document may add to what is there
	for i := range s.entries {
		if e := &s.entries[i]; e.edited || e.node == nil {
			bound += e.size()
		}
	}
	if bound <= limit {
		return nil
	}
	text, err := s.Bytes()
	if err != nil || len(text) <= limit {
		return err
	}
	if old, err := was.Bytes(); err == nil && len(text) <= len(old) {
		return nil
	}
	return full(len(text), limit)
}

func full(size, limit int) error {
	return fmt.Errorf("%w: it would be %d bytes, the limit is %d", ErrFull, size, limit)
}

// sizeBound is at least the number of bytes that v takes when it is written
// with indent, in whatever style.
func sizeBound(v any, indent int) int {
	n := indent + 16
	switch v := v.(type) {
	case string:
		n += textBound(v, indent)
	case json.Number:
		n += len(v)
	case []any:
		for _, item := range v {
			n += sizeBound(item, indent+2)
		}
	case map[string]any:
		for k, item := range v {
			n += sizeBound(k, indent+2) + sizeBound(item, indent+2)
		}
	}
	return n
}

// textBound is at least the number of bytes that a text takes, be it in quotes
// with escapes, or as it is with an indentation before each line.
func textBound(s string, indent int) (n int) {
	for _, r := range s {
		switch {
		case r == '\n':
			n += 2 + indent
		case r == '"' || r == '\\' || r == '\'':
			n += 2
		case r >= ' ' && r < utf8.RuneSelf:
			n++
		case r >= utf8.RuneSelf && raw(r):
			n += utf8.RuneLen(r)
		default:
			n += 10 // as \U0001F600
		}
	}
	return n
}
