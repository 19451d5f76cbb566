//go:build !linux

package proc

import (
	"syscall"
	"time"
	"unsafe"
)

// Here only the process group is ended: there is no /proc and no subreaper.

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// prepareSystem closes to children the descriptors that Rouse itself inherited.
func prepareSystem() {
	for fd := 3; fd < 256; fd++ {
		syscall.CloseOnExec(fd)
	}
}

// awaitExit returns when a child has ended and leaves it to be reaped, as the
// os package does; see os/wait_waitid.go.
func awaitExit(pid int) {
	const byPID, exited, noWait = 1, 0x4, 0x20
	var info [16]uint64
	for {
		_, _, e := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), uintptr(unsafe.Pointer(&info)), exited|noWait, 0, 0)
		if e != syscall.EINTR {
			return
		}
	}
}

func (r *Runner) sweep(time.Duration) []int { return nil }

func identify(pid int, boot string) Identity {
	session, _ := syscall.Getpgid(pid)
	return Identity{PID: pid, Session: session, Boot: boot}
}

func alive(i Identity) bool {
	err := syscall.Kill(i.PID, 0)
	return err == nil || err == syscall.EPERM
}

// Name is not to be found out here.
func Name(int) string { return "" }

func bootID() string { return "" }

// EndLeftovers ends nothing here: a PID alone does not tell whose it is.
func EndLeftovers(mark string, ids []Identity, owner Identity) (ended []int, err error) {
	return nil, nil
}

// Leftovers finds nothing here.
func Leftovers(mark string, ids []Identity, owner Identity) []int { return nil }

// Enforced says what this system lets us enforce.
func Enforced() []Guard {
	return []Guard{
		{Name: "a tool's process group ends with it", Enforced: true},
		{Name: "daemons of a tool end with it", Detail: "needs Linux: they survive"},
		{Name: "leftovers of a killed cycle are found", Detail: "needs Linux: they survive"},
		{Name: "tools inherit no open file", Enforced: true},
	}
}
