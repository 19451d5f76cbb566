package agent

import (
	"context"
	"errors"
	"time"

	"rouse/agent/conversation"
	"rouse/agent/model"
	"rouse/dispatcher"
	"rouse/journal"
)

// talk is what the model sees of a cycle. It has as many methods as the main loop has
// questions, which both protocols answer.
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

// askModel sends the next request, and once more where the server says that it would
// take it in another form: shorter, or without native tools.
func (c *cycle) askModel(ctx context.Context) (model.Reply, error) {
	reply, err := c.send(ctx)
	switch {
	case errors.Is(err, model.ErrTooLong):
		c.talk.Shrink()
		c.learn(c.tooLong)
	case errors.Is(err, model.ErrNoTools) && c.protocol() == ProtocolAuto:
		if err := c.turnTo(ProtocolJSON, err.Error()); err != nil {
			return model.Reply{}, err
		}
	default:
		return reply, err
	}
	return c.send(ctx)
}

// turnTo goes on in another protocol, in this cycle and in later ones.
func (c *cycle) turnTo(protocol, reason string) error {
	if err := c.journal.Append(&journal.Protocol{Name: protocol, Reason: reason}); err != nil {
		return err
	}
	c.learn(func(m *known) { m.Protocol = protocol })
	c.speak(protocol)
	return nil
}

// send sends the next request.
func (c *cycle) send(ctx context.Context) (model.Reply, error) {
	req, err := c.request(ctx)
	if err != nil {
		return model.Reply{}, err
	}
	return c.exchange(ctx, req, c.turned)
}

// aside sends a request that is no part of the conversation, for what purpose
// names. Several goroutines may call it.
func (c *cycle) aside(ctx context.Context, purpose string, req model.Request) (model.Reply, error) {
	tokens := 0
	for _, m := range req.Messages {
		tokens += conversation.Est(m.Content)
	}
	return c.exchange(ctx, req, journal.Request{Iteration: c.iteration(), Tokens: tokens, For: purpose})
}

// exchange sends a request and journals both sides of it.
func (c *cycle) exchange(ctx context.Context, req model.Request, event journal.Request) (model.Reply, error) {
	if err := c.journal.Append(&event); err != nil {
		return model.Reply{}, err
	}
	req.OnRetry = func(attempt int, wait time.Duration, err error) {
		// The journal's end is checked when the reply is written.
		_ = c.journal.Append(&journal.Retry{Attempt: attempt, Wait: wait.Milliseconds(), Error: err.Error()})
	}
	req.Hurry = len(c.others) > 0 && !c.heard.reply.Load()
	req.API = c.recall().API
	sent := c.now()
	reply, err := c.asking.Model.Reply(ctx, req)
	if err != nil {
		c.heard.nothing.Store(model.Unanswered(err))
		return reply, err
	}
	c.heard.reply.Store(true)
	if reply.API != req.API && event.For == "" {
		c.learn(func(m *known) { m.API = reply.API })
	}
	reply.Text = c.Redact.String(reply.Text) // the offline model quotes the operator's own task
	c.used.Add(int64(reply.Usage.Input + reply.Usage.Output))
	if reply.Warning != "" {
		if err := c.journal.Append(&journal.Warning{Text: reply.Warning}); err != nil {
			return reply, err
		}
	}
	calls := c.journalled(reply.Calls)
	return reply, c.journal.Append(&journal.Reply{
		Text: reply.Text, Refusal: c.Redact.String(reply.Refusal), Calls: calls, Args: verbatim(reply.Calls, calls), Kept: reply.Kept, Usage: journal.Usage(reply.Usage),
		Finish: reply.Finish, Model: c.asking.ModelName, For: event.For, Form: reply.Form, Told: c.Redact.String(reply.Told),
		Ms: c.now().Sub(sent).Milliseconds(),
	})
}

// request is what the model is asked next; what had to be taken out of it to
// make room is in the journal before.
func (c *cycle) request(ctx context.Context) (model.Request, error) {
	said := c.ahead(ctx)
	req, pruned, err := c.compose(&said, c.dispatcher.Offered())
	if err == nil {
		err = c.keepTools()
	}
	if err == nil && len(pruned.Steps)+pruned.Folded > 0 {
		err = c.journal.Append(&journal.Prune{Steps: pruned.Steps, Folded: pruned.Folded, Tokens: pruned.Tokens})
	}
	said.Hidden, said.Sum = c.hidden, req.Hash()
	c.turned = said
	return req, err
}

// ahead is what the journal is to say of the next request, as far as that is known.
func (c *cycle) ahead(ctx context.Context) journal.Request {
	said := journal.Request{Iteration: c.iteration(), At: c.now(), Choose: c.free && c.state.CurrentTask() == nil}
	if c.Past != nil {
		c.Past.ahead(c, &said)
	} else if end, ok := ctx.Deadline(); ok {
		said.Left = time.Until(end).Milliseconds()
	}
	return said
}
