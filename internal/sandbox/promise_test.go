package sandbox

import (
	"sync"
	"testing"
)

// TestHolds: each promise that is asked for has a row for every machine, and what
// nothing keeps, or not wholly, says what it lacks.
func TestHolds(t *testing.T) {
	policies := []Policy{
		{Network: Open},
		{Network: None, Limits: Limits{Memory: 1, Processes: 1}},
		{Network: Listed, UnixSockets: true, Limits: Limits{Memory: 1}},
	}
	for name, s := range map[string]System{
		"nothing": {}, "first ABI": {Landlock: 1, Seccomp: true, Tracing: true}, "no seccomp": {Landlock: 7, Tracing: true},
		"not traced": {Landlock: 7, Seccomp: true}, "old": {Landlock: 2, Seccomp: true, Tracing: true}, "new": {Landlock: 7, Seccomp: true, Tracing: true},
	} {
		for _, p := range policies {
			b := New(p, s)
			kept := 0
			for _, h := range b.Holds() {
				if h.By == "" && h.Lacks == "" || h.Lacks == "not kept here" {
					t.Errorf("%s, network %s: %s: no row", name, p.Network, h.Promise)
				}
				if h.By != "" {
					kept++
				}
			}
			if kept > 0 != s.landlocks() {
				t.Errorf("%s, network %s: %d promises are kept", name, p.Network, kept)
			}
		}
	}
}

// TestAsks: what a policy does not ask for is not shown.
func TestAsks(t *testing.T) {
	for _, h := range New(Policy{Network: Open}, System{}).Holds() {
		switch h.Promise {
		case NoNetwork, Hosts, Memory, Count:
			t.Errorf("%s is shown", h.Promise)
		}
	}
}

// TestLater: files and folders are found out when they are needed and not before, once
// for all who need them.
func TestLater(t *testing.T) {
	dir, found := t.TempDir(), 0
	b := Later(Policy{Network: None}, func(p *Policy) { found, p.Read = found+1, []string{dir} }, Look())
	if b.Holds(); found != 0 {
		t.Error("they were found out for what is promised")
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(b.Prepare)
	}
	all.Wait()
	if p := b.Policy(); found != 1 || !p.Reads(dir+"/x") || p.Network != None {
		t.Errorf("found out %d times: %+v", found, p)
	}
}
