package sandbox

import "golang.org/x/sys/unix"

// caller takes number and arguments of a system call from the stack, makes it, and
// again, until one does not give 0.
const caller = "\xe8\x03\xc1\xa8" + // ldp x8, x0, [sp], #16
	"\xe1\x0b\xc1\xa8" + // ldp x1, x2, [sp], #16
	"\x01\x00\x00\xd4" + // svc #0
	"\xa0\xff\xff\xb4" + // cbz x0 to the first
	"\x00\x00\x20\xd4" // brk #0

// callerEnd is how far it has come when it stops.
const callerEnd = uint64(len(caller)) - 4

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
func (r *registers) stack() uint64 { return r.Sp }
func (r *registers) result() int64 { return int64(r.Regs[0]) }

// calling are the registers with which caller begins. Further arguments are 0.
func (r registers) calling(list uint64) registers {
	r.Sp = list
	r.Regs[3], r.Regs[4], r.Regs[5] = 0, 0, 0
	return r
}

// instead are the registers with which the instruction that has called the kernel does
// so again for something else, and where that ends.
func (r registers) instead(number, first, second uint64) (registers, uint64) {
	end := r.Pc
	r.Pc, r.Regs[8], r.Regs[0], r.Regs[1] = end-4, number, first, second
	return r, end
}
