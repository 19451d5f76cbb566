package tools

import (
	"fmt"
	"strings"
)

// Set holds the tools of a home, in the order in which the model sees them.
type Set struct{ tools []Tool }

// NewSet makes a set. Names must be unique, fit [A-Za-z0-9_-]{1,64}, and not be
// those of the agent's own actions.
func NewSet(list ...Tool) (*Set, error) {
	s := &Set{}
	for _, t := range list {
		_, taken := s.Find(t.Name)
		switch {
		case !ValidName(t.Name):
			return nil, fmt.Errorf("tool %q: a name has letters, digits, _ and -, at most 64", t.Name)
		case taken || t.Name == "update_scratchpad" || t.Name == "done":
			return nil, fmt.Errorf("tool %q: the name is taken", t.Name)
		}
		s.tools = append(s.tools, t)
	}
	return s, nil
}

// ValidName says whether name fits [A-Za-z0-9_-]{1,64}.
func ValidName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	})
}

// Find gives the tool of that name.
func (s *Set) Find(name string) (Tool, bool) {
	for _, t := range s.tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// All gives the tools in order; the caller may append to what it gets.
func (s *Set) All() []Tool { return append([]Tool(nil), s.tools...) }
