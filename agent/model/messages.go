package model

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// messagesRequest is what a server that speaks Anthropic's Messages API is sent.
type messagesRequest struct {
	Model  string   `json:"model"`
	Most   int      `json:"max_tokens"`
	Stream bool     `json:"stream"`
	System []object `json:"system,omitempty"`
	Tools  []object `json:"tools,omitempty"`
	Choice object   `json:"tool_choice,omitempty"`
	Turns  []turn   `json:"messages"`
}

// turn is what one side says; the two take turns.
type turn struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

// leastOutput is asked for where no bound is set, as that API wants one.
const leastOutput = 8192

func (f form) messages(opt Options, req Request) any {
	r := messagesRequest{Model: opt.Name, Most: cmp.Or(req.most(opt), leastOutput), Stream: true, Turns: []turn{}}
	for i, m := range req.Messages {
		switch {
		case i == 0 && m.Role == System:
			r.System = []object{textBlock(m.Content)}
		case m.Role == Assistant:
			r.add(Assistant, spoken(m)...)
		case m.Role == Result:
			r.add(User, object{"type": "tool_result", "tool_use_id": m.Call, "content": said(m.Content)})
		default:
			r.add(User, textBlock(m.Content))
			for _, i := range m.Images {
				if !f.blind {
					r.add(User, object{"type": "image", "source": object{
						"type": "base64", "media_type": i.Type, "data": base64.StdEncoding.EncodeToString(i.Data)}})
				}
			}
		}
	}
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, object{"name": t.Name, "description": t.Description, "input_schema": t.Parameters})
	}
	if req.Force != "" {
		r.Choice = object{"type": "tool", "name": req.Force}
	}
	r.mark(len(req.Tools) > 0 && req.Force == "")
	return r
}

func textBlock(text string) object { return object{"type": "text", "text": said(text)} }

// add puts blocks into the turn of a role: all results of one assistant's turn are in
// one of the user's, with what is said after them.
func (r *messagesRequest) add(role string, blocks ...any) {
	if n := len(r.Turns); n == 0 || r.Turns[n-1].Role != role {
		r.Turns = append(r.Turns, turn{Role: role})
	}
	last := &r.Turns[len(r.Turns)-1]
	last.Content = append(last.Content, blocks...)
}

// spoken are the blocks of an assistant's message.
func spoken(m Message) (blocks []any) {
	for _, p := range m.parts("thinking", "redacted_thinking") {
		switch {
		case p.kept != nil:
			blocks = append(blocks, p.kept)
		case p.call != nil:
			blocks = append(blocks, object{"type": "tool_use", "id": p.call.ID, "name": p.call.Name, "input": p.call.Args})
		default:
			blocks = append(blocks, textBlock(p.text))
		}
	}
	return blocks
}

// mark says up to where the next request will begin as this one does: the tools and
// the rules, and in a conversation that grows the last two turns of the user, of which
// the earlier one is where the request before ended. Pictures are shown once.
func (r *messagesRequest) mark(grows bool) {
	cached := object{"type": "ephemeral"}
	if len(r.System) > 0 {
		r.System[0]["cache_control"] = cached
	}
	for i, left := len(r.Turns)-1, 2; i >= 0 && left > 0 && grows; i-- {
		if r.Turns[i].Role == Assistant {
			continue
		}
		left--
		for k := len(r.Turns[i].Content) - 1; k >= 0; k-- {
			if block, ok := r.Turns[i].Content[k].(object); ok && block["type"] != "image" {
				block["cache_control"] = cached
				break
			}
		}
	}
}

// block is one of a reply's content, and in a stream grows.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`

	more strings.Builder
}

// whole is a reply in one piece, or what a stream says of it.
type whole struct {
	Content []*block        `json:"content"`
	Stop    string          `json:"stop_reason"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

// message takes one event of a Messages server.
func (a *answer) message(event []byte) error {
	var e struct {
		whole
		Type    string
		Index   int
		Message whole
		Block   *block `json:"content_block"`
		Delta   struct {
			Type, Text, Thinking, Signature string

			Input string `json:"partial_json"`
			Stop  string `json:"stop_reason"`
		}
	}
	if err := json.Unmarshal(event, &e); err != nil {
		return damaged("reply is not what a message looks like: %v", err)
	}
	if e.Type == "error" || isError(e.Error) {
		return complaintOf(e.Error, a.quote).failure()
	}
	for _, b := range append(e.Content, e.Block) {
		if b != nil {
			a.blocks = append(a.blocks, b)
		}
	}
	if e.Block != nil {
		if a.at == nil {
			a.at = map[int]*block{}
		}
		a.at[e.Index] = e.Block
	}
	if b := a.at[e.Index]; b != nil && e.Type == "content_block_delta" {
		b.more.WriteString(e.Delta.Text + e.Delta.Input + e.Delta.Thinking)
		b.Signature += e.Delta.Signature
	}
	a.countTokens(e.Message.Usage)
	a.countTokens(e.Usage)
	a.finish = cmp.Or(stopReason(cmp.Or(e.Stop, e.Delta.Stop)), a.finish)
	a.marked = e.Type == "message_stop"
	return nil
}

// stopReason is in the words of Chat Completions.
func stopReason(reason string) string {
	switch reason {
	case "end_turn", "stop_sequence", "pause_turn":
		return "stop"
	case "tool_use":
		return "tool_calls"
	case "max_tokens", "model_context_window_exceeded":
		return "length"
	case "refusal":
		return "content_filter"
	}
	return reason
}

// told is the reply of a Messages server.
func (a *answer) told() Reply {
	r := Reply{Usage: a.usage, Finish: a.finish}
	var kept []json.RawMessage
	for _, b := range a.blocks {
		more := b.more.String()
		switch b.Type {
		case "text":
			r.Text += b.Text + more
			kept = append(kept, []byte(`"text"`))
		case "tool_use":
			args := b.Input
			if more != "" {
				args = json.RawMessage(more)
			}
			r.Calls = append(r.Calls, Call{ID: b.ID, Name: b.Name, Args: args})
			kept = append(kept, []byte(`"call"`))
		case "thinking":
			kept = append(kept, encode(object{"type": b.Type, "thinking": b.Thinking + more, "signature": b.Signature}))
		case "redacted_thinking":
			kept = append(kept, encode(object{"type": b.Type, "data": b.Data}))
		}
	}
	r.keep(kept)
	return r
}
