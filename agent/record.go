package agent

import (
	"sync/atomic"
	"time"

	"rouse/agent/trust"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/origin"
)

// record is what is known and written of a cycle: all that it takes to put it to
// sleep, whether it just ran or was interrupted.
type record struct {
	id string

	// base is the memory as it was read at wake, and baseHash its SHA-256, ""
	// where there was no file; state is what the cycle makes of it.
	base     *scratchpad.State
	baseHash string
	state    *scratchpad.State

	journal *journal.Writer
	trust   *journal.Trust // what this cycle relies on
	left    *left          // the files of the home as they should be
	calls   journal.Counts
	effects bool             // a call began that may have changed the workspace
	cells   bool             // a notebook was used
	origins origin.Set       // of the texts that it had
	unkept  bool             // the workspace could not be kept as it found or left it
	found   func()           // keeps the workspace as it was before that, or nil
	version string           // the last one in its journal
	rewind  *journal.Rewound // what it puts back, where it is no cycle
	tidied  *journal.Tidied  // what leaves the memory when it is saved, or nil
	took    []string         // of the inbox, which go when the memory is saved

	iterations, used atomic.Int64 // used are tokens
	heard            heard
	proof            proof

	open     bool  // a call was under way when it was interrupted
	unproven int   // lines of its journal, when it is settled
	reopened bool  // it was interrupted and is being settled
	ended    bool  // its end is in the journal, or at least in _after
	lost     error // that the home was, as it went to sleep
}

// woken is a cycle that is awake and has not begun to run.
type woken struct {
	record
	unlock  func()
	began   time.Time
	known   trust.Known // what was relied on before
	rules   string
	unruled error // why there are no rules
	shelf   *shelf
}

// heard is what a cycle knows of its model.
type heard struct{ nothing, reply, intent atomic.Bool }

// silent says that the model was asked in vain, and that nothing was begun.
func (h *heard) silent() bool { return h.nothing.Load() && !h.reply.Load() && !h.intent.Load() }

// iteration counts from 1 once the model is asked.
func (c *record) iteration() int { return int(c.iterations.Load()) }

// tokens are what the cycle has used.
func (c *record) tokens() int { return int(c.used.Load()) }

// verdict is what became of the cycle's task: what its checks came to, or else at most
// what the model claims.
func (c *record) verdict(end journal.End) string {
	if end.Task != "" {
		return end.Task
	}
	completed := len(c.state.Completed())
	if c.tidied != nil {
		completed += len(c.tidied.Tasks)
	}
	if c.rewind == nil && end.Outcome == journal.Done && completed > len(c.base.Completed()) {
		return journal.TaskClaimed
	}
	return journal.TaskNone
}
