package sandbox

// wrap starts a child in bubblewrap.
func (b *Box) wrap(c Child) (*Confined, error) { return nil, ErrNone }
