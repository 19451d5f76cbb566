package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"rouse/agent/check"
	"rouse/agent/conversation"
	"rouse/agent/model"
	"rouse/dispatcher"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/observation"
)

// cycle is a cycle that runs: what woke, and the conversation about it.
type cycle struct {
	*Agent
	*woken
	*dialogue

	journal   dispatcher.Journal
	described int             // tools of which there is a copy
	turned    journal.Request // the last one
	problems  int             // replies in a row without an action
	native    bool            // the model has called a tool natively
	free      bool            // a task is to be chosen from the goals
	saw       sights          // at wake, where somebody wants to know
	extra     []check.Check   // that no task carries
	others    []Target        // models that were not asked yet
	fallback  *journal.Model  // the one that is asked in place of the first
	remarked  string          // of the inbox
	asks      int             // of people
}

// newCycle makes a cycle whose tools are not open yet, writing to a journal.
func (a *Agent) newCycle(w *woken, j dispatcher.Journal, kept string) *cycle {
	asking := a.Asking // a cycle may ask another model
	c := &cycle{Agent: a, woken: w, journal: j, dialogue: &dialogue{keeper: &a.Keeper, asking: &asking, state: w.state, rules: w.rules, kept: kept, archive: a.archive()}}
	if a.Waking.IdleSkip {
		c.saw = look(a.Home, a.Waking.Watch)
	}
	c.dispatcher = &dispatcher.Dispatcher{
		Tools: a.Tools, State: w.state, Journal: counting{j, &w.record}, Locked: a.Locked, Now: a.Now, Kept: kept != "", Notes: a.Notes,
		Proof: c.proves(), Consent: c.consent(),
		Wishes: dispatcher.Wishes{WakeMin: a.Waking.Min, WakeMax: a.Waking.Max},
		Shelf: dispatcher.Shelf{
			Redact: a.Redact, Turn: w.shelf.opener(), Threshold: a.Threshold, MaxAnswer: c.maxAnswer(), Summarise: c.summariser(),
			Shared: observation.Shared{Dir: w.shelf.memory(), Now: a.Now},
		},
	}
	if a.Sources != nil {
		a.Sources.Begin()
		c.dispatcher.Watch = a.Sources.Watch
	}
	c.dispatcher.Marks = false // until there is a task
	c.guide = c.Notes.Guide()
	c.lineUp()
	c.speak(c.protocol())
	return c
}

// ran is what came of a run.
type ran struct {
	err        error // nil is done
	emptyNotes int
	nextWake   *time.Duration // the model's wish
	idle       bool           // the model found nothing to do
	saw        sights
	fallback   *journal.Model
}

func (c *cycle) ran(err error) ran {
	d := c.dispatcher
	return ran{err: err, fallback: c.fallback, emptyNotes: d.EmptyNotes(), nextWake: d.NextWake, idle: d.Idle, saw: c.saw}
}

