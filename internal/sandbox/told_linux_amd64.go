package sandbox

import "golang.org/x/sys/unix"

// caller takes number and arguments of a system call from the stack, makes it, and
// again, until one does not give 0.
const caller = "\x58" + // pop rax
	"\x5f" + // pop rdi
	"\x5e" + // pop rsi
	"\x5a" + // pop rdx
	"\x0f\x05" + // syscall
	"\x48\x85\xc0" + // test rax, rax
	"\x74\xf5" + // jz to the first
	"\xcc" // int3

// callerEnd is how far it has come when it stops.
const callerEnd = uint64(len(caller))

type registers unix.PtraceRegs

func (r *registers) get(pid int) error { return unix.PtraceGetRegs(pid, (*unix.PtraceRegs)(r)) }
func (r *registers) set(pid int) error { return unix.PtraceSetRegs(pid, (*unix.PtraceRegs)(r)) }
func (r *registers) at() uint64        { return r.Rip }
func (r *registers) stack() uint64     { return r.Rsp }
func (r *registers) result() int64     { return int64(r.Rax) }

// calling are the registers with which caller begins. Further arguments are 0.
func (r registers) calling(list uint64) registers {
	r.Rsp, r.R10, r.R8, r.R9, r.Orig_rax = list, 0, 0, 0, ^uint64(0)
	return r
}

// instead are the registers with which the instruction that has called the kernel does
// so again for something else, and where that ends.
func (r registers) instead(number, first, second uint64) (registers, uint64) {
	end := r.Rip
	r.Rip, r.Rax, r.Orig_rax, r.Rdi, r.Rsi = end-2, number, ^uint64(0), first, second
	return r, end
}
