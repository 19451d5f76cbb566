package sandbox

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// TestPreemption: a restricted thread can still make the others of this process
// stop, as the garbage collector does, although it may signal no other process.
func TestPreemption(t *testing.T) {
	s := Look()
	if !s.landlocks() {
		t.Skip("no Landlock here")
	}
	b := New(Policy{Read: []string{"/"}, Network: None}, s)
	if err := b.rules.make(b); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var turns, ended atomic.Int64
	for range 2 {
		go func() {
			for n := 0; !stop.Load(); n++ { // nothing in here lets itself be interrupted
				turns.Store(int64(n))
			}
			ended.Add(1)
		}()
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good
		err := b.rules.enter()
		for range 20 {
			runtime.GC()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	stop.Store(true)
}

// TestLook: this machine is looked at without harm, whatever it has.
func TestLook(t *testing.T) {
	if s := Look(); s.Landlock > 0 && s.Bubblewrap != "" {
		t.Errorf("bubblewrap takes a probe: %+v", s)
	}
}
