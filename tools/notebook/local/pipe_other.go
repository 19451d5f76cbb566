//go:build !linux

package local

import "os"

// widen would let a pipe hold more; this system sizes its pipes itself.
func widen(*os.File) {}
