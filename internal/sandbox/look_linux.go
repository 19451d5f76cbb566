package sandbox

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Look finds out what this machine has, all but bubblewrap, which takes a probe.
func Look() System {
	return System{Landlock: landlockABI(), Seccomp: seccompWorks(), Tracing: tracingWorks(), Counts: counts(), Cgroup: granted()}
}

// landlockABI is that of the kernel, 0 if it has none.
func landlockABI() int {
	n, _, e := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 {
		return 0
	}
	return int(n)
}

// seccompWorks says whether filters can be set, on an architecture that ours know.
func seccompWorks() bool {
	_, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	return err == nil && auditArch != 0
}

// tracingWorks says whether a child can be held by ptrace(2): container engines of old
// refuse it, so do Yama and another tracer. There is no process 0 to detach from.
func tracingWorks() bool {
	if unix.PtraceDetach(0) != unix.ESRCH {
		return false
	}
	yama, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if scope := string(bytes.TrimSpace(yama)); err == nil && (scope == "3" || scope == "2" && os.Geteuid() != 0) {
		return false
	}
	status, err := os.ReadFile("/proc/thread-self/status")
	return err == nil && bytes.Contains(status, []byte("\nTracerPid:\t0\n"))
}

// counts says whether the kernel counts the processes of each user namespace by
// themselves, as Linux does since 5.14. Those of root are not counted.
func counts() bool {
	var name unix.Utsname
	var major, minor int
	if unix.Uname(&name) != nil {
		return false
	}
	_, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return err == nil && (major > 5 || major == 5 && minor >= 14) && os.Geteuid() != 0
}
