package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A child that Landlock restricts does so itself, before its first instruction: it
// is held after its exec and told what to call. A thread of ours that restricted
// itself and then started the child would be as restricted as the child, and so
// within its reach: it could be signalled and, but for prctl(2), traced.

// told is a child that is held and told what to call. What it has in its registers
// and at its next instruction is put back in the end.
type told struct {
	pid   int
	saved registers
	next  uint64 // its next instruction
	code  []byte // and what is there
	below uint64 // where its stack is free
}

// call is a system call of the child. Memory that it needs is written first.
type call struct {
	name   string
	number uint64
	args   [5]uint64
	memory func(address uint64) []byte
}

// here, with an offset, is no argument but an address in a call's memory.
const here = 1 << 63

// stack is how far below a child's stack pointer memory is written: within what the
// kernel maps at its exec.
const stack = 16 << 10

// tell makes a child that is held do calls, one after the other. All have to succeed.
func tell(pid int, calls []call) error {
	t, err := newTold(pid)
	if err != nil {
		return err
	}
	for _, c := range calls {
		if err := t.do(c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	_, err = unix.PtracePokeText(pid, uintptr(t.next), t.code)
	return errors.Join(err, t.saved.set(pid))
}

func newTold(pid int) (*told, error) {
	var at state
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(pid), unsafe.Sizeof(at), uintptr(unsafe.Pointer(&at)), 0, 0); e != 0 {
		return nil, fmt.Errorf("look at process %d: %w", pid, e)
	}
	if at.arch != auditArch {
		return nil, errors.New("a program of another architecture cannot be confined without bubblewrap")
	}
	t := &told{pid: pid, next: at.ip, code: make([]byte, len(trap)), below: (at.sp - stack) &^ 15}
	if err := t.saved.get(pid); err != nil {
		return nil, err
	}
	if _, err := unix.PtracePeekText(pid, uintptr(t.next), t.code); err != nil {
		return nil, err
	}
	_, err := unix.PtracePokeText(pid, uintptr(t.next), []byte(trap))
	return t, err
}

// state is the beginning of struct ptrace_syscall_info of ptrace(2).
type state struct {
	_      uint32
	arch   uint32
	ip, sp uint64
}

// do makes the child do a call.
func (t *told) do(c call) error {
	if c.memory != nil {
		if err := t.write(c.memory(t.below)); err != nil {
			return err
		}
	}
	for i, arg := range c.args {
		if arg&here != 0 {
			c.args[i] = t.below + arg&^here
		}
	}
	regs := t.saved.calling(c.number, c.args)
	if err := regs.set(t.pid); err != nil {
		return err
	}
	if err := t.step(&regs); err != nil {
		return err
	}
	if e := -regs.result(); e > 0 && e < 4096 {
		return unix.Errno(e)
	}
	return nil
}

// step lets the child do one instruction. A signal that comes in between is dropped:
// nobody but us knows of the child yet.
func (t *told) step(regs *registers) error {
	for range 100 {
		if err := unix.PtraceSingleStep(t.pid); err != nil {
			return err
		}
		if err := stopped(t.pid); err != nil {
			return err
		}
		if err := regs.get(t.pid); err != nil || regs.at() != t.next {
			return err
		}
	}
	return errors.New("it makes no step")
}

// stopped waits until a child stops. One that ends instead is as good as not there.
func stopped(pid int) error {
	_, err := await(pid)
	if errors.Is(err, ErrBubblewrap) {
		return unix.ESRCH
	}
	return err
}

// write writes to the child's memory.
func (t *told) write(b []byte) error {
	from := []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}
	to := []unix.RemoteIovec{{Base: uintptr(t.below), Len: len(b)}}
	n, err := unix.ProcessVMWritev(t.pid, from, to, 0)
	if err == nil && n != len(b) {
		err = unix.EFAULT
	}
	return err
}

// bytesOf is how a value stands in memory.
func bytesOf[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}
