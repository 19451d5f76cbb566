package proc

import (
	"bytes"
	"cmp"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// HideMemory keeps children of every verb, and theirs, from reading the keys in
// this process's environment and memory. The strings that the kernel shows as
// /proc/PID/environ, and ps as part of the command line, are wiped: Go has copies
// of its own. Then the rest becomes root's, and ptrace is refused (PR_SET_DUMPABLE
// of prctl(2)). Programs that it starts are not affected. It reports whether all of
// that holds: root may read the memory.
func HideMemory() bool {
	wiped := wipeEnvironment() == nil
	err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	return wiped && err == nil && unix.Geteuid() != 0
}

// wipeEnvironment writes zeroes over the environment that the process was started
// with, from env_start to env_end of proc_pid_stat(5). It uses no os.File: the first
// one of these takes descriptors for the runtime, which ends where there are none.
func wipeEnvironment() error {
	from, to, err := ownSpan(50)
	if err != nil || to-from > 16<<20 {
		return cmp.Or[error](err, unix.ENOTSUP)
	}
	mem, err := unix.Open("/proc/self/mem", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(mem)
	for from < to {
		n, err := unix.Pwrite(mem, make([]byte, to-from), from)
		if err != nil || n == 0 {
			return cmp.Or[error](err, unix.EIO)
		}
		from += int64(n)
	}
	return nil
}

// readOwnStat gives what proc_pid_stat(5) says of this process, which is one short line.
func readOwnStat() ([]byte, error) {
	f, err := unix.Open("/proc/self/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(f)
	line := make([]byte, 4<<10)
	n, err := unix.Read(f, line)
	return line[:max(n, 0)], err
}

// ownSpan is the part of this process's memory that a field of proc_pid_stat(5) and
// the next one say.
func ownSpan(field int) (from, to int64, err error) {
	stat, err := readOwnStat()
	if err != nil {
		return 0, 0, err
	}
	const first = 3 // field behind the name, which may hold blanks
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= field+1-first {
		return 0, 0, unix.ENOTSUP
	}
	from, err = strconv.ParseInt(string(fields[field-first]), 10, 64)
	if err == nil {
		to, err = strconv.ParseInt(string(fields[field+1-first]), 10, 64)
	}
	if err != nil || from <= 0 || to < from {
		return 0, 0, unix.ENOTSUP
	}
	return from, to, nil
}

// DropStart gives back the pages of the program's own file that were needed until now.
// A start needs most of them only once: each package is initialised, all types of
// interfaces are looked at, and the kernel maps 64 KiB around whatever is touched, which
// comes to most of the program. What is needed again is mapped again, so the first fifth
// of the code stays: the linker puts what most code imports before what imports it. Only
// code and constants are given back, which stand one behind the other and are never
// written to.
func DropStart() {
	from, code, err := ownSpan(26) // start_code and end_code
	if err != nil {
		return // it costs memory, no more
	}
	to, _, err := ownSpan(45) // start_data and end_data
	page := int64(os.Getpagesize())
	from = (from + (code-from)/5) &^ (page - 1)
	if to &^= page - 1; err == nil && code <= to {
		unix.RawSyscall(unix.SYS_MADVISE, uintptr(from), uintptr(to-from), unix.MADV_DONTNEED)
	}
}
