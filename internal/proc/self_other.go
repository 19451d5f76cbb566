//go:build !linux

package proc

// HideMemory reports false: a tool can read what its user can.
func HideMemory() bool { return false }

// DropStart does nothing: what the start needed stays mapped.
func DropStart() {}
