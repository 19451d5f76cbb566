package sandbox

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrBubblewrap means that bubblewrap did not get as far as being the command.
var ErrBubblewrap = errors.New("bubblewrap failed")

// Failed is why a child was not started, with what it said meanwhile.
func (c *Confined) Failed(err error, said []byte) error {
	if !errors.Is(err, ErrBubblewrap) {
		return err
	}
	if c.broken != nil {
		c.broken()
	}
	for line := range bytes.Lines(said) {
		if what, ok := bytes.CutPrefix(line, []byte("bwrap: ")); ok {
			return fmt.Errorf("%w: %s", err, bytes.TrimSpace(what))
		}
	}
	return err
}
