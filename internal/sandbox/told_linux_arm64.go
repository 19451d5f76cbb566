package sandbox

import "golang.org/x/sys/unix"

// trap is the instruction that calls the kernel.
const trap = "\x01\x00\x00\xd4"

type registers unix.PtraceRegsArm64

// general are the registers that have no other name: NT_PRSTATUS of ptrace(2).
const general = 1

func (r *registers) get(pid int) error {
	return unix.PtraceGetRegSetArm64(pid, general, (*unix.PtraceRegsArm64)(r))
}

func (r *registers) set(pid int) error {
	return unix.PtraceSetRegSetArm64(pid, general, (*unix.PtraceRegsArm64)(r))
}

func (r *registers) at() uint64    { return r.Pc }
func (r *registers) result() int64 { return int64(r.Regs[0]) }

// calling are the registers before a system call.
func (r registers) calling(number uint64, args [5]uint64) registers {
	r.Regs[8] = number
	copy(r.Regs[:], args[:])
	return r
}
