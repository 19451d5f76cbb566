package sandbox

import (
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// detach lets a child go. One that was killed meanwhile is no error: it is reaped.
func detach(pid int) error {
	if err := unix.PtraceDetach(pid); err != nil && err != unix.ESRCH {
		return fmt.Errorf("let process %d go: %w", pid, err)
	}
	return nil
}

// set limits a process and those that it will start. It raises no limit.
func (l Limits) set(pid int) error {
	seconds := int64((l.CPU + time.Second - 1) / time.Second)
	for _, r := range []struct {
		what  int
		bound int64
	}{
		{unix.RLIMIT_DATA, l.Memory}, // RLIMIT_AS would break what reserves addresses, as node does
		{unix.RLIMIT_NOFILE, int64(l.OpenFiles)},
		{unix.RLIMIT_FSIZE, l.FileSize},
		{unix.RLIMIT_CPU, seconds},
	} {
		if err := lower(pid, r.what, r.bound); err != nil && err != unix.ESRCH {
			return fmt.Errorf("limit process %d: %w", pid, err)
		}
	}
	return nil
}

// lower lowers one limit to at most bound. The hard one of CPU time comes a second
// later: it kills, where the soft one is a signal that can be told.
func lower(pid, what int, bound int64) error {
	var l unix.Rlimit
	if bound <= 0 {
		return nil
	}
	if err := unix.Prlimit(pid, what, nil, &l); err != nil {
		return err
	}
	hard := uint64(bound)
	if what == unix.RLIMIT_CPU && hard < math.MaxInt64 {
		hard++
	}
	l.Cur, l.Max = min(l.Cur, uint64(bound)), min(l.Max, hard)
	return unix.Prlimit(pid, what, &l, nil)
}
