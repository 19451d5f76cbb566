package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Holder is the process that took the lock on a file or folder, as the kernel has it
// in /proc/locks: 0 where nobody has, or where that is not to be seen from here. It
// takes no lock itself, so it is in nobody's way.
func Holder(path string) (pid int) {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	locks, err := os.ReadFile("/proc/locks")
	if err != nil || !ok {
		return 0
	}
	inode := fmt.Sprintf(":%d", stat.Ino)
	device := fmt.Sprintf("%02x:%02x", unix.Major(uint64(stat.Dev)), unix.Minor(uint64(stat.Dev)))
	for line := range strings.Lines(string(locks)) {
		f := strings.Fields(line) // number, FLOCK, ADVISORY, WRITE, pid, device:inode, start, end
		if len(f) < 6 || f[1] != "FLOCK" || !strings.HasSuffix(f[5], inode) {
			continue
		}
		pid, err := strconv.Atoi(f[4])
		if err == nil && pid > 0 && (f[5] == device+inode || opens(pid, info)) {
			return pid
		}
	}
	return 0
}

// opens says whether a process has a file open. Some file systems give another
// device to stat(2) than to /proc/locks.
func opens(pid int, file os.FileInfo) bool {
	list, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, name := range list {
		if info, err := os.Stat(name); err == nil && os.SameFile(info, file) {
			return true
		}
	}
	return false
}
