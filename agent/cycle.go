package agent

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"rouse/agent/model"
	"rouse/agent/trust"
	"rouse/dispatcher"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/observation"
	"rouse/tools"
)

// cycle is one cycle while it is awake, or while it is being settled.
type cycle struct {
	id     string
	unlock func()
	began  time.Time

	// base is the memory as it was read at wake, and baseHash its SHA-256, ""
	// where there was no file; state is what the cycle makes of it.
	base     *scratchpad.State
	baseHash string
	state    *scratchpad.State

	journal    *journal.Writer
	dispatcher *dispatcher.Dispatcher
	talk       talk
	rules      string
	unruled    error // why there are no rules
	described  int   // tools of which there is a copy
	offered    []tools.Tool
	hidden     map[string]any  // what the last request shows in place of values of the memory
	told       map[string]any  // the same, as the journal has it
	turned     journal.Request // the last one

	iterations, used atomic.Int64 // used are tokens
	problems         int
	asked            int              // tokens of the last request, estimated
	choose           bool             // a task is to be chosen from the goals
	models           map[string]known // nil until it is asked for

	parked  map[[sha256.Size]byte]string // what is shown for parts of the memory
	remarks []string                     // what the model should know
	saw     sights                       // at wake, where somebody wants to know

	turn  func() (*observation.Turn, error) // opens the store of observations
	store *observation.Store                // once it is open
	kept  string                            // what earlier cycles kept there

	known trust.Known    // what was relied on before
	trust *journal.Trust // what this cycle relies on
	left  left           // the files of the home as they should be

	reopened bool // it was interrupted and is being settled
	seal     seal
	calls    journal.Counts
	unproven int  // lines of its journal, when it is settled
	ended    bool // its end is in the journal, or at least in _after
}

// begin decides what the cycle is about: the task it was given, the current
// one, the next pending one, or one that serves the goals.
func (c *cycle) begin(task string) error {
	var changes []scratchpad.Change
	switch {
	case task != "":
		changes = put(c.state, task)
	case scratchpad.TaskText(c.state.CurrentTask()) != "":
		return nil
	case len(c.state.Pending()) > 0:
		changes = dispatcher.Promote(c.state)
	case len(c.state.Goals()) > 0:
		c.choose = true
		return nil
	default:
		return ErrIdle
	}
	return c.dispatcher.Change(changes...)
}

// put makes task the current one; one that was current waits behind it.
func put(s *scratchpad.State, task string) []scratchpad.Change {
	changes := []scratchpad.Change{{Op: "set", Key: "current_task", Value: task}}
	current := s.CurrentTask()
	if current == nil || current == any(task) {
		return changes
	}
	pending := append([]any{current}, s.Pending()...)
	return append(changes, scratchpad.Change{Op: "set", Key: "pending_actions", Value: pending})
}

// problem records a reply that held no action; the third in a row ends the cycle.
func (c *cycle) problem(err error) error {
	c.problems++
	if err := c.dispatcher.Note("\n[PARSE ERROR] " + text.Line(err.Error(), maxNote)); err != nil {
		return err
	}
	if c.problems >= maxProblems {
		return fmt.Errorf("%d replies in a row without a valid action: %w", c.problems, err)
	}
	return nil
}

// leave says which actions of a reply were not carried out because done came
// before them.
func (c *cycle) leave(actions []dispatcher.Action) error {
	if len(actions) == 0 {
		return nil
	}
	var names []string
	for _, a := range actions {
		names = append(names, a.Tool)
	}
	return c.dispatcher.Note("\n[PARSE ERROR] not carried out, since they came after done: " + text.Line(strings.Join(names, ", "), maxNote))
}

// journalled are native calls as the journal has them: without secrets, also
// those that escapes hide.
func (a *Agent) journalled(calls []model.Call) json.RawMessage {
	if len(calls) == 0 {
		return nil
	}
	text, err := json.Marshal(a.Redact.Any(calls))
	if err != nil {
		return nil
	}
	return text
}

// verbatim are the arguments of calls as the model wrote them, nil where the
// journal's JSON keeps them as they are or where they hold a secret behind escapes.
func verbatim(calls []model.Call, journalled json.RawMessage) (all []string) {
	var back []model.Call
	if len(calls) == 0 || json.Unmarshal(journalled, &back) != nil || len(back) != len(calls) {
		return nil
	}
	same := true
	for i, call := range calls {
		same = same && string(dispatcher.Plain(back[i].Args)) == string(call.Args)
		all = append(all, string(call.Args))
	}
	if same {
		return nil
	}
	if text, err := json.Marshal(calls); err != nil || !equalJSON(text, journalled) {
		return nil
	}
	return all
}

// equalJSON says whether two texts have the same values.
func equalJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// iteration counts from 1 once the model is asked.
func (c *cycle) iteration() int { return int(c.iterations.Load()) }

// tokens are what the cycle has used.
func (c *cycle) tokens() int { return int(c.used.Load()) }

// verdict is what became of the cycle's task: until tasks have checks, the model
// at most claims that one is done.
func (c *cycle) verdict(outcome string) string {
	if outcome == journal.Done && len(c.state.Completed()) > len(c.base.Completed()) {
		return journal.TaskClaimed
	}
	return journal.TaskNone
}

// counting is a journal that counts the calls that did not go well.
type counting struct {
	dispatcher.Journal
	calls *journal.Counts
}

// Append writes an event.
func (j counting) Append(p journal.Payload) error {
	if r, ok := p.(*journal.Result); ok {
		j.calls.Add(r)
	}
	return j.Journal.Append(p)
}
