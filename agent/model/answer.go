package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// chunk is one event of a stream, or a whole reply without streaming, which has
// a message where a stream has deltas. It is decoded here, not by go-openai,
// which drops error objects and refuses contents and arguments in other shapes.
type chunk struct {
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index   int      `json:"index"`
	Delta   message  `json:"delta"`
	Message *message `json:"message"`
	Finish  string   `json:"finish_reason"`
}

type message struct {
	Content content    `json:"content"`
	Refusal content    `json:"refusal"`
	Calls   []fragment `json:"tool_calls"`
	// Legacy is the one call of servers from before there were several.
	Legacy *function `json:"function_call"`
}

// content is a string, null, or a list of parts of which the texts count.
type content string

// UnmarshalJSON is a [json.Unmarshaler].
func (c *content) UnmarshalJSON(raw []byte) error {
	if raw[0] != '[' {
		return json.Unmarshal(raw, (*string)(c))
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		if part.Type == "text" {
			*c += content(part.Text)
		}
	}
	return nil
}

// fragment is a tool call, or in a stream a piece of one.
type fragment struct {
	Index    *int     `json:"index"`
	ID       string   `json:"id"`
	Function function `json:"function"`
}

type function struct {
	Name      string    `json:"name"`
	Arguments arguments `json:"arguments"`
}

// arguments are JSON in a string; some servers send the JSON itself.
type arguments string

// UnmarshalJSON is a [json.Unmarshaler].
func (a *arguments) UnmarshalJSON(raw []byte) error {
	switch raw[0] {
	case '{', '[':
		*a = arguments(raw)
		return nil
	default:
		return json.Unmarshal(raw, (*string)(a))
	}
}

// maxObjects bounds the memory of one event: an empty object of three bytes
// takes a hundred when it is decoded.
const maxObjects = 1 << 16

// answer is a reply in the making.
type answer struct {
	api     string
	quote   func(string) string // makes a server's text fit for an error
	marked  bool                // the end mark has come
	text    strings.Builder
	refusal strings.Builder
	calls   []*call
	legacy  *call
	indexed map[int]*call
	usage   Usage
	finish  string

	items  []item         // of a Responses server
	blocks []*block       // of a Messages server
	at     map[int]*block // its latest of each number
}

type call struct {
	id, name string
	args     strings.Builder
}

// collect reads events until the end. finished is called when the finish reason
// has come: from then on the answer is whole, and what breaks the connection
// costs only the usage. A stream that ends before it is no answer.
func (a *answer) collect(events *events, finished func()) (Reply, error) {
	for {
		if a.marked {
			return a.end(io.EOF)
		}
		event, err := events.next()
		if err != nil {
			a.marked = events.marked
			return a.end(err)
		}
		before := a.finish
		if err := a.add(event); err != nil {
			return Reply{}, err
		}
		if before == "" && a.finish != "" {
			finished()
		}
	}
}

func (a *answer) end(err error) (Reply, error) {
	fail, isFailure := errors.AsType[*failure](err)
	switch {
	case a.finish != "" && (!isFailure || fail.retry):
		return a.reply(), nil
	case err == io.EOF && a.marked && a.complete():
		reply := a.reply()
		reply.Warning = "the model's server ended a reply without a finish reason"
		return reply, nil
	case err == io.EOF:
		return Reply{}, damaged("reply ended without a finish reason")
	default:
		return Reply{}, err
	}
}

// complete says whether the answer is an action that nothing is missing of.
func (a *answer) complete() bool {
	r := a.reply()
	for _, c := range r.Calls {
		if c.Name == "" || !json.Valid(c.Args) {
			return false
		}
	}
	text := strings.TrimSpace(r.Text)
	return len(r.Calls) > 0 || strings.HasPrefix(text, "{") && json.Valid([]byte(text))
}

func (a *answer) add(event []byte) error {
	if bytes.Count(event, []byte("{")) > maxObjects {
		return &failure{text: fmt.Sprintf("one event of the reply holds more than %d objects", maxObjects)}
	}
	switch a.api {
	case Responses:
		return a.response(event)
	case Messages:
		return a.message(event)
	}
	var c chunk
	if err := json.Unmarshal(event, &c); err != nil {
		return damaged("reply is not what a chat completion looks like: %v", err)
	}
	if isError(c.Error) {
		return errorObject(c.Error, a.quote).failure()
	}
	a.count(c.Usage)
	for _, choice := range c.Choices {
		if choice.Index == 0 {
			a.choose(choice)
		}
	}
	return nil
}

// isError says whether the value of "error" is one.
func isError(raw json.RawMessage) bool {
	text := string(bytes.TrimSpace(raw))
	return text != "" && text != "null" && text != `""`
}

func (a *answer) choose(c choice) {
	a.say(c.Delta)
	for _, f := range c.Delta.Calls {
		a.piece(f)
	}
	if c.Message != nil {
		a.say(*c.Message)
		for _, f := range c.Message.Calls {
			a.begin(f).extend(f)
		}
	}
	if c.Finish != "" && c.Finish != "null" {
		a.finish = c.Finish
	}
}

