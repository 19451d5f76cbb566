package model

import (
	"encoding/json"
	"fmt"
)

// repeat answers a request that has no state: with the text of its last message,
// or with the simplest call of the tool that must be called.
func repeat(req Request) (Reply, error) {
	if len(req.Messages) == 0 {
		return Reply{}, fmt.Errorf("offline model: an empty request")
	}
	text := req.Messages[len(req.Messages)-1].Content
	for _, t := range req.Tools {
		if t.Name != req.Force {
			continue
		}
		var s schema
		if err := json.Unmarshal(t.Parameters, &s); err != nil {
			return Reply{}, fmt.Errorf("offline model: parameters of %s: %v", t.Name, err)
		}
		call := Call{ID: "call_1", Name: t.Name, Args: encode(s.simplest(text, 0))}
		return Reply{Calls: []Call{call}, Finish: "tool_calls"}, nil
	}
	return Reply{Text: "(offline) " + text, Finish: "stop"}, nil
}

// schema is the part of JSON Schema that says what a value may look like.
type schema struct {
	Type       any
	Enum       []any
	Const      any
	Properties map[string]schema
	Required   []string
	Items      *schema
	MinItems   int
	Minimum    float64
}

// simplest is a value that fits most schemas: texts are what was asked.
func (s schema) simplest(text string, depth int) any {
	kind, _ := s.Type.(string)
	switch {
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case depth > 10:
		return nil
	case kind == "object":
		o := map[string]any{}
		for _, name := range s.Required {
			o[name] = s.Properties[name].simplest(text, depth+1)
		}
		return o
	case kind == "array":
		list := []any{}
		for s.Items != nil && len(list) < min(s.MinItems, 10) {
			list = append(list, s.Items.simplest(text, depth+1))
		}
		return list
	case kind == "integer" || kind == "number":
		return s.Minimum
	case kind == "boolean":
		return false
	case kind == "null":
		return nil
	}
	return text
}
