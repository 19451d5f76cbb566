package sandbox

import (
	"fmt"
	"slices"
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

// bound is the most that a limit of a process may be; 0 is no bound.
type bound struct {
	what int
	most int64
}

func (l Limits) bounds() []bound {
	seconds := int64((l.CPU + time.Second - 1) / time.Second)
	return slices.DeleteFunc([]bound{
		{unix.RLIMIT_DATA, l.Memory}, // RLIMIT_AS would break what reserves addresses, as node does
		{unix.RLIMIT_NOFILE, int64(l.OpenFiles)},
		{unix.RLIMIT_FSIZE, l.FileSize},
		{unix.RLIMIT_CPU, seconds},
	}, func(b bound) bool { return b.most <= 0 })
}

// set limits a process and those that it will start. It raises no limit.
func (l Limits) set(pid int) error {
	for _, b := range l.bounds() {
		if err := lower(pid, b.what, b.most); err != nil && err != unix.ESRCH {
			return fmt.Errorf("limit process %d: %w", pid, err)
		}
	}
	return nil
}

// calls are those by which a child limits itself likewise. A Rouse that runs in the
// sandbox of another one may limit no other process.
func (l Limits) calls(pid int) (calls []call, err error) {
	for _, b := range l.bounds() {
		r, err := b.of(pid)
		if err != nil {
			return nil, fmt.Errorf("look at the limits of process %d: %w", pid, err)
		}
		calls = append(calls, call{"limit", unix.SYS_PRLIMIT64, [3]uint64{0, uint64(b.what), here}, func(uint64) []byte { return bytesOf(&r) }})
	}
	return calls, nil
}

// lower lowers one limit to at most a bound.
func lower(pid, what int, most int64) error {
	l, err := bound{what, most}.of(pid)
	if err != nil {
		return err
	}
	return unix.Prlimit(pid, what, &l, nil)
}

// of is the limit that a process has, lowered to the bound. The hard one of CPU time
// comes a second later: it kills, where the soft one is a signal that can be told.
func (b bound) of(pid int) (l unix.Rlimit, err error) {
	err = unix.Prlimit(pid, b.what, nil, &l)
	hard := uint64(b.most)
	if b.what == unix.RLIMIT_CPU {
		hard++
	}
	l.Cur, l.Max = min(l.Cur, uint64(b.most)), min(l.Max, hard)
	return l, err
}
