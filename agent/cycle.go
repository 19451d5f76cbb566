package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"rouse/agent/conversation"
	"rouse/agent/journal"
	"rouse/agent/model"
	"rouse/dispatcher"
	"rouse/scratchpad"
	"rouse/scratchpad/observation"
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

	journal      *journal.Writer
	dispatcher   *dispatcher.Dispatcher
	conversation *conversation.JSON

	iterations, tokens, problems int
	choose                       bool // a task is to be chosen from the goals

	turn  func() (*observation.Turn, error) // opens the store of observations
	store *observation.Store                // once it is open
	kept  string                            // what earlier cycles kept there

	reopened bool // it was interrupted and is being settled
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
	c.conversation.Problem(err.Error())
	if err := c.dispatcher.Note("\n[PARSE ERROR] " + journal.Line(err.Error(), maxNote)); err != nil {
		return err
	}
	if c.problems >= maxProblems {
		return fmt.Errorf("%d replies in a row without a valid action: %w", c.problems, err)
	}
	return nil
}

// ask sends the next request and journals both sides of it.
func (a *Agent) ask(ctx context.Context, c *cycle) (model.Reply, error) {
	req, err := a.request(ctx, c)
	if err != nil {
		return model.Reply{}, err
	}
	if err := c.journal.Append(&journal.Request{Iteration: c.iterations, Tokens: conversation.Tokens(req)}); err != nil {
		return model.Reply{}, err
	}
	req.OnRetry = func(attempt int, wait time.Duration, err error) {
		// The journal's end is checked when the reply is written.
		_ = c.journal.Append(&journal.Retry{Attempt: attempt, Wait: wait.Milliseconds(), Error: err.Error()})
	}
	sent := a.now()
	reply, err := a.Model.Reply(ctx, req)
	if err != nil {
		return reply, err
	}
	reply.Text = a.Redact.String(reply.Text) // the offline model quotes the operator's own task
	c.tokens += reply.Usage.Input + reply.Usage.Output
	return reply, c.journal.Append(&journal.Reply{
		Text: reply.Text, Calls: a.journalled(reply.Calls), Usage: journal.Usage(reply.Usage), Finish: reply.Finish,
		Ms: a.now().Sub(sent).Milliseconds(),
	})
}

func (a *Agent) request(ctx context.Context, c *cycle) (model.Request, error) {
	state, err := a.hide(c.state).Bytes()
	if err != nil {
		return model.Request{}, err
	}
	turn := conversation.Turn{
		State: state, Choose: c.choose && c.state.CurrentTask() == nil,
		Now: a.now(), Iteration: c.iterations, Of: a.MaxIterations,
		Tools: c.dispatcher.Offered(), Kept: c.kept,
	}
	if end, ok := ctx.Deadline(); ok {
		turn.Left = time.Until(end)
	}
	return c.conversation.Request(turn), nil
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

// hide takes the secrets out of the values of a state that is to be sent, so
// that what is left is YAML still.
func (a *Agent) hide(s *scratchpad.State) *scratchpad.State {
	c := s.Clone()
	for _, key := range s.Keys() {
		v, _ := s.Value(key)
		if hidden := a.Redact.Any(v); !reflect.DeepEqual(hidden, v) {
			// A value that cannot be set is hidden with the text.
			_ = c.Apply(scratchpad.Change{Op: scratchpad.OpSet, Key: key, Value: hidden})
		}
	}
	return c
}

// parse finds the action in a reply.
func parse(reply model.Reply, c *cycle) (dispatcher.Action, int, error) {
	switch reply.Finish {
	case "content_filter":
		return dispatcher.Action{}, 0, errors.New("the reply was cut by the provider's content filter")
	case "length":
		return dispatcher.Action{}, 0, errors.New("the reply was cut off at model.max_output; answer with the JSON object alone, or do less at a time")
	}
	if len(reply.Calls) > 0 && !strings.Contains(reply.Text, "{") {
		return fromCall(reply.Calls)
	}
	return dispatcher.Parse(reply.Text, c.dispatcher.Repairable)
}

// fromCall takes a native tool call that a server made of the model's JSON.
func fromCall(calls []model.Call) (dispatcher.Action, int, error) {
	text, err := json.Marshal(map[string]any{"tool": calls[0].Name, "args": calls[0].Args})
	if err != nil {
		return dispatcher.Action{}, 0, errors.New("the arguments of the call are not JSON")
	}
	action, _, err := dispatcher.Parse(string(text), func(string) bool { return false })
	return action, len(calls) - 1, err
}
