package sandbox

import "golang.org/x/sys/unix"

// What the filter has to know of the architecture.
const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	x32       = 0
	sysOpen   = 0
)
