package scratchpad

// Clone gives a state of its own; values are shared.
func (s *State) Clone() *State { return s.clone() }
