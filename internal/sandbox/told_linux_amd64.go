package sandbox

import "golang.org/x/sys/unix"

// trap is the instruction that calls the kernel.
const trap = "\x0f\x05"

type registers unix.PtraceRegs

func (r *registers) get(pid int) error { return unix.PtraceGetRegs(pid, (*unix.PtraceRegs)(r)) }
func (r *registers) set(pid int) error { return unix.PtraceSetRegs(pid, (*unix.PtraceRegs)(r)) }
func (r *registers) at() uint64        { return r.Rip }
func (r *registers) result() int64     { return int64(r.Rax) }

// calling are the registers before a system call.
func (r registers) calling(number uint64, args [5]uint64) registers {
	r.Rax, r.Orig_rax = number, ^uint64(0)
	r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8 = args[0], args[1], args[2], args[3], args[4]
	return r
}
