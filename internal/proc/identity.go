package proc

import (
	"os"
	"sync"
)

// Identity tells one process from every other one that ever had its PID on
// this machine.
type Identity struct {
	PID int `json:"pid"`
	// Start is the process's start time in clock ticks since boot, field 22 of
	// /proc/PID/stat; see proc(5). 0 where there is no /proc.
	Start uint64 `json:"start"`
	// Session is the id of the session that the process leads.
	Session int `json:"session"`
	// Boot is the kernel's id of the boot that Start counts from.
	Boot string `json:"boot,omitempty"`
}

// Self is the identity of Rouse's own process. It never changes, and is read once.
func Self() Identity {
	self.once.Do(func() { self.is = identify(os.Getpid(), bootID()) })
	return self.is
}

var self struct {
	once sync.Once
	is   Identity
}

// Alive reports whether this very process still runs. Where there is no /proc
// it goes by the PID alone.
func (i Identity) Alive() bool { return i.Boot == Self().Boot && alive(i) }
