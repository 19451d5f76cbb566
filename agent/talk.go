package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"rouse/agent/conversation"
	"rouse/agent/model"
	"rouse/dispatcher"
	"rouse/internal/disk"
	"rouse/journal"
	"rouse/tools"
)

// talk is what the model sees of a cycle.
type talk interface {
	// Request is what the model is asked next, and what was taken out of it.
	Request(conversation.Turn) (model.Request, conversation.Pruned, error)
	// Actions are what a reply asks for; the error is for the model to read.
	Actions(model.Reply) ([]dispatcher.Action, error)
	// Add takes the result of the next action.
	Add(dispatcher.Observation)
	// Described are the tools of the last request.
	Described() []model.Tool
	// Shrink makes the next request smaller than the last.
	Shrink()
	// Visible are the results that the model can see.
	Visible() []string
}

// Protocols in which a model is asked.
const (
	ProtocolAuto  = "auto" // tools, and json where the server refuses them
	ProtocolTools = "tools"
	ProtocolJSON  = "json"
)

// speak begins the conversation of a cycle.
func (a *Agent) speak(c *cycle, rules, protocol string) {
	opt := conversation.Options{
		Rules: rules, Redact: a.Redact, Notes: a.Notes, MaxTokens: a.maxTokens(c), Keep: a.KeepResults, Shelf: c.dispatcher,
	}
	if protocol == ProtocolJSON {
		c.talk = &conversation.JSON{Options: opt, Repairable: c.dispatcher.Repairable}
	} else {
		c.talk = &conversation.Native{Options: opt}
	}
	c.dispatcher.Visible = c.talk.Visible
}

// ask sends the next request, and once more where the server says that it would
// take it in another form: shorter, or without native tools.
func (a *Agent) ask(ctx context.Context, c *cycle) (model.Reply, error) {
	reply, err := a.send(ctx, c)
	switch {
	case errors.Is(err, model.ErrTooLong):
		c.talk.Shrink()
		a.learn(c, c.tooLong)
	case errors.Is(err, model.ErrNoTools) && a.protocol(c) == ProtocolAuto:
		if err := c.journal.Append(&journal.Protocol{Name: ProtocolJSON, Reason: err.Error()}); err != nil {
			return model.Reply{}, err
		}
		a.learn(c, func(m *known) { m.Protocol = ProtocolJSON })
		a.speak(c, c.rules, ProtocolJSON)
	default:
		return reply, err
	}
	return a.send(ctx, c)
}

// send sends the next request.
func (a *Agent) send(ctx context.Context, c *cycle) (model.Reply, error) {
	req, err := a.request(ctx, c)
	if err != nil {
		return model.Reply{}, err
	}
	return a.exchange(ctx, c, req, c.turned)
}

// aside sends a request that is no part of the conversation, for what purpose
// names. Several goroutines may call it.
func (a *Agent) aside(ctx context.Context, c *cycle, purpose string, req model.Request) (model.Reply, error) {
	tokens := 0
	for _, m := range req.Messages {
		tokens += conversation.Est(m.Content)
	}
	return a.exchange(ctx, c, req, journal.Request{Iteration: c.iteration(), Tokens: tokens, For: purpose})
}

