// Package o200k counts what a request to a model costs, in tokens of o200k,
// the vocabulary of OpenAI's models since GPT-4o.
package o200k

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tiktoken-go/tokenizer"
)

// Part is a part of a request: a message by its role, or a tool by its name.
type Part struct {
	Name   string
	Tokens int
}

// Of counts the body of a chat completion request: its parts, and last the whole
// of it, as it is sent. The body is JSON.
func Of(body []byte) ([]Part, error) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		return nil, err
	}
	var r struct {
		Messages []struct{ Role, Content string }
		Tools    []json.RawMessage
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	var parts []Part
	add := func(name, text string) {
		n, countErr := codec.Count(text)
		parts, err = append(parts, Part{name, n}), errors.Join(err, countErr)
	}
	for _, m := range r.Messages {
		add(m.Role, m.Content)
	}
	for _, t := range r.Tools {
		var tool struct{ Function struct{ Name string } }
		err = errors.Join(err, json.Unmarshal(t, &tool))
		add(tool.Function.Name, string(t))
	}
	add("request", string(body))
	return parts, err
}
