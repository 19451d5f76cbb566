package notebook

import (
	"context"
	"encoding/json"
	"errors"
)

// LLM answers what cells ask a model. Whoever gives it makes the call with its own
// client and counts it: no key ever enters a notebook's process. An error is told to
// the cell in its words; it is [ErrNoSearch] where the model that is configured cannot
// search. Nil is no model.
type LLM func(context.Context, Question) (Completion, error)

// Ask asks the model, if there is one.
func (l LLM) Ask(ctx context.Context, q Question) (Completion, error) {
	switch {
	case l != nil:
		return l(ctx, q)
	case q.Prompt == nil:
		return Completion{}, ErrNoSearch
	}
	return Completion{}, errors.New("no model is connected to this notebook")
}

// Question is what a cell asks: to complete a prompt or, without one, to look a query
// up on the web.
type Question struct {
	Prompt *Prompt `json:"prompt,omitempty"`
	Query  string  `json:"query,omitempty"`
}

// Prompt is what a cell asks a model.
type Prompt struct {
	System   string    `json:"system,omitempty"`
	Messages []Message `json:"messages"`
	// Tools may be called by the model. If Force names one, it must be called.
	Tools []Function `json:"tools,omitempty"`
	Force string     `json:"force,omitempty"`
	// MaxTokens bounds the answer; 0 is the client's own bound.
	MaxTokens int `json:"max_tokens,omitempty"`
}

// Message is one entry of a prompt.
type Message struct {
	// Role is user, assistant or tool.
	Role    string `json:"role"`
	Content string `json:"content"`
	// Calls are what an assistant asked for; Call is the id of the one that a
	// tool's message answers.
	Calls []Call `json:"calls,omitempty"`
	Call  string `json:"call,omitempty"`
}

// Function is a tool that a cell offers to the model.
type Function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"` // a JSON Schema of type object
}

// Call is a model's wish to have a function called.
type Call struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Completion is a model's answer, with the tokens that it took.
type Completion struct {
	Text   string `json:"text"`
	Calls  []Call `json:"calls,omitempty"`
	Input  int    `json:"input_tokens"`
	Output int    `json:"output_tokens"`
}

// ErrNoSearch says that there is no web search to offer.
var ErrNoSearch = errors.New("web search is not set up: the operator can name a tool that searches in notebook.search of rouse.yaml, " +
	"a command of tools.commands or one of an MCP server, as search__web; fetch known addresses with another tool")
