package disktest

import (
	"cmp"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Main runs the tests of a package with their folders in memory, where the machine has
// room there and $TMPDIR names no other place: they sync thousands of small files, and what
// a power cut leaves is what a [Faulty] says, not this disk. It is for TestMain, which
// returns then, of packages that try no box of bubblewrap: these have a /dev/shm of their own.
func Main(m *testing.M) {
	const dir, noExec, room = "/dev/shm", 8, 1 << 30
	var fs unix.Statfs_t
	if err := cmp.Or(unix.Statfs(dir, &fs), unix.Access(dir, unix.W_OK)); err == nil && os.Getenv("TMPDIR") == "" &&
		fs.Flags&noExec == 0 && fs.Bavail*uint64(fs.Bsize) >= room {
		os.Setenv("TMPDIR", dir)
	}
	m.Run()
}
