package proc

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// realtime is RLIMIT_RTTIME of getrlimit(2): how many microseconds a process with
// a real-time priority may run without waiting.
const realtime = 15

// brand is a number that only this process and its descendants have as their soft
// limit [realtime]: over a hundred thousand years, so that it limits nothing. They
// inherit it through fork and exec, whatever they do to their environment, their
// session and their open files, and setting it takes no privilege. It is never 0.
func (i Identity) brand() uint64 {
	sum := sha256.Sum256(fmt.Append(nil, i.Boot, "/", i.PID, "/", i.Start))
	return 1<<62 | binary.NativeEndian.Uint64(sum[:])>>2
}

// brandSelf brands this process before it starts others. Where the limit is lower
// than that already, there is no brand.
func brandSelf() {
	self := Self()
	var l unix.Rlimit
	if self.Start == 0 || unix.Prlimit(0, realtime, nil, &l) != nil {
		return
	}
	l.Cur = self.brand()
	_ = unix.Prlimit(0, realtime, &l, nil)
}

// branded says whether a process has this brand.
func branded(pid int, brand uint64) bool {
	var l unix.Rlimit
	return unix.Prlimit(pid, realtime, nil, &l) == nil && l.Cur == brand
}
