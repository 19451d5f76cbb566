// Package notebook gives the agent persistent Python environments that it
// drives cell by cell.
//
// A notebook has a name, an environment with packages of its own, a process
// that keeps variables between cells, and a folder in which a person can read
// every cell. A [Manager] owns the notebooks of a home, [Tool] is what the
// model calls. Where the Python runs is behind [Runtime]: package local runs it
// on this machine, and package notebooktest holds what every Runtime must do.
//
// Whatever a cell does, it ends: see [Limits].
package notebook

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"rouse/internal/lazy"
	"rouse/internal/proc"
	"rouse/internal/sandbox"
	"rouse/tools"
)

// Runtime is the environment and the process of one notebook. One cell runs at
// a time; Cancel may be called during any other method, the rest take turns.
type Runtime interface {
	// Start makes the environment, if there is none that works, and starts the
	// process. Execute and Install do so too where that was not done.
	Start(ctx context.Context) error
	// Execute runs a cell and tells emit, one event at a time, what comes out of
	// it. What goes wrong in the cell is in the Outcome; an error means that the
	// cell was not run. When ctx ends the cell is canceled as by Cancel.
	Execute(ctx context.Context, job Job, emit func(Event)) (Outcome, error)
	// Install installs packages, given as for pip, and records them so that
	// they are restored with the environment. What the installer says goes to
	// log. On an error nothing is recorded.
	Install(ctx context.Context, packages []string, log io.Writer) error
	// Cancel interrupts the cell or the installation that runs, and ends its
	// process if that does not help. It does not wait.
	Cancel()
	// Reset ends the process and forgets all variables; packages stay.
	Reset(ctx context.Context) error
	// Close saves the variables and ends the process; the environment stays.
	// Without time to save, as when ctx has ended, the process just ends.
	Close(ctx context.Context) error
	// Remove ends the process and deletes the environment.
	Remove(ctx context.Context) error
}

// Job is one cell to run.
type Job struct {
	// ID is unique among the cells of a notebook.
	ID string
	// Number is shown in tracebacks.
	Number int
	Code   string
	// Estimate is how long the code is expected to take; 0 is unknown.
	Estimate time.Duration
	// Started, unless nil, is told of a process that the call started.
	Started func(proc.Identity)
}

// Stream says where an event comes from.
type Stream string

// The streams of a cell: its two outputs, and what it or its environment
// reports meanwhile, a line an event.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
	Log    Stream = "log"
)

// Event is a piece of what comes out of a cell while it runs. Output may be cut
// anywhere and need not be text. Data is the receiver's only during the call.
type Event struct {
	Stream Stream
	Data   []byte
}

// End says how a cell ended.
type End string

// The ways to end. After all but the first two the process is gone, and with it
// the variables; Canceled may leave them in place, see Outcome.Lost.
const (
	OK       End = "ok"       // to its last line
	Failed   End = "error"    // by an exception
	TimedOut End = "timeout"  // ended at its total limit
	Idle     End = "idle"     // ended as nothing came from it for too long
	Flooded  End = "flooded"  // ended as it printed too much
	Died     End = "died"     // its process ended by itself
	Canceled End = "canceled" // ended by us, as asked
)

// Outcome is how a cell ended and what it left beside its output. Its JSON is what
// package wire says of it.
type Outcome struct {
	Ended End `json:"ended"`
	// Value is what the last expression came to, as a notebook shows it; empty
	// if there is none.
	Value string `json:"value,omitempty"`
	// HTML is the same as a table or the like, for people, where it shows itself so.
	HTML string `json:"html,omitempty"`
	// Error is the traceback, or what ended the cell; empty if Ended is OK.
	Error string `json:"error,omitempty"`
	// Media are the pictures that it drew.
	Media []tools.Media `json:"pictures,omitempty"`
	// Notes are what whoever runs this cell must know of its environment: state
	// that was lost, variables that were restored.
	Notes []string `json:"notes,omitempty"`
	// Lost says that the variables are gone now.
	Lost bool `json:"lost,omitempty"`
	// Duration is the time that the code ran.
	Duration time.Duration `json:"duration_ns"`
	// Refused is what the sandbox kept the cell from.
	Refused []sandbox.Refusal `json:"-"`
	// Reached are the hosts that the process has reached until now.
	Reached []string `json:"-"`
}

// Limits bound how long a cell runs. The zero value of a field is its default.
type Limits struct {
	// Default is the total where there is no estimate: 2 minutes.
	Default time.Duration
	// Idle is the time without output or progress: 30 seconds.
	Idle time.Duration
	// Max is the longest total: 1 hour.
	Max time.Duration
	// Floor is the shortest total: 10 seconds.
	Floor time.Duration
}

// WithDefaults is l with the defaults in the place of zeros.
func (l Limits) WithDefaults() Limits {
	return Limits{
		Default: cmp.Or(max(l.Default, 0), 2*time.Minute),
		Idle:    cmp.Or(max(l.Idle, 0), 30*time.Second),
		Max:     cmp.Or(max(l.Max, 0), time.Hour),
		Floor:   cmp.Or(max(l.Floor, 0), 10*time.Second),
	}
}

// Total is how long a cell of that estimate may take, from the start of its
// code: twice the estimate, or the default without one, within floor and max.
func (l Limits) Total(estimate time.Duration) time.Duration {
	l = l.WithDefaults()
	total := l.Default
	if estimate > 0 {
		total = 2 * min(estimate, l.Max)
	}
	return min(max(total, l.Floor), l.Max)
}

var namePattern = lazy.Regexp{Expr: `^[a-z0-9][a-z0-9_-]{0,63}$`}

// CheckName reports whether a notebook may have that name, which is that of its
// folder on any file system: letters that differ only in case are not two.
func CheckName(name string) error {
	if !namePattern.Get().MatchString(name) {
		return fmt.Errorf("notebook name %.80q: use 1 to 64 of a-z, 0-9, _ and -, a letter or digit first", name)
	}
	return nil
}
