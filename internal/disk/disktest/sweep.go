package disktest

import (
	"math"
	"testing"

	"rouse/internal/sweep"
)

// sample is about how many faults a quick sweep tries.
const sample = 14

// Sweep calls run with a [Faulty] that fails at its first operation, then with
// one that fails at its second, and so on until a run meets its fault no more;
// this for each of the faults. It returns how many runs met theirs. Each run
// starts from a fresh state of its own, and sets FS if it is not the machine's.
//
// A wide sweep takes every other point, the odd ones of one fault and the even ones of the
// next. A quick one of many takes some of them, spread evenly, each fault at two
// operations at least: see [sweep.Of].
func Sweep(t testing.TB, faults []Fault, run func(f *Faulty)) int {
	t.Helper()
	last, step := math.MaxInt, sweep.Of(1, 2, 1)
	if sweep.Of(true, false, false) {
		last, step = some(faults, run)
	}
	met := 0
	for i, fault := range faults {
		for fault.At = 1 + i%step; fault.At <= last; fault.At += step {
			f := &Faulty{Fault: fault}
			run(f)
			if len(f.Fired()) == 0 {
				break
			}
			met++
		}
	}
	if met == 0 {
		t.Error("no fault fired")
	}
	return met
}

// some counts the operations of a run without a fault, and says how far it is from
// one that is tried to the next.
func some(faults []Fault, run func(f *Faulty)) (ops, step int) {
	f := &Faulty{Fault: faults[0]}
	f.Fault.At = math.MaxInt
	run(f)
	ops = len(f.Ops())
	return ops, max(1, min(ops/2, ops*len(faults)/sample))
}