// exchange sends a request and journals both sides of it.
func (a *Agent) exchange(ctx context.Context, c *cycle, req model.Request, event journal.Request) (model.Reply, error) {
	if err := c.journal.Append(&event); err != nil {
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
	c.used.Add(int64(reply.Usage.Input + reply.Usage.Output))
	calls := a.journalled(reply.Calls)
	return reply, c.journal.Append(&journal.Reply{
		Text: reply.Text, Calls: calls, Args: verbatim(reply.Calls, calls), Usage: journal.Usage(reply.Usage),
		Finish: reply.Finish, Model: a.ModelName, For: event.For, Form: reply.Form, Told: a.Redact.String(reply.Told),
		Ms: a.now().Sub(sent).Milliseconds(),
	})
}

// request is what the model is asked next; what had to be taken out of it to
// make room is in the journal before.
func (a *Agent) request(ctx context.Context, c *cycle) (model.Request, error) {
	said := journal.Request{
		Iteration: c.iteration(), At: a.now(), Choose: c.choose && c.state.CurrentTask() == nil,
	}
	if end, ok := ctx.Deadline(); ok {
		said.Left = time.Until(end).Milliseconds()
	}
	req, pruned, err := a.compose(c, &said, c.dispatcher.Offered())
	if err == nil {
		err = a.keepTools(c)
	}
	if err == nil && len(pruned.Steps)+pruned.Folded > 0 {
		err = c.journal.Append(&journal.Prune{Steps: pruned.Steps, Folded: pruned.Folded, Tokens: pruned.Tokens})
	}
	said.Hidden, said.Sum = c.hidden, req.Hash()
	c.turned = said
	return req, err
}

// compose makes the next request of the conversation, all of it from what the
// journal has.
func (a *Agent) compose(c *cycle, said *journal.Request, offered []tools.Tool) (model.Request, conversation.Pruned, error) {
	turn := conversation.Turn{
		State: func() ([]byte, string, error) { return a.view(c) }, Choose: said.Choose,
		Now: said.At, Left: time.Duration(said.Left) * time.Millisecond, Iteration: said.Iteration, Of: a.MaxIterations,
		Tools: offered, Kept: c.kept,
	}
	turn.Urge = a.urge(turn)
	c.offered, c.hidden = offered, nil
	req, pruned, err := c.talk.Request(turn)
	c.asked, said.Tokens = pruned.Tokens, pruned.Tokens
	return req, pruned, err
}

// urge tells the model to come to an end when a fifth of what it has is left.
func (a *Agent) urge(t conversation.Turn) string {
	left := t.Of - t.Iteration + 1
	switch {
	case t.Iteration > 1 && left*5 <= t.Of:
		return fmt.Sprintf("Iterations left in this cycle: %d or fewer. Come to an end: write down what the next cycle needs with update_scratchpad, and call done if the task is done.", t.Of/5)
	case t.Left > 0 && t.Left*5 <= a.Timeout:
		return "Less than a fifth of the cycle's time is left. Come to an end: write down what the next cycle needs with update_scratchpad, and call done if the task is done."
	}
	return ""
}

// known is what earlier cycles found out about a model.
type known struct {
	Protocol  string `json:"protocol,omitempty"`
	MaxTokens int    `json:"max_tokens,omitempty"`
}

// recall gives what is known of the model that is asked.
func (a *Agent) recall(c *cycle) known {
	if c.models == nil {
		c.models = map[string]known{}
		if text, err := os.ReadFile(a.Home.Models()); err == nil {
			_ = json.Unmarshal(text, &c.models) // what cannot be read is found out again
		}
	}
	return c.models[a.ModelID]
}

// learn keeps what was found out, for later cycles. A home that cannot keep it
// finds it out again.
func (a *Agent) learn(c *cycle, what func(*known)) {
	a.note(c, what)
	if text, err := json.MarshalIndent(c.models, "", "  "); err == nil {
		_ = disk.Replace(a.disk(), a.Home.Models(), append(text, '\n'), 0o600)
	}
}

// note takes in what was found out.
func (a *Agent) note(c *cycle, what func(*known)) {
	m := a.recall(c)
	what(&m)
	c.models[a.ModelID] = m
}

// tooLong is what is found out of a model that finds a request too long.
func (c *cycle) tooLong(m *known) { m.MaxTokens = c.asked * 3 / 4 }

// protocol is the one to ask in: the configured one, unless the server is known
// to refuse tools.
func (a *Agent) protocol(c *cycle) string {
	if a.Protocol != "" && a.Protocol != ProtocolAuto {
		return a.Protocol
	}
	if a.recall(c).Protocol == ProtocolJSON {
		return ProtocolJSON
	}
	return ProtocolAuto
}

// maxTokens is how large a request may be: as configured, or less where the
// server was found to take less.
func (a *Agent) maxTokens(c *cycle) int {
	if m := a.recall(c).MaxTokens; m > 0 && (a.MaxTokens == 0 || m < a.MaxTokens) {
		return m
	}
	return a.MaxTokens
}
