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

// repeats counts how often the same happened, with nothing else in between.
type repeats struct {
	key [sha256.Size]byte
	n   int
}

// warn says to the model that it did the same before, with the same result.
func (d *Dispatcher) warn(o *Observation) {
	if key := o.key(); key != d.same.key {
		d.same = repeats{key: key}
	}
	d.same.n++
	if n := d.same.n; n >= repeatsToWarn && n < repeatsToEnd && !o.mayRepeat() {
		o.Warning = fmt.Sprintf("this is the same call with the same result for the %d. time; at %d the cycle ends: do something else, or say done", n, repeatsToEnd)
	}
}

// key tells an action with its result from another.
func (o *Observation) key() [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %s %v %q %q %s", o.Tool, o.Args, o.OK, o.text(), o.Error, o.sum))
}

func (o *Observation) mayRepeat() bool { return o.Done || o.Tool == readName }

// guard ends a cycle that does nothing but the same, with the same result.
func (d *Dispatcher) guard(o *Observation) error {
	if d.same.n >= repeatsToEnd && !o.mayRepeat() {
		return fmt.Errorf("%w: %s(%s) gave the same result %d times", ErrStuck, o.Tool, text.Line(string(o.Args), noteRunes), d.same.n)
	}
	return nil
}
