package sandbox

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrBubblewrap means that bubblewrap does not do here what it is asked for.
var ErrBubblewrap = errors.New("bubblewrap failed")

// errNotRun means that the command could not be started in it.
var errNotRun = errors.New("the program cannot be run inside")

// Failed is why a child was not started, with what it said meanwhile.
func (c *Confined) Failed(err error, said []byte) error {
	for line := range bytes.Lines(said) {
		what, ok := bytes.CutPrefix(line, []byte("bwrap: "))
		if what = bytes.TrimSpace(what); ok && errors.Is(err, errNotRun) {
			return fmt.Errorf("%w: %s", errNotRun, bytes.TrimPrefix(what, []byte("execvp ")))
		}
		if ok && errors.Is(err, ErrBubblewrap) {
			err = fmt.Errorf("%w: %s", err, what)
			break
		}
	}
	if c.broken != nil && errors.Is(err, ErrBubblewrap) && !errors.Is(err, errNotRun) {
		c.broken()
	}
	return err
}
