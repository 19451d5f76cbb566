// Package scratchpad holds the agent's memory: one YAML file, active.yaml, that
// the model, the operator and the operator's scripts read and edit.
//
// A [State] is that file and its values. [Load] reads it or refuses it whole,
// with line and column; [State.Apply] changes values; [State.Bytes] gives the
// file's new text, in which every key that did not change keeps its exact
// bytes, comments and blank lines. Before a text is handed out it is parsed
// again and compared with the values that it must hold.
//
// Values are plain: nil, bool, [json.Number], string, []any and map[string]any.
// A date without quotes is a string. A number keeps its digits; one that JSON
// cannot write, such as 0x1F or 1_000, becomes decimal, and .inf and .nan are
// the strings that the file shows. Values that a State gives out are shared
// with it and must not be changed in place.
package scratchpad

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
)

const (
	// MaxBytes is the largest file that is read or written, in bytes.
	MaxBytes = 8 << 20
	// LargeBytes is the size in bytes from which [State.Large] reports true.
	LargeBytes = 512 << 10
)

// State is the memory: the text that was read and the values as they are now.
// It is not safe for use by several goroutines at once.
type State struct {
	source            // the text that was read
	doc    *yaml.Node // its nodes; nil if it holds none
	// entries are the keys in the order of the file, then known keys that the
	// file lacks, then keys that were added.
	entries []entry
	edited  bool
	text    []byte // the result of Bytes, until the next change
}

// entry is one key of the state.
type entry struct {
	key        string
	value      any
	name, node *yaml.Node // key and value in the text that was read; nil if not there
	edited     bool       // value is no longer that of node
	bound      int        // at least the bytes that key and value take; 0: not counted
}

// New returns the state of an agent that remembers nothing.
func New() *State {
	s := &State{edited: true}
	s.addMissing()
	return s
}

// addMissing adds the known keys that the file lacks, with their defaults.
func (s *State) addMissing() {
	for _, k := range knownKeys() {
		if s.find(k.name) == nil {
			s.entries = append(s.entries, entry{key: k.name, value: k.zero()})
		}
	}
}

func (s *State) find(key string) *entry {
	for i := range s.entries {
		if s.entries[i].key == key {
			return &s.entries[i]
		}
	}
	return nil
}

// Clone is a state of its own with the same text and values.
func (s *State) Clone() *State {
	c := *s
	c.entries = append([]entry(nil), s.entries...)
	return &c
}

// put sets a key to a value that was checked. A value that the key has already
// changes nothing.
func (s *State) put(key string, value any) {
	e := s.find(key)
	if e != nil && same(e.value, value) {
		return
	}
	s.edited, s.text = true, nil
	if e != nil {
		e.value, e.edited, e.bound = value, true, 0
		return
	}
	s.entries = append(s.entries, entry{key: key, value: value, edited: true})
}

// Keys names the keys in the order of the file.
func (s *State) Keys() []string {
	keys := make([]string, len(s.entries))
	for i, e := range s.entries {
		keys[i] = e.key
	}
	return keys
}

// Value is the value of a key, and whether the state has that key.
func (s *State) Value(key string) (any, bool) {
	if e := s.find(key); e != nil {
		return e.value, true
	}
	return nil, false
}

// Goals is the list of goals.
func (s *State) Goals() []any { return s.list("goals") }

// CurrentTask is the task being worked on: nil, a string or a map.
func (s *State) CurrentTask() any {
	v, _ := s.Value("current_task")
	return v
}

// Pending is the queue of tasks, the next one first.
func (s *State) Pending() []any { return s.list("pending_actions") }

// Completed is the list of finished tasks, oldest first.
func (s *State) Completed() []any { return s.list("completed_tasks") }

// Notes is the running record of what the agent did.
func (s *State) Notes() string { return s.str("notes") }

// LastUpdated is when the state was last saved, as the file writes it: local
// time without a zone. It is empty in a state that was never saved.
func (s *State) LastUpdated() string { return s.str("last_updated") }

func (s *State) list(key string) []any {
	v, _ := s.Value(key)
	l, _ := v.([]any)
	return l
}

func (s *State) str(key string) string {
	v, _ := s.Value(key)
	t, _ := v.(string)
	return t
}

// Mentions says whether a text of the state is one that is looked for.
func (s *State) Mentions(is func(string) bool) bool {
	return slices.ContainsFunc(s.entries, func(e entry) bool { return mentions(e.value, is) })
}

func mentions(v any, is func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return is(v)
	case []any:
		return slices.ContainsFunc(v, func(v any) bool { return mentions(v, is) })
	case map[string]any:
		for _, v := range v {
			if mentions(v, is) {
				return true
			}
		}
	}
	return false
}

// Large reports whether the file that was read is so large, [LargeBytes] or
// more, that its owner should be told.
func (s *State) Large() bool { return len(s.data) >= LargeBytes }

// Hash is the SHA-256 of [State.Bytes] in hex, or "" where there are none. Of a
// state that was loaded and not changed it is the hash of the file.
func (s *State) Hash() string {
	b, err := s.Bytes()
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}
