//go:build !linux

package sandbox

type rules struct{}

func (b *Box) wrap(Child) (*Confined, error)     { return nil, ErrNone }
func (b *Box) restrict(Child) (*Confined, error) { return nil, ErrNone }

// Look finds nothing here.
func Look() System { return System{} }
