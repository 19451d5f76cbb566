package netguardtest

import (
	"errors"
	"net/netip"
	"sync"
)

// ErrStays ends a dial that would leave the machine.
var ErrStays = errors.New("the test does not leave this machine")

// Dials writes down what a guard let be dialled.
type Dials struct {
	mu   sync.Mutex
	list []string
}

// Dialling lets nothing but loopback through.
func (d *Dials) Dialling(a netip.AddrPort) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, a.String())
	if !a.Addr().IsLoopback() {
		return ErrStays
	}
	return nil
}

// Reached gives what was dialled since it was last asked.
func (d *Dials) Reached() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.list
	d.list = nil
	return list
}
