// Package origin says where a text came from that the agent was given: from something
// outside, which is named as "http_get example.com" or "mcp github", or from what is
// private. What neither names is the operator's or the agent's own.
//
// In the memory that is a mark, which people read and edit: "[NOTE from mcp github] …" in
// a line of the notes, a field origin in a task, and for a key that is neither its name in
// the key [Key].
package origin

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Private is the mark of what is nobody else's to see. It is no place that texts come
// from, but goes with them in the same way.
const Private = "private"

// Set are origins, each once, in the order in which they came.
type Set []string

// With is the set with further origins.
func (s Set) With(names ...string) Set {
	s = slices.Clip(s)
	for _, name := range names {
		if name = named(name); name != "" && !slices.Contains(s, name) {
			s = append(s, name)
		}
	}
	return s
}

// Outside are the origins that are places outside.
func (s Set) Outside() Set {
	return slices.DeleteFunc(slices.Clone(s), func(name string) bool { return name == Private })
}

// Private says that something private is among it.
func (s Set) Private() bool { return slices.Contains(s, Private) }

// maxNames is how many origins a mark names, and more stands for those before.
const maxNames, more = 5, "and more"

// String is the set as people read it, and as marks have it: the last ones, which are
// nearest to what is marked. It is "" of an empty one.
func (s Set) String() string {
	named := slices.DeleteFunc(slices.Clone(s), func(name string) bool { return name == more || name == Private })
	last := named[max(0, len(named)-maxNames):]
	if len(last) < len(named) || slices.Contains(s, more) {
		last = append(slices.Clip(last), more)
	}
	if s.Private() {
		last = append(slices.Clip(last), Private)
	}
	return strings.Join(last, ", ")
}

// Read is the set that a mark names.
func Read(mark string) Set { return Set(nil).With(strings.Split(mark, ",")...) }

// maxName is the longest name of an origin, in bytes.
const maxName = 100

// named is a name as it can stand in a mark, which it can neither end nor write on: but
// for the blank behind its kind, what is no letter, digit or plain sign is escaped.
func named(name string) string {
	var b strings.Builder
	blank := false
	for _, r := range strings.TrimSpace(name) {
		switch {
		case r == ' ' && !blank:
			blank = true
			b.WriteRune(r)
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune("./:@_-%~()", r):
			b.WriteRune(r)
		default:
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
	}
	if b.Len() > maxName {
		return strings.ToValidUTF8(b.String()[:maxName-1], "") + "~"
	}
	return b.String()
}
