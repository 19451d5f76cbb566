package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A child that Landlock restricts does so itself, before its first instruction: it
// is held after its exec and told what to call. A thread of ours that restricted
// itself and then started the child would be as restricted as the child, and so
// within its reach: it could be signalled and, but for prctl(2), traced.

// call is a system call that a child is told to make. It has to give 0.
type call struct {
	name   string
	number uint64
	args   [3]uint64
	memory func(address uint64) []byte // that it needs
}

// here, with an offset, is no argument but an address in a call's memory.
const here = 1 << 63

// room is how far below a child's stack pointer calls are written: within what the
// kernel maps at its exec.
const room = 16 << 10

// tell has a child that is held make calls.
func tell(pid int, calls []call) error {
	made, result, err := told(pid, calls)
	if err == nil && made < len(calls) {
		err = fmt.Errorf("%s: %w", calls[made].name, unix.Errno(-result))
	}
	return err
}

// ask has a child that is held make a call that gives something.
func ask(pid int, c call) (uint64, error) {
	_, result, err := told(pid, []call{c})
	if err == nil && result < 0 {
		err = fmt.Errorf("%s: %w", c.name, unix.Errno(-result))
	}
	return uint64(result), err
}

// told has a child that is held make calls, and says how many gave 0, and what the next
// one did. A few instructions, which make one after the other of a list below its stack,
// stand for a moment where its own begin.
func told(pid int, calls []call) (made int, result int64, err error) {
	at, err := where(pid)
	if err != nil {
		return 0, 0, err
	}
	list := (at.sp - room) &^ 15
	if err := write(pid, list, listed(calls, list)); err != nil {
		return 0, 0, err
	}
	own := make([]byte, len(caller))
	if _, err := unix.PtracePeekText(pid, uintptr(at.ip), own); err != nil {
		return 0, 0, err
	}
	if _, err := unix.PtracePokeText(pid, uintptr(at.ip), []byte(caller)); err != nil {
		return 0, 0, err
	}
	if made, result, err = run(pid, at.ip, list); err != nil {
		return 0, 0, err
	}
	_, err = unix.PtracePokeText(pid, uintptr(at.ip), own)
	return made, result, err
}

// state is the beginning of struct ptrace_syscall_info of ptrace(2).
type state struct {
	_      uint32
	arch   uint32
	ip, sp uint64
}

// where says where a child is held.
func where(pid int) (at state, err error) {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(pid), unsafe.Sizeof(at), uintptr(unsafe.Pointer(&at)), 0, 0)
	switch {
	case e != 0:
		return at, fmt.Errorf("look at process %d: %w", pid, e)
	case at.arch != auditArch:
		return at, errors.New("a program of another architecture can be confined by bubblewrap alone, and not with listed hosts")
	}
	return at, nil
}

// listed is a list of calls as it stands in memory: number and arguments of each, then
// one that fails, which is the end, and what they need.
func listed(calls []call, address uint64) []byte {
	end := call{number: unix.SYS_CLOSE, args: [3]uint64{^uint64(0) >> 1}}
	var list, memory []byte
	free := address + uint64(len(calls)+1)*entrySize
	for _, c := range append(calls[:len(calls):len(calls)], end) {
		list = binary.NativeEndian.AppendUint64(list, c.number)
		for _, arg := range c.args {
			if arg&here != 0 {
				arg += free + uint64(len(memory)) - here
			}
			list = binary.NativeEndian.AppendUint64(list, arg)
		}
		if c.memory != nil {
			memory = append(memory, c.memory(free+uint64(len(memory)))...)
		}
	}
	return append(list, memory...)
}

// entrySize is the size of an entry of the list.
const entrySize = 4 * 8

// run lets the child make the calls of a list, and puts its registers back.
func run(pid int, start, list uint64) (made int, result int64, err error) {
	var saved registers
	if err := saved.get(pid); err != nil {
		return 0, 0, err
	}
	regs := saved.calling(list)
	if err := regs.set(pid); err != nil {
		return 0, 0, err
	}
	for ended := false; !ended; ended = regs.at() == start+callerEnd { // any signal that comes is dropped: nobody knows the child yet
		if err := unix.PtraceCont(pid, 0); err != nil {
			return 0, 0, err
		}
		if err := stopped(pid); err != nil {
			return 0, 0, err
		}
		if err := regs.get(pid); err != nil {
			return 0, 0, err
		}
	}
	return int(regs.stack()-list)/entrySize - 1, regs.result(), saved.set(pid)
}

// repeat has a process that was stopped at the end of a system call make another one, and
// then be there as before. Nothing is written to its memory, which may be
// closed to us from that call on.
func repeat(pid int, number, first, second uint64) error {
	var saved registers
	if err := saved.get(pid); err != nil {
		return err
	}
	regs, end := saved.instead(number, first, second)
	if err := regs.set(pid); err != nil {
		return err
	}
	for regs.at() != end { // signals that come meanwhile are dropped: it minds none
		if err := unix.PtraceSingleStep(pid); err != nil {
			return err
		}
		if err := stopped(pid); err != nil {
			return err
		}
		if err := regs.get(pid); err != nil {
			return err
		}
	}
	if e := regs.result(); e != 0 {
		return fmt.Errorf("call %d in process %d: %w", number, pid, unix.Errno(-e))
	}
	return saved.set(pid)
}

// errEnded means that a process was killed meanwhile.
var errEnded = errors.New("it ended before it was confined")

// stopped waits until a child stops. One that ends instead is left to be reaped.
func stopped(pid int) error {
	for {
		switch err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED, nil); err {
		case unix.EINTR:
		case unix.ECHILD:
			return errEnded
		default:
			return err
		}
	}
}

// write writes to the child's memory, at once where the kernel can.
func write(pid int, address uint64, b []byte) error {
	from := []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}
	to := []unix.RemoteIovec{{Base: uintptr(address), Len: len(b)}}
	n, err := unix.ProcessVMWritev(pid, from, to, 0)
	if err != nil || n != len(b) {
		_, err = unix.PtracePokeData(pid, uintptr(address), b)
	}
	return err
}

// bytesOf is how a value stands in memory.
func bytesOf[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}
