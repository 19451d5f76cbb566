package proc

import (
	"bytes"
	"cmp"
	"os"
	"strconv"
	"strings"

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
	const start, end = 50 - 3, 51 - 3 // fields, counted behind the name, which may hold blanks
	stat, err := readOwnStat()
	if err != nil {
		return err
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= end {
		return unix.ENOTSUP
	}
	from, err := strconv.ParseInt(string(fields[start]), 10, 64)
	if err != nil {
		return err
	}
	to, err := strconv.ParseInt(string(fields[end]), 10, 64)
	if err != nil || from <= 0 || to < from || to-from > 16<<20 {
		return unix.ENOTSUP
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

// DropStart gives back the pages of the program's own code that only its start
// needed: each package is initialised, and the kernel maps 64 KiB around whatever
// is touched, which comes to most of the program. What is needed again is mapped
// again. Only code is given back: it is never written to.
func DropStart() {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return // it costs memory, no more
	}
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line) // addresses, permissions, offset, device, inode, path
		if len(fields) != 6 || fields[1] != "r-xp" || fields[5] == "[vdso]" {
			continue
		}
		low, high, _ := strings.Cut(fields[0], "-")
		from, err := strconv.ParseUint(low, 16, 64)
		if err != nil {
			return
		}
		to, err := strconv.ParseUint(high, 16, 64)
		if err != nil {
			return
		}
		unix.RawSyscall(unix.SYS_MADVISE, uintptr(from), uintptr(to-from), unix.MADV_DONTNEED)
	}
}
