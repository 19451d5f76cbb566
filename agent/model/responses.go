package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	openai "github.com/sashabaranov/go-openai"
)

// responses is a request to a server that speaks the Responses API. It keeps nothing
// there: reasoning comes back encrypted, and goes with the calls that it led to.
func (f form) responses(opt Options, req Request) any {
	r := openai.CreateResponseRequest{Model: opt.Name, Stream: true, Store: new(false), MaxOutputTokens: req.most(opt)}
	if !f.bare {
		r.Include = []openai.ResponseInclude{openai.ResponseIncludeReasoningEncryptedContent}
	}
	input := []any{}
	for i, m := range req.Messages {
		if i == 0 && m.Role == System {
			r.Instructions = m.Content
			continue
		}
		input = append(input, f.items(m)...)
	}
	r.Input = input
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, openai.Tool{Type: openai.ToolTypeFunction, Parameters: object{
			"name": t.Name, "description": t.Description, "parameters": t.Parameters, "strict": false, // which is true where it is missing
		}})
	}
	if req.Force != "" {
		r.ToolChoice = object{"type": "function", "name": req.Force}
	}
	return r
}

// items are what a message is there.
func (f form) items(m Message) (list []any) {
	switch {
	case m.Role == Result:
		return []any{openai.ResponseFunctionCallOutput{Type: "function_call_output", CallID: m.Call, Output: said(m.Content)}}
	case m.Role != Assistant && (len(m.Images) == 0 || f.blind):
		return []any{openai.ResponseInputMessage{Type: "message", Role: m.Role, Content: said(m.Content)}}
	case m.Role != Assistant:
		parts := []any{openai.ResponseInputText{Type: "input_text", Text: said(m.Content)}}
		for _, i := range m.Images {
			parts = append(parts, openai.ResponseInputImage{Type: "input_image", Detail: "auto", ImageURL: i.url()})
		}
		return []any{openai.ResponseInputMessage{Type: "message", Role: m.Role, Content: parts}}
	}
	for _, p := range m.parts("reasoning") {
		switch {
		case p.kept != nil:
			list = append(list, p.kept)
		case p.call != nil:
			list = append(list, openai.ResponseOutputItem{Type: "function_call", CallID: p.call.ID, Name: p.call.Name, Arguments: string(p.call.Args)})
		default:
			list = append(list, openai.ResponseInputMessage{Type: "message", Role: Assistant, Content: p.text})
		}
	}
	return list
}

// item is one of a response's output. go-openai's has no encrypted content, and
// takes contents in one shape.
type item struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Call    string          `json:"call_id"`
	Name    string          `json:"name"`
	Args    arguments       `json:"arguments"`
	Content json.RawMessage `json:"content"`
	Summary json.RawMessage `json:"summary"`
	Secret  string          `json:"encrypted_content"`
}

// response is a Responses server's reply in one piece, or at the end of a stream.
type response struct {
	Object     string                  `json:"object"`
	Status     string                  `json:"status"`
	Output     []item                  `json:"output"`
	Usage      json.RawMessage         `json:"usage"`
	Error      json.RawMessage         `json:"error"`
	Incomplete struct{ Reason string } `json:"incomplete_details"`
}

// response takes one event of a Responses server. Items count when they are whole.
func (a *answer) response(event []byte) error {
	var e struct {
		response
		Type     string
		Response response
		Item     item
	}
	if err := json.Unmarshal(event, &e); err != nil {
		return damaged("reply is not what a response looks like: %v", err)
	}
	switch {
	case e.Type == "error" && !isError(e.Error):
		return complaintOf(event, a.quote).failure() // the event is the error
	case isError(e.Error):
		return complaintOf(e.Error, a.quote).failure()
	case e.Type == "response.output_item.done":
		a.items = append(a.items, e.Item)
	case e.Object == "response":
		return a.conclude(e.response)
	case slices.Contains([]string{"response.completed", "response.incomplete", "response.failed", "response.cancelled"}, e.Type):
		return a.conclude(e.Response)
	}
	return nil
}

// conclude takes the end of a response.
func (a *answer) conclude(r response) error {
	if len(r.Output) > 0 {
		a.items = r.Output
	}
	a.countTokens(r.Usage)
	switch {
	case isError(r.Error):
		return complaintOf(r.Error, a.quote).failure()
	case r.Status == "incomplete":
		a.finish = cmp.Or(r.Incomplete.Reason, "length")
	case r.Status == "completed":
		a.finish = "stop"
	default:
		return damaged("the response is %s", a.quote(cmp.Or(r.Status, "without status")))
	}
	if a.finish == "max_output_tokens" {
		a.finish = "length"
	}
	a.marked = true
	return nil
}

// responded is the reply of a Responses server.
func (a *answer) responded() Reply {
	r := Reply{Usage: a.usage, Finish: a.finish}
	var kept []json.RawMessage
	for _, i := range a.items {
		switch i.Type {
		case "message":
			text, refusal := i.text()
			r.Text, r.Refusal = r.Text+text, r.Refusal+refusal
			kept = append(kept, []byte(`"text"`))
		case "function_call":
			r.Calls = append(r.Calls, Call{ID: cmp.Or(i.Call, i.ID), Name: i.Name, Args: json.RawMessage(i.Args)})
			kept = append(kept, []byte(`"call"`))
		case "reasoning":
			if k := i.reasoning(); k != nil {
				kept = append(kept, k)
			}
		}
	}
	if len(r.Calls) > 0 && r.Finish == "stop" {
		r.Finish = "tool_calls"
	}
	r.keep(kept)
	return r
}

// text is what a message says, and why it does not.
func (i item) text() (text, refusal string) {
	var parts []struct{ Type, Text, Refusal string }
	if json.Unmarshal(i.Content, &parts) != nil {
		_ = json.Unmarshal(i.Content, &text) // or it is nothing
	}
	for _, p := range parts {
		if p.Type == "output_text" || p.Type == "text" {
			text += p.Text
		}
		refusal += p.Refusal
	}
	return text, refusal
}

// reasoning is the item as a server takes it back, which keeps nothing itself; nil
// where it gave only the name of it.
func (i item) reasoning() json.RawMessage {
	open := bytes.HasPrefix(i.Content, []byte("[{"))
	if i.Secret == "" && !open {
		return nil
	}
	o := object{"type": i.Type, "summary": []any{}}
	if i.ID != "" {
		o["id"] = i.ID
	}
	if bytes.HasPrefix(i.Summary, []byte("[")) {
		o["summary"] = i.Summary
	}
	if open {
		o["content"] = i.Content
	}
	if i.Secret != "" {
		o["encrypted_content"] = i.Secret
	}
	return encode(o)
}
