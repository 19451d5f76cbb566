package proc

import "os"

// Deepen makes the stack as deep as a cycle needs it, while there is little on it: to
// move it later reads half a MiB of tables about the functions that are under way.
//
//go:noinline
func Deepen() byte {
	var room [16 << 10]byte
	return room[len(os.Args)&1]
}
