package scratchpad

import (
	"slices"
	"strings"
)

// Equal reports whether two states hold the same values, whatever their order,
// text and last_updated.
func Equal(a, b *State) bool {
	for _, d := range Diff(a, b) {
		if d.Key != "last_updated" {
			return false
		}
	}
	return true
}

// The kinds of a [Difference].
const (
	KindAdded     = "added"     // the key is new; After
	KindRemoved   = "removed"   // the key is gone; Before
	KindExtended  = "extended"  // a list or text got more at its end: Added or Appended
	KindShortened = "shortened" // items left a list: Removed
	KindChanged   = "changed"   // anything else; for lists also Added and Removed, unless only their order changed
)

// Difference is what became of one key.
type Difference struct {
	Key      string `json:"key"`
	Kind     string `json:"kind"`
	Before   any    `json:"before,omitempty"`
	After    any    `json:"after,omitempty"`
	Added    []any  `json:"added,omitempty"`
	Removed  []any  `json:"removed,omitempty"`
	Appended string `json:"appended,omitempty"`
}

// Diff lists the keys whose values differ, in the order of before and then of
// after. last_updated is a key like any other.
func Diff(before, after *State) []Difference {
	var out []Difference
	for _, e := range before.entries {
		now, ok := after.Value(e.key)
		switch {
		case !ok:
			out = append(out, Difference{Key: e.key, Kind: KindRemoved, Before: e.value})
		case !same(e.value, now):
			out = append(out, compare(e.key, e.value, now))
		}
	}
	for _, e := range after.entries {
		if _, ok := before.Value(e.key); !ok {
			out = append(out, Difference{Key: e.key, Kind: KindAdded, After: e.value})
		}
	}
	return out
}

func compare(key string, before, after any) Difference {
	d := Difference{Key: key, Kind: KindChanged, Before: before, After: after}
	switch b := before.(type) {
	case string:
		if a, ok := after.(string); ok && b != "" && strings.HasPrefix(a, b) {
			return Difference{Key: key, Kind: KindExtended, Appended: a[len(b):]}
		}
	case []any:
		if a, ok := after.([]any); ok {
			return compareLists(d, b, a)
		}
	}
	return d
}

func compareLists(d Difference, before, after []any) Difference {
	if len(after) > len(before) && slices.EqualFunc(before, after[:len(before)], same) {
		return Difference{Key: d.Key, Kind: KindExtended, Added: after[len(before):]}
	}
	d.Added, d.Removed = without(after, before), without(before, after)
	if len(d.Added) == 0 && len(d.Removed) > 0 {
		return Difference{Key: d.Key, Kind: KindShortened, Removed: d.Removed}
	}
	return d
}

// without is the items of a that are left when each item of b has taken out one
// equal to it.
func without(a, b []any) []any {
	taken := make(map[string]int, len(b))
	for _, v := range b {
		taken[itemKey(v)]++
	}
	var out []any
	for _, v := range a {
		k := itemKey(v)
		if taken[k] > 0 {
			taken[k]--
			continue
		}
		out = append(out, v)
	}
	return out
}

// Lines are the lines that a text lost and got, but for empty ones; of any other
// value there are none.
func (d Difference) Lines() (lost, got []string) {
	before, isText := d.Before.(string)
	after, stays := d.After.(string)
	if !isText || !stays {
		return nil, nil
	}
	return beside(before, after), beside(after, before)
}

// beside are the lines of a text that another one does not have as well.
func beside(text, other string) (list []string) {
	has := map[string]int{"": 1 << 60}
	for line := range strings.Lines(other) {
		has[strings.TrimSuffix(line, "\n")]++
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if has[line]--; has[line] < 0 {
			list = append(list, line)
		}
	}
	return list
}

// Merge makes the changes from base to ours in theirs, which keeps its text,
// comments and layout. It gives no state, but the names of the keys, where both
// sides changed the same key to different values, or where theirs has no room for
// ours. last_updated is theirs. No change takes a key away, so a key that ours
// lacks stays.
func Merge(base, ours, theirs *State) (*State, []string) {
	merged := theirs.Clone()
	var conflicts, taken []string
	for _, e := range ours.entries {
		old, inBase := base.Value(e.key)
		now, inTheirs := theirs.Value(e.key)
		switch {
		case e.key == "last_updated" || inBase && same(old, e.value) || inTheirs && same(now, e.value):
		case inBase == inTheirs && same(old, now):
			merged.put(e.key, e.value)
			taken = append(taken, e.key)
		default:
			conflicts = append(conflicts, e.key)
		}
	}
	if len(conflicts) == 0 && len(taken) > 0 && merged.checkSize(theirs) != nil {
		conflicts = taken
	}
	if len(conflicts) > 0 {
		return nil, conflicts
	}
	return merged, nil
}
