// Package killtest kills a program at its Nth system call, for tests of what it
// leaves behind. [Run] kills one run, [Sweep] one run at each of its calls.
//
// It needs Linux on amd64 or arm64 and the right to trace a child; elsewhere an
// error says so.
package killtest

import (
	"syscall"
	"testing"

	"rouse/internal/sweep"
)

// Counts says which stops of a program count. A program stops when it enters a
// system call and when it leaves it, in any of its threads.
type Counts int

const (
	// All counts every stop.
	All Counts = iota
	// Effects counts the stops of those calls only that change something outside
	// the program: files opened for writing, written, synced, named; processes
	// started and signalled; the end.
	Effects
)

func (c Counts) String() string {
	if c == Effects {
		return "effects"
	}
	return "all"
}

// Result is what became of a run.
type Result struct {
	Stops  int                // counted, up to the kill
	Killed bool               // by us; false if it ended before its Nth stop
	At     string             // where it was killed, as "before renameat"; only for Effects
	Status syscall.WaitStatus // how it ended
}

// Sweep calls run with 0, which must not kill, then with 1, and so on until a
// run ends by itself; run starts from a fresh state, hands its argument to
// [Run], and checks what is left. Only about as many runs are made as most says,
// spread evenly, or an eighth of that, or all: see [sweep.Of]. Sweep returns how many
// runs were killed.
func Sweep(t testing.TB, most int, run func(n int) Result) int {
	t.Helper()
	total := run(0).Stops
	most = sweep.Of((most+7)/8, most, max(1, total))
	step := max(1, (total+most-1)/most)
	killed := 0
	for n := 1; run(n).Killed; n += step {
		killed++
	}
	if killed == 0 {
		t.Error("no run was killed")
	}
	return killed
}
