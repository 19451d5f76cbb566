package modeltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"rouse/agent/model"
	"rouse/internal/jsonl"
)

type object = map[string]any

// body returns what to send, in the pieces that are flushed.
func (r Reply) body(stream, usage bool) [][]byte {
	switch {
	case r.Body != "":
		return [][]byte{[]byte(r.Body)}
	case r.Status != 0 && r.Status != 200:
		return [][]byte{encode(object{"error": object{"message": r.Text}})}
	case r.API != "":
		return r.speak(stream)
	case stream:
		return r.events(usage)
	default:
		return [][]byte{encode(r.completion())}
	}
}

// act makes the answer of the action: a native call, or a text.
func (r *Reply) act(native bool) {
	if r.Action == nil {
		return
	}
	if !native {
		r.Text += string(r.Action)
		return
	}
	c := model.Call{ID: fmt.Sprintf("call_%x", sha256.Sum256(r.Action))[:16]}
	if err := json.Unmarshal(r.Action, &struct {
		Tool *string
		Args *json.RawMessage
	}{&c.Name, &c.Args}); err != nil {
		panic("modeltest: action: " + err.Error())
	}
	r.Calls = append(r.Calls, c)
}

func (r Reply) finish() string {
	switch {
	case r.Finish != "":
		return r.Finish
	case len(r.Calls) > 0:
		return "tool_calls"
	default:
		return "stop"
	}
}

func (r Reply) completion() object {
	message := object{"role": "assistant", "content": r.Text}
	if len(r.Calls) > 0 {
		calls := make([]object, len(r.Calls))
		for i, c := range r.Calls {
			calls[i] = object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": string(c.Args)}}
		}
		message["tool_calls"] = calls
	}
	whole := object{"id": "chatcmpl-test", "object": "chat.completion",
		"choices": []object{{"index": 0, "message": message, "finish_reason": r.finish()}}}
	if r.Usage != nil {
		whole["usage"] = wire(*r.Usage)
	}
	return whole
}

// events is the answer as a stream, the way that OpenAI's server writes it.
func (r Reply) events(usage bool) [][]byte {
	events := [][]byte{delta(object{"role": "assistant", "content": ""}, nil)}
	for _, piece := range pieces(r.Text) {
		events = append(events, delta(object{"content": piece}, nil))
	}
	for i, c := range r.Calls {
		events = append(events, delta(object{"tool_calls": []object{{"index": i, "id": c.ID, "type": "function",
			"function": object{"name": c.Name, "arguments": ""}}}}, nil))
		for _, piece := range pieces(string(c.Args)) {
			events = append(events, delta(object{"tool_calls": []object{{"index": i,
				"function": object{"arguments": piece}}}}, nil))
		}
	}
	events = append(events, delta(object{}, r.finish()))
	if r.Usage != nil && usage {
		events = append(events, event(object{"id": "chatcmpl-test", "choices": []object{}, "usage": wire(*r.Usage)}))
	}
	return append(events, []byte("data: [DONE]\n\n"))
}

func delta(d object, finish any) []byte {
	return event(object{"id": "chatcmpl-test", "object": "chat.completion.chunk",
		"choices": []object{{"index": 0, "delta": d, "finish_reason": finish}}})
}

func event(o object) []byte {
	return append(append([]byte("data: "), encode(o)...), '\n', '\n')
}

func wire(u model.Usage) object {
	return object{"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details": object{"cached_tokens": u.Cached}}
}

// pieces cuts text between characters, into at most about 64 pieces.
func pieces(text string) []string {
	size := max(16, len(text)/64)
	var all []string
	for len(text) > size {
		end := size
		for end > 1 && !utf8.RuneStart(text[end]) {
			end--
		}
		all = append(all, text[:end])
		text = text[end:]
	}
	if text != "" {
		all = append(all, text)
	}
	return all
}

func encode(o object) []byte {
	line, err := jsonl.Marshal(o)
	if err != nil {
		panic("modeltest: " + err.Error())
	}
	return bytes.TrimRight(line, "\n")
}
