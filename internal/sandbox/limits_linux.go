package sandbox

import (
	"errors"
	"fmt"
	"math"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// hold makes a child stop before its first instruction, so that [Box.release] can
// limit it. A setuid program gains nothing when it is started like this.
func (b *Box) hold(attr *syscall.SysProcAttr) {
	attr.Ptrace = b.holds()
}

// holds says whether children are held: where there is something to set.
func (b *Box) holds() bool { return b.policy.Limits.any() && b.system.Tracing }

// release limits a child that [Box.hold] made stop, and lets it go. The thread has
// to be the one that started the child.
func (b *Box) release(pid int) error {
	if b.holds() {
		stopped(pid)
	}
	err := elsewhere(func() error { return b.policy.Limits.set(pid) })
	if b.holds() {
		err = errors.Join(err, detach(pid))
	}
	return err
}

// stopped waits until a child has stopped or ended; it is left to be reaped.
func stopped(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// detach lets a child go. One that was killed meanwhile is no error: it is reaped.
func detach(pid int) error {
	if err := unix.PtraceDetach(pid); err != nil && err != unix.ESRCH {
		return fmt.Errorf("let process %d go: %w", pid, err)
	}
	return nil
}

// elsewhere runs f on another thread: this one may be confined.
func elsewhere(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return <-done
}

// any says whether there is a limit of a process.
func (l Limits) any() bool { return l.Memory > 0 || l.OpenFiles > 0 || l.FileSize > 0 || l.CPU > 0 }

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
