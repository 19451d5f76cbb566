package scratchpad

import "slices"

// Without is a state that lacks some keys, but for known ones, whose values go. What
// stands between the others stays.
func (s *State) Without(keys ...string) (*State, error) {
	text, err := s.Bytes()
	if err == nil {
		s, err = Parse("the state", text)
	}
	if err != nil {
		return nil, err
	}
	l := s.layout()
	if l == nil { // it cannot be taken to pieces
		left := New()
		for _, e := range slices.DeleteFunc(s.entries, func(e entry) bool { return slices.Contains(keys, e.key) }) {
			left.put(e.key, e.value)
		}
		return left, nil
	}
	left := slices.Clone(text[:l.keys[0]])
	for i, end := range l.keys[1:] {
		start := l.keys[i]
		if slices.Contains(keys, s.entries[i].key) {
			start = l.trailer(start, end, isComment)
		}
		left = append(left, text[start:end]...)
	}
	return Parse("the state", append(left, text[l.keys[len(l.keys)-1]:]...))
}
