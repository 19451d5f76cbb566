package tools

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// draw appends a schema as package jsonschema would write it, as far as [New] draws
// schemas and our tools refine them: it would take a twentieth of a cycle for it.
func draw(text []byte, s *jsonschema.Schema) []byte {
	if s.Not != nil {
		return append(text, "false"...)
	}
	begun := len(text)
	member := func(key string) { text = append(append(append(text, `,"`...), key...), `":`...) }
	value := func(key string, has bool, v any) {
		if has {
			member(key)
			value, _ := json.Marshal(v) // texts and numbers always have a JSON form
			text = append(text, value...)
		}
	}
	schema := func(key string, s *jsonschema.Schema) {
		if s != nil {
			member(key)
			text = draw(text, s)
		}
	}
	value("type", s.Type != "", s.Type)
	value("type", s.Types != nil, s.Types)
	if s.Properties != nil {
		member("properties")
		first := len(text)
		for _, name := range s.PropertyOrder {
			schema(name, s.Properties[name])
		}
		text = braced(text, first)
	}
	schema("items", s.Items)
	value("description", s.Description != "", s.Description)
	value("enum", s.Enum != nil, s.Enum)
	value("minimum", s.Minimum != nil, s.Minimum)
	value("maximum", s.Maximum != nil, s.Maximum)
	value("required", len(s.Required) > 0, s.Required)
	schema("additionalProperties", s.AdditionalProperties)
	if len(text) == begun {
		return append(text, "true"...)
	}
	return braced(text, begun)
}

// braced makes an object of the members that are in text from there on.
func braced(text []byte, from int) []byte {
	if len(text) == from {
		return append(text, "{}"...)
	}
	text[from] = '{' // where a comma was
	return append(text, '}')
}
