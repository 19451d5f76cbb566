package dispatcher

import (
	"crypto/sha256"
	"fmt"

	"rouse/internal/text"
)

// How often the same call may give the same result.
const (
	repeatsToWarn = 3
	repeatsToEnd  = 5
)

// warn says to the model that it did the same before, with the same result.
func (d *Dispatcher) warn(o *Observation) {
	if d.seen == nil {
		d.seen = map[[sha256.Size]byte]int{}
	}
	key := o.key()
	d.seen[key]++
	if n := d.seen[key]; n >= repeatsToWarn && n < repeatsToEnd && !o.mayRepeat() {
		o.Warning = fmt.Sprintf("this is the same call with the same result for the %d. time; at %d the cycle ends: do something else, or say done", n, repeatsToEnd)
	}
}

// key tells an action with its result from another.
func (o *Observation) key() [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %s %v %q %q %s", o.Tool, o.Args, o.OK, o.text(), o.Error, o.sum))
}

func (o *Observation) mayRepeat() bool { return o.Done || o.Tool == readName }

// guard ends a cycle that goes on with an action that was done before with the
// same result.
func (d *Dispatcher) guard(o *Observation) error {
	if n := d.seen[o.key()]; n >= repeatsToEnd && !o.mayRepeat() {
		return fmt.Errorf("%w: %s(%s) gave the same result %d times", ErrStuck, o.Tool, text.Line(string(o.Args), noteRunes), n)
	}
	return nil
}
