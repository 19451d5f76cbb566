package local

import (
	"os"

	"golang.org/x/sys/unix"
)

// widen lets a pipe hold more, so that a process that prints much waits less.
func widen(f *os.File) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) { // a pipe that stays narrow works as well
		unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize)
	})
}
