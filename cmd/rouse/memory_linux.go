package main

import "golang.org/x/sys/unix"

// hideMemory keeps tools of the same user from reading the keys in this process's
// memory and environment: /proc/PID/environ and /proc/PID/mem become root's, and
// ptrace is refused (PR_SET_DUMPABLE of prctl(2)). Programs that it starts are
// not affected. It reports whether that holds: root may read everything.
func hideMemory() bool {
	err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	return err == nil && unix.Geteuid() != 0
}
