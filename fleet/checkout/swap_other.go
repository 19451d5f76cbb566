//go:build !linux

package checkout

import "golang.org/x/sys/unix"

// swap puts one folder in the place of the other, at once.
func swap(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }
