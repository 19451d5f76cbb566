package history

import (
	"maps"
	"slices"
	"strings"
)

// Change is how one path differs between two versions; nil is for nothing there.
type Change struct {
	Path    string
	Was, Is *Entry
}

// Kind is added, removed or changed.
func (c Change) Kind() string {
	switch {
	case c.Was == nil:
		return "added"
	case c.Is == nil:
		return "removed"
	}
	return "changed"
}

// Diff gives what is not the same in two versions, by path.
func Diff(a, b *Version) (list []Change) {
	changes := map[string]Change{}
	for i := range a.Entries {
		e := &a.Entries[i]
		changes[e.Path] = Change{Path: e.Path, Was: e}
	}
	for i := range b.Entries {
		e := &b.Entries[i]
		c := changes[e.Path]
		if c.Path, c.Is = e.Path, e; c.Was != nil && c.Was.Same(*e) {
			delete(changes, e.Path)
			continue
		}
		changes[e.Path] = c
	}
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		list = append(list, changes[path])
	}
	return list
}

// Below keeps of a list what is at or below one of these paths; none is all.
func Below(list []Change, paths []string) []Change {
	return slices.DeleteFunc(list, func(c Change) bool {
		return len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool { return c.Path == p || strings.HasPrefix(c.Path, p+"/") })
	})
}
