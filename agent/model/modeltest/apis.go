package modeltest

import "rouse/agent/model"

// speak is the answer of a server of another API, as one object or as a stream.
func (r Reply) speak(stream bool) [][]byte {
	parts := []any{}
	for _, k := range r.Kept {
		parts = append(parts, k)
	}
	u := r.Usage
	if u == nil {
		u = new(model.Usage)
	}
	if r.API == model.Responses {
		if r.Text != "" {
			parts = append(parts, object{"type": "message", "content": []object{{"type": "output_text", "text": r.Text}}})
		}
		for _, c := range r.Calls {
			parts = append(parts, object{"type": "function_call", "id": "fc_" + c.ID, "call_id": c.ID, "name": c.Name, "arguments": string(c.Args)})
		}
		whole := object{"object": "response", "status": "completed", "output": parts, "usage": object{"input_tokens": u.Input,
			"output_tokens": u.Output, "input_tokens_details": object{"cached_tokens": u.Cached}}}
		return pick(stream, whole, object{"type": "response.completed", "response": whole})
	}
	if r.Text != "" {
		parts = append(parts, object{"type": "text", "text": r.Text})
	}
	for _, c := range r.Calls {
		parts = append(parts, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Args})
	}
	stop := map[string]string{"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}[r.finish()]
	usage := object{"input_tokens": u.Input - u.Cached - u.Written, "cache_read_input_tokens": u.Cached,
		"cache_creation_input_tokens": u.Written, "output_tokens": u.Output}
	events := []object{}
	for i, p := range parts {
		events = append(events, object{"type": "content_block_start", "index": i, "content_block": p})
	}
	events = append(events, object{"type": "message_delta", "delta": object{"stop_reason": stop}, "usage": usage}, object{"type": "message_stop"})
	return pick(stream, object{"type": "message", "content": parts, "stop_reason": stop, "usage": usage}, events...)
}

func pick(stream bool, whole object, events ...object) (all [][]byte) {
	if !stream {
		return [][]byte{encode(whole)}
	}
	for _, e := range events {
		all = append(all, event(e))
	}
	return all
}
