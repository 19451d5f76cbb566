package disktest

import "testing"

// Sweep calls run with a [Faulty] that fails at its first operation, then with
// one that fails at its second, and so on until a run meets its fault no more;
// this for each of the faults. It returns how many runs met theirs. Each run
// starts from a fresh state of its own, and sets FS if it is not the machine's.
func Sweep(t testing.TB, faults []Fault, run func(f *Faulty)) int {
	t.Helper()
	met := 0
	for _, fault := range faults {
		for fault.At = 1; ; fault.At++ {
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
