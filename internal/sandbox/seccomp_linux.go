package sandbox

import (
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data; see seccomp(2).
const (
	offNumber, offArch, offArgs = 0, 4, 16
	low, high                   = 0, 4 // of an argument, on machines that store the low half first
)

// filter is the seccomp filter of a box. Everything is allowed but what Landlock does
// not see. Answers are errors that programs know how to live with.
func (b *Box) filter() []unix.SockFilter {
	f := []unix.SockFilter{load(offArch), jump(unix.BPF_JEQ, auditArch, 1, 0), ret(unix.SECCOMP_RET_KILL_PROCESS), load(offNumber)}
	if x32 != 0 {
		f = append(f, jump(unix.BPF_JGE, x32, 0, 1), deny(unix.ENOSYS))
	}
	refuse := func(number int, body ...unix.SockFilter) {
		f = append(f, jump(unix.BPF_JEQ, uint32(number), 0, uint8(len(body))))
		f = append(f, body...)
	}
	refuse(unix.SYS_IO_URING_SETUP, deny(unix.ENOSYS)) // it does without system calls what is refused below
	for _, number := range []int{
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, // keys of the user
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_OPEN_BY_HANDLE_AT,
	} {
		refuse(number, deny(unix.EPERM))
	}
	refuse(unix.SYS_PRLIMIT64, ofOthers()...)
	if b.system.Landlock < 3 {
		refuse(unix.SYS_TRUNCATE, deny(unix.EACCES))
		refuse(unix.SYS_OPENAT2, deny(unix.ENOSYS)) // its flags are in memory
		refuse(unix.SYS_OPENAT, truncating(2)...)
		if sysOpen != 0 {
			refuse(sysOpen, truncating(1)...)
		}
	}
	if socket := b.socket(); socket != nil {
		refuse(unix.SYS_SOCKET, socket...)
	}
	if pair := b.socketpair(); pair != nil {
		refuse(unix.SYS_SOCKETPAIR, pair...)
	}
	return append(f, allow())
}

// ofOthers refuses to set the limits of another process: one of CPU time ends it.
func ofOthers() []unix.SockFilter {
	return []unix.SockFilter{
		arg(0, low), jump(unix.BPF_JEQ, 0, 4, 0),
		arg(2, low), jump(unix.BPF_JEQ, 0, 0, 3),
		arg(2, high), jump(unix.BPF_JEQ, 0, 0, 1),
		allow(), deny(unix.EPERM),
	}
}

// truncating refuses to open a file for reading and empty it: below ABI 3 Landlock
// only asks whether it can be read. The flags are argument n.
func truncating(n uint32) []unix.SockFilter {
	return []unix.SockFilter{
		arg(n, low), jump(unix.BPF_JSET, unix.O_TRUNC, 0, 3),
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: unix.O_ACCMODE},
		jump(unix.BPF_JEQ, unix.O_WRONLY, 1, 0), jump(unix.BPF_JEQ, unix.O_RDWR, 0, 1),
		allow(), deny(unix.EACCES),
	}
}

// socket refuses families. A list of hosts cannot be kept here, so it is none.
func (b *Box) socket() []unix.SockFilter {
	online, local := b.policy.Network == Open, b.policy.UnixSockets
	switch {
	case online && local:
		return nil
	case online:
		return []unix.SockFilter{arg(0, low), jump(unix.BPF_JEQ, unix.AF_UNIX, 0, 1), deny(unix.EACCES), allow()}
	case local:
		return []unix.SockFilter{arg(0, low), jump(unix.BPF_JEQ, unix.AF_UNIX, 1, 0), deny(unix.EACCES), allow()}
	}
	return []unix.SockFilter{deny(unix.EACCES)}
}

// socketpair refuses families as well, and pairs of datagrams where unix sockets
// are refused: they can be connected to another one.
func (b *Box) socketpair() []unix.SockFilter {
	var f []unix.SockFilter
	if b.policy.Network != Open {
		f = append(f, arg(0, low), jump(unix.BPF_JEQ, unix.AF_UNIX, 1, 0), deny(unix.EACCES))
	}
	if !b.policy.UnixSockets {
		f = append(f, arg(1, low), unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf},
			jump(unix.BPF_JEQ, unix.SOCK_STREAM, 2, 0), jump(unix.BPF_JEQ, unix.SOCK_SEQPACKET, 1, 0), deny(unix.EACCES))
	}
	if f == nil {
		return nil
	}
	return append(f, allow())
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func arg(n, half uint32) unix.SockFilter { return load(offArgs + 8*n + half) }

// jump skips yes instructions if the comparison with k holds, and no if not.
func jump(how uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | how | unix.BPF_K, Jt: yes, Jf: no, K: k}
}

func ret(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}
}

func allow() unix.SockFilter { return ret(unix.SECCOMP_RET_ALLOW) }

func deny(e unix.Errno) unix.SockFilter { return ret(unix.SECCOMP_RET_ERRNO | uint32(e)) }

// filtering sets a filter. Its process is not slowed down for fear of what it could
// guess of itself.
func filtering(f []unix.SockFilter) call {
	memory := func(address uint64) []byte {
		head := [2]uint64{uint64(len(f)), address + 16} // struct sock_fprog
		return slices.Concat(bytesOf(&head), unsafe.Slice((*byte)(unsafe.Pointer(&f[0])), 8*len(f)))
	}
	return call{"set a filter of seccomp", unix.SYS_SECCOMP, [3]uint64{unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, here}, memory}
}

// fewerCapabilities leaves root's child those that are needed to handle files and
// users: not those that reach the kernel, devices, disks or raise limits. nil where
// there are none.
func fewerCapabilities() *call {
	kept := uint32(1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_KILL |
		1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE | 1<<unix.CAP_NET_RAW | 1<<unix.CAP_SYS_CHROOT)
	if os.Geteuid() != 0 {
		kept = 0
	}
	var m struct {
		header unix.CapUserHeader
		sets   [2]unix.CapUserData
	}
	m.header.Version = unix.LINUX_CAPABILITY_VERSION_3
	if err := unix.Capget(&m.header, &m.sets[0]); err == nil && m.sets[0].Permitted|m.sets[1].Permitted == 0 {
		return nil
	}
	for i, mask := range []uint32{kept, 0} {
		m.sets[i].Permitted &= mask
		m.sets[i].Effective &= mask
		m.sets[i].Inheritable &= mask
	}
	const offset = uint64(unsafe.Offsetof(m.sets))
	return &call{"drop capabilities", unix.SYS_CAPSET, [3]uint64{here, here + offset}, func(uint64) []byte { return bytesOf(&m) }}
}
