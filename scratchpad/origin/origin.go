// Package origin says where a text came from that the agent was given: from something
// outside, which is named as "http_get example.com" or "mcp github", or from what is
// private. What neither names is the operator's or the agent's own.
package origin

import (
	"slices"
	"strings"
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
		if name != "" && !slices.Contains(s, name) {
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

// String is the set as people read it, "" of an empty one.
func (s Set) String() string { return strings.Join(s, ", ") }
