// Package proc starts every child process of Rouse and leaves none behind.
package proc

// Identity tells one process from every other one that ever had its PID on
// this machine.
type Identity struct {
	PID int `json:"pid"`
	// Start is the process's start time in clock ticks since boot, field 22 of
	// /proc/PID/stat; see proc(5).
	Start uint64 `json:"start"`
	// Session is the id of the session that the process leads.
	Session int `json:"session"`
}
