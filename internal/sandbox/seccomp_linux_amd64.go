package sandbox

import "golang.org/x/sys/unix"

// What the filter has to know of the architecture. System calls from x32 on are
// those of another one, with the same name.
const (
	auditArch = unix.AUDIT_ARCH_X86_64
	x32       = 0x40000000
	sysOpen   = unix.SYS_OPEN
)
