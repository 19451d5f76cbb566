package notebook

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rouse/internal/sandbox"
	"rouse/internal/text"
	"rouse/tools"
)

const (
	// keepHead and keepTail are how much of an output a cell keeps on disk.
	keepHead = 768 << 10
	keepTail = 256 << 10
	keepLogs = 1000 // lines
)

// Cell is a cell that ran, as its notebook keeps it.
type Cell struct {
	ID          string    `json:"id"`
	Number      int       `json:"number"` // counts from 1 in its notebook
	Time        time.Time `json:"time"`   // when it was started
	Description string    `json:"description,omitempty"`
	Code        string    `json:"code"`
	// Stdout and Stderr are what it printed; of more than a MiB, the beginning
	// and the end, with a line between that says how much is left out.
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	// Value is what the last expression came to.
	Value string `json:"value,omitempty"`
	// HTML is the same as a table or the like, for people; it is never trusted.
	HTML string `json:"html,omitempty"`
	// Error is the traceback, or what ended it.
	Error string `json:"error,omitempty"`
	Ended End    `json:"ended"`
	// Logs are the lines of progress that it reported; Notes is what was said
	// of its environment.
	Logs     []string      `json:"logs,omitempty"`
	Notes    []string      `json:"notes,omitempty"`
	Pictures []tools.Media `json:"pictures,omitempty"`
	// Estimate is in seconds, as whoever ran it said; Duration is in milliseconds.
	Estimate float64 `json:"estimated_execution_time_seconds,omitempty"`
	Duration int64   `json:"duration_ms"`
	// StdoutBytes and StderrBytes are how much it printed.
	StdoutBytes int64 `json:"stdout_bytes"`
	StderrBytes int64 `json:"stderr_bytes"`
	// Refused is what the sandbox kept it from.
	Refused []sandbox.Refusal `json:"-"`
	// Reached are the hosts that its process has reached until now.
	Reached []string `json:"-"`
}

// Failure is the error in one line, its last one; empty if there is none. Of a
// cell that was ended it is the first one, which says why.
func (c Cell) Failure() string {
	lines := strings.Split(strings.TrimSpace(c.Error), "\n")
	if c.Ended == Failed {
		return lines[len(lines)-1]
	}
	return lines[0]
}

// unread reports whether the cell failed as it is no Python.
func (c Cell) unread() bool {
	kind, _, _ := strings.Cut(c.Failure(), ":")
	return c.Ended == Failed && (kind == "SyntaxError" || kind == "IndentationError" || kind == "TabError")
}

// kept is what is kept of an output, as text.
func kept(e *text.Ends) string {
	utf := func(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
	head, tail, left := e.Kept()
	if left == 0 {
		return utf(slices.Concat(head, tail))
	}
	return utf(head) + fmt.Sprintf("\n[%d bytes left out]\n", left) + utf(tail)
}