// say takes what a message has beside its calls.
func (a *answer) say(m message) {
	a.text.WriteString(string(m.Content))
	a.refusal.WriteString(string(m.Refusal))
	if m.Legacy == nil {
		return
	}
	if a.legacy == nil {
		a.legacy = new(call)
	}
	a.legacy.extend(fragment{Function: *m.Legacy})
}

// piece adds to the call that a fragment belongs to. Servers number the calls,
// or give each an id, or both; some number all of them 0.
func (a *answer) piece(f fragment) {
	var at *call
	if f.Index != nil {
		at = a.indexed[*f.Index]
	} else if len(a.calls) > 0 && (f.ID != "" || f.Function.Name == "") {
		at = a.calls[len(a.calls)-1]
	}
	if at == nil || f.ID != "" && at.id != "" && f.ID != at.id {
		at = a.begin(f)
	}
	at.extend(f)
}

func (a *answer) begin(f fragment) *call {
	c := new(call)
	a.calls = append(a.calls, c)
	if f.Index != nil {
		if a.indexed == nil {
			a.indexed = make(map[int]*call)
		}
		a.indexed[*f.Index] = c
	}
	return c
}

func (c *call) extend(f fragment) {
	c.id, c.name = cmp.Or(c.id, f.ID), cmp.Or(c.name, f.Function.Name)
	c.args.WriteString(string(f.Function.Arguments))
}

// count keeps the last usage that came. One that is not what OpenAI sends is no
// reason to lose the reply.
func (a *answer) count(raw json.RawMessage) {
	var u struct {
		Input   int `json:"prompt_tokens"`
		Output  int `json:"completion_tokens"`
		Total   int `json:"total_tokens"`
		Details struct {
			Cached  int `json:"cached_tokens"`
			Written int `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"`
		Thought struct {
			Tokens int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &u) != nil {
		return
	}
	a.usage = Usage{
		Input: tokens(u.Input), Cached: tokens(u.Details.Cached), Written: tokens(u.Details.Written),
		Output: tokens(u.Output), Reasoning: tokens(u.Thought.Tokens),
	}
	if r := a.usage.Reasoning; r > 0 && u.Total >= u.Input+u.Output+r { // some count it beside what was said
		a.usage.Output += r
	}
}

// countTokens takes the usage of the other APIs. Anthropic counts what a cache has
// beside the input, and may say all of it twice, the later time as much or more.
func (a *answer) countTokens(raw json.RawMessage) {
	var u struct {
		Input   int `json:"input_tokens"`
		Read    int `json:"cache_read_input_tokens"`
		Created int `json:"cache_creation_input_tokens"`
		Output  int `json:"output_tokens"`
		Of      struct {
			Cached  int `json:"cached_tokens"`
			Written int `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		Thought struct {
			Tokens int `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return
	}
	read, created := tokens(u.Read), tokens(u.Created)
	a.usage = Usage{
		Input: max(a.usage.Input, tokens(u.Input)+read+created), Cached: max(a.usage.Cached, read+tokens(u.Of.Cached)),
		Written: max(a.usage.Written, created+tokens(u.Of.Written)),
		Output:  max(a.usage.Output, tokens(u.Output)), Reasoning: max(a.usage.Reasoning, tokens(u.Thought.Tokens)),
	}
}

// tokens is a count as a server says it, within what sums of them can hold.
func tokens(said int) int { return min(max(said, 0), 1<<40) }

func (a *answer) reply() Reply {
	switch a.api {
	case Responses:
		return a.responded()
	case Messages:
		return a.told()
	}
	r := Reply{Text: a.text.String(), Refusal: a.refusal.String(), Usage: a.usage, Finish: a.finish}
	calls := a.calls
	if len(calls) == 0 && a.legacy != nil {
		calls = []*call{a.legacy}
	}
	for _, c := range calls {
		r.Calls = append(r.Calls, Call{ID: c.id, Name: c.name, Args: json.RawMessage(c.args.String())})
	}
	return r
}

// clean redacts what the server sent and makes the calls what [Call] promises.
func (r Reply) clean(redact func(string) string) Reply {
	r.Text, r.Refusal = redact(r.Text), redact(r.Refusal)
	r.Finish = redact(r.Finish)
	if kept := string(r.Kept); redact(kept) != kept {
		r.Kept = nil // it is signed: as it came, or not at all
	}
	used := make(map[string]bool)
	for i := range r.Calls {
		c := &r.Calls[i]
		c.Name = redact(c.Name)
		c.Args = cleanArgs(redact(string(c.Args)))
		c.ID = redact(c.ID)
		for n := i + 1; c.ID == "" || used[c.ID]; n++ {
			c.ID = fmt.Sprintf("call_%d", n)
		}
		used[c.ID] = true
	}
	return r
}

func cleanArgs(text string) json.RawMessage {
	switch {
	case strings.TrimSpace(text) == "":
		return json.RawMessage("{}")
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	default:
		quoted, _ := json.Marshal(text) // a string always has a JSON form
		return quoted
	}
}
