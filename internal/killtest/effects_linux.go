//go:build linux && (amd64 || arm64)

package killtest

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// effects are the calls that change something outside the program, among those
// that Go programs make. Of some, only certain uses count: see effect.
var effects = map[uint64]string{
	unix.SYS_OPENAT: "openat", unix.SYS_OPENAT2: "openat2",
	unix.SYS_WRITE: "write", unix.SYS_WRITEV: "writev", unix.SYS_PWRITE64: "pwrite64",
	unix.SYS_COPY_FILE_RANGE: "copy_file_range", unix.SYS_SENDFILE: "sendfile", unix.SYS_SPLICE: "splice",
	unix.SYS_FSYNC: "fsync", unix.SYS_FDATASYNC: "fdatasync", unix.SYS_SYNC: "sync",
	unix.SYS_TRUNCATE: "truncate", unix.SYS_FTRUNCATE: "ftruncate", unix.SYS_FALLOCATE: "fallocate",
	unix.SYS_RENAMEAT: "renameat", unix.SYS_RENAMEAT2: "renameat2", unix.SYS_LINKAT: "linkat",
	unix.SYS_SYMLINKAT: "symlinkat", unix.SYS_UNLINKAT: "unlinkat", unix.SYS_MKDIRAT: "mkdirat",
	unix.SYS_FCHMOD: "fchmod", unix.SYS_FCHMODAT: "fchmodat", unix.SYS_UTIMENSAT: "utimensat",
	unix.SYS_FLOCK: "flock", unix.SYS_KILL: "kill", unix.SYS_PIDFD_SEND_SIGNAL: "pidfd_send_signal",
	unix.SYS_CLONE: "clone", unix.SYS_CLONE3: "clone3", unix.SYS_EXECVE: "execve", unix.SYS_EXIT_GROUP: "exit_group",
}

// syscallInfo is struct ptrace_syscall_info of <linux/ptrace.h>, at an entry.
type syscallInfo struct {
	op     uint8
	_      [3]uint8
	arch   uint32
	ip, sp uint64
	nr     uint64
	args   [6]uint64
}

func callInfo(tid int) (info syscallInfo) {
	ptrace(unix.PTRACE_GET_SYSCALL_INFO, tid, unsafe.Sizeof(info), unsafe.Pointer(&info))
	return info // zero for a thread that was just killed
}

// effect names the system call that thread tid of pid enters, "" if it does not count.
func effect(pid, tid int, info syscallInfo) string {
	switch info.nr {
	case unix.SYS_OPENAT:
		if info.args[2]&(unix.O_WRONLY|unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC) == 0 {
			return ""
		}
	case unix.SYS_CLONE:
		if info.args[0]&unix.CLONE_THREAD != 0 {
			return ""
		}
	case unix.SYS_CLONE3: // what C's library makes threads with; its flags are in memory
		var flags [8]byte
		syscall.PtracePeekData(tid, uintptr(info.args[0]), flags[:])
		if binary.NativeEndian.Uint64(flags[:])&unix.CLONE_THREAD != 0 {
			return ""
		}
	case unix.SYS_WRITE:
		if !isOutside(pid, info.args[0]) {
			return ""
		}
	}
	return effects[info.nr]
}

// isOutside reports whether a descriptor leads out of the program: to a file, a
// pipe or a socket, not to the runtime's own event counter.
func isOutside(pid int, fd uint64) bool {
	target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
	return err == nil && !strings.HasPrefix(target, "anon_inode:")
}