// choose decides what the cycle is about: the task it was given, the current
// one, the next pending one, or one that serves the goals.
func (c *cycle) choose(task string) error {
	if changes := leaveDemo(c.state, c.Demo, task); len(changes) > 0 {
		if err := c.dispatcher.Change(changes...); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(c.state.Pending(), func(t any) bool { return !dispatcher.Ready(t) && same(task)(t) }) {
		task = "" // it waits
	}
	if task != "" && c.Waking.Attempt > 0 && c.busy() {
		if err := c.queue(task); err != nil {
			return err
		}
		task = ""
	}
	var changes []scratchpad.Change
	switch {
	case task != "":
		changes = put(c.state, withChecks(task, c.given()))
	case scratchpad.TaskText(c.state.CurrentTask()) != "":
		return nil
	case slices.ContainsFunc(c.state.Pending(), dispatcher.Ready):
		changes = dispatcher.Promote(c.state)
	case len(c.state.Goals()) > 0:
		c.free = true
		return nil
	case onlyWaits(c.state):
		return ErrWaiting
	default:
		return ErrIdle
	}
	err := c.dispatcher.Change(changes...)
	if errors.Is(err, scratchpad.ErrFull) {
		c.free = true
		c.warn("The memory is full, and without the task of this cycle. First make room with update_scratchpad; the task is: " +
			text.Line(scratchpad.TaskText(changes[0].Value), maxNote))
		return nil
	}
	return err
}

// busy says that there is something to do already.
func (c *cycle) busy() bool {
	return scratchpad.TaskText(c.state.CurrentTask()) != "" || slices.ContainsFunc(c.state.Pending(), dispatcher.Ready)
}

// queue puts the task of a slot behind what there is to do, unless it is there: else
// what is pending would never have its turn.
func (c *cycle) queue(task string) error {
	item, pending := withChecks(task, c.given()), c.state.Pending()
	is := func(t any) bool { return same(task)(t) && !(c.Consent.Marks && theirs(t)) }
	change := scratchpad.Change{Op: scratchpad.OpExtend, Key: "pending_actions", Value: []any{item}}
	switch i := slices.IndexFunc(pending, is); {
	case is(c.state.CurrentTask()) && carries(item): // the checks of the schedule hold
		change = set("current_task", item)
	case i >= 0 && carries(item):
		pending = slices.Clone(pending)
		pending[i], change = item, set("pending_actions", pending)
	case is(c.state.CurrentTask()), i >= 0:
		return nil
	}
	err := c.dispatcher.Change(change)
	if errors.Is(err, scratchpad.ErrFull) {
		return nil // what is there is done first
	}
	return err
}

// put makes task the current one; one that was current waits behind it.
func put(s *scratchpad.State, task any) []scratchpad.Change {
	current, pending := s.CurrentTask(), s.Pending()
	is := func(t any) bool { return t == task }
	switch {
	case carries(task): // a cycle that fails leaves it there, and the next is given it again
		is = same(task)
		pending = slices.DeleteFunc(slices.Clone(pending), is)
	case carries(current) && same(task)(current):
		return []scratchpad.Change{set("current_task", current)}
	}
	changes := []scratchpad.Change{set("current_task", task)}
	if current != nil && !is(current) {
		pending = append([]any{current}, pending...)
	}
	if len(pending) == len(s.Pending()) {
		return changes
	}
	return append(changes, set("pending_actions", pending))
}

func carries(task any) bool { _, ok := dispatcher.ChecksOf(task); return ok }

// same says of tasks whether they are this one.
func same(task any) func(any) bool {
	name := scratchpad.TaskText(task)
	return func(t any) bool { return scratchpad.TaskText(t) == name }
}

// actions are what a reply asks for. How it was written is kept for later cycles.
func (c *cycle) actions(reply model.Reply) ([]dispatcher.Action, error) {
	before := c.recall()
	actions, err := c.talk.Actions(reply)
	if c.recall() != before {
		c.learn(func(*known) {})
	}
	c.native = c.native || len(reply.Calls) > 0
	return actions, err
}

// problem records a reply that held no action; the third in a row ends the cycle.
// A model that only ever writes its calls as text is asked for texts instead.
func (c *cycle) problem(err error) error {
	c.problems++
	if err := c.dispatcher.Note("\n[PARSE ERROR] " + text.Line(err.Error(), maxNote)); err != nil {
		return err
	}
	if c.problems > 1 && !c.native && errors.Is(err, conversation.ErrWritten) && c.protocol() == ProtocolAuto {
		c.problems = 0
		return c.turnTo(ProtocolJSON, "the model writes its calls as text")
	}
	if c.problems >= maxProblems {
		return fmt.Errorf("%d %s: %w", c.problems, manyProblems, err)
	}
	return nil
}

const manyProblems = "replies in a row without a valid action"

// leave says which actions of a reply were not carried out because done came
// before them.
func (c *cycle) leave(actions []dispatcher.Action) error {
	if len(actions) == 0 {
		return nil
	}
	names := text.Join(actions, ", ", func(a dispatcher.Action) string { return a.Tool })
	return c.dispatcher.Note("\n[PARSE ERROR] not carried out, since they came after done: " + text.Line(names, maxNote))
}

// journalled are native calls as the journal has them: without secrets, also
// those that escapes hide.
func (c *cycle) journalled(calls []model.Call) json.RawMessage {
	if len(calls) == 0 {
		return nil
	}
	text, err := json.Marshal(c.Redact.Any(calls))
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

// counting is a journal that takes note of calls, and counts those that did not go well.
type counting struct {
	dispatcher.Journal
	of *record
}

// Append writes an event.
func (j counting) Append(p journal.Payload) error {
	switch d := p.(type) {
	case *journal.Intent:
		j.of.heard.intent.Store(true)
		j.of.affect(d)
	case *journal.Result:
		j.of.calls.Add(d)
	case *journal.Refused:
		j.of.calls.Refuse(d)
	case *journal.Origin:
		j.of.origins = j.of.origins.With(d.From...)
	}
	return j.Journal.Append(p)
}
