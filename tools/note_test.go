package tools_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"rouse/tools"
)

// TestWithNote decorates schemas of every kind that servers write: each call
// that the schema accepted it accepts with a note beside it, each call that it
// refused it refuses, and a note may be left out only where it is optional.
func TestWithNote(t *testing.T) {
	tests := []struct {
		name, schema string
		good, bad    []string
	}{
		{"plain", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, []string{`{"a":"x"}`}, []string{`{}`, `{"a":1}`}},
		{"empty", `{}`, []string{`{}`, `{"a":1}`}, nil},
		{"nothing", `{"type":"object"}`, []string{`{}`}, []string{`3`}},
		{"closed", `{"type":"object","properties":{"a":{}},"additionalProperties":false}`, []string{`{"a":1}`, `{}`}, []string{`{"b":1}`}},
		{"closed and empty", `{"type":"object","additionalProperties":false}`, []string{`{}`}, []string{`{"b":1}`}},
		{"strict", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`, []string{`{"a":"x"}`}, []string{`{}`}},
		{"others are numbers", `{"type":"object","additionalProperties":{"type":"number"}}`, []string{`{"a":1}`}, []string{`{"a":"x"}`}},
		{"unevaluated", `{"type":"object","allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`, []string{`{"a":1}`}, []string{`{"b":1}`}},
		{"reference", `{"$ref":"#/$defs/q","$defs":{"q":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}}}`, []string{`{"a":"x"}`}, []string{`{}`, `{"a":"x","b":1}`}},
		{"reference with more", `{"type":"object","properties":{"b":{"type":"number"}},"required":["b"],"$ref":"#/$defs/q","$defs":{"q":{"properties":{"a":{"type":"string"},"b":{}},"required":["a"],"additionalProperties":false}}}`, []string{`{"a":"x","b":1}`}, []string{`{"b":1}`, `{"a":"x"}`}},
		{"definition used twice", `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}},"additionalProperties":false}}}`, []string{`{"next":{"next":{}}}`}, []string{`{"next":{"task_scratchpad":"x"}}`}},
		{"all of", `{"type":"object","allOf":[{"properties":{"a":{}},"additionalProperties":false},{"required":["a"]}]}`, []string{`{"a":1}`}, []string{`{}`, `{"b":1}`}},
		{"any of", `{"type":"object","anyOf":[{"properties":{"a":{}},"required":["a"],"additionalProperties":false},{"properties":{"b":{}},"required":["b"],"additionalProperties":false}]}`, []string{`{"a":1}`, `{"b":1}`}, []string{`{}`, `{"a":1,"b":1}`}},
		{"one of references", `{"type":"object","oneOf":[{"$ref":"#/definitions/a"},{"$ref":"#/definitions/b"}],"definitions":{"a":{"properties":{"a":{}},"required":["a"],"additionalProperties":false},"b":{"properties":{"b":{}},"required":["b"],"additionalProperties":false}}}`, []string{`{"a":1}`, `{"b":1}`}, []string{`{}`, `{"a":1,"b":1}`}},
		{"if", `{"type":"object","properties":{"a":{},"b":{}},"if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"required":["b"]},"else":{"properties":{"a":{}},"additionalProperties":false}}`, []string{`{"a":1,"b":2}`, `{"a":2}`}, []string{`{"a":1}`, `{"a":2,"b":1}`}},
		{"not", `{"type":"object","not":{"properties":{"a":{}},"required":["a"],"additionalProperties":false}}`, []string{`{}`, `{"a":1,"b":1}`}, []string{`{"a":1}`}},
		{"names", `{"type":"object","propertyNames":{"pattern":"^[a-c]$"}}`, []string{`{"a":1}`}, []string{`{"d":1}`}},
		{"patterns", `{"type":"object","patternProperties":{"^.":{"type":"number"}}}`, []string{`{"a":1}`}, []string{`{"a":true}`}},
		{"how many", `{"type":"object","maxProperties":1}`, []string{`{"a":1}`, `{}`}, []string{`{"a":1,"b":2}`}},
		{"references without end", `{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"type":"object"}]}}}`, []string{`{}`}, []string{`3`}},
	}
	for _, tt := range tests {
		for _, mode := range []tools.NoteMode{tools.NoteRequired, tools.NoteOptional} {
			got := tools.WithNote(json.RawMessage(tt.schema), mode, tools.NoteInFull)
			for _, args := range tt.good {
				if !accepts(t, tt.schema, args) {
					t.Fatalf("%s: the test's own schema refuses %s", tt.name, args)
				}
				if !accepts(t, string(got), noted(args)) {
					t.Errorf("%s: refuses %s\n%s", tt.name, noted(args), got)
				}
				if accepts(t, string(got), args) != (mode == tools.NoteOptional) {
					t.Errorf("%s, %s: a call without a note: %s", tt.name, mode, got)
				}
			}
			for _, args := range tt.bad {
				if accepts(t, string(got), noted(args)) {
					t.Errorf("%s: accepts %s\n%s", tt.name, noted(args), got)
				}
			}
		}
		if got := tools.WithNote(json.RawMessage(tt.schema), tools.NoteOff, tools.NoteInFull); string(got) != tt.schema {
			t.Errorf("%s: off: %s", tt.name, got)
		}
	}
}

func noted(args string) string {
	if args == "{}" {
		return `{"task_scratchpad":"a fact"}`
	}
	if args[0] != '{' {
		return args
	}
	return `{"task_scratchpad":"a fact",` + args[1:]
}

func accepts(t *testing.T, schema, args string) bool {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(schema), &s); err != nil {
		t.Fatalf("%v: %s", err, schema)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%v: %s", err, schema)
	}
	var v any
	if err := json.Unmarshal([]byte(args), &v); err != nil {
		t.Fatal(err)
	}
	return r.Validate(v) == nil
}

func TestWithNoteLeavesAlone(t *testing.T) {
	own := `{"type":"object","properties":{"task_scratchpad":{"type":"number"}}}`
	if !tools.HasOwnNote(json.RawMessage(own)) {
		t.Error("a parameter of the same name is not seen")
	}
	for _, schema := range []string{own, `true`, `not JSON`, ``, `[]`} {
		if got := tools.WithNote(json.RawMessage(schema), tools.NoteRequired, tools.NoteInFull); string(got) != schema {
			t.Errorf("%s became %s", schema, got)
		}
	}
}

// TestWithNoteIsBounded gives a schema whose references multiply without end.
func TestWithNoteIsBounded(t *testing.T) {
	bomb := `{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}}}`
	if got := tools.WithNote(json.RawMessage(bomb), tools.NoteRequired, tools.NoteInFull); len(got) > 1<<20 || !json.Valid(got) {
		t.Errorf("%d bytes, valid %v", len(got), json.Valid(got))
	}
}

func TestTakeNote(t *testing.T) {
	tests := []struct{ args, rest, note string }{
		{`{"b":1,"a":2}`, `{"b":1,"a":2}`, ""},
		{`{"b": 1.50, "task_scratchpad": " port 8080 ", "a":2}`, `{"b": 1.50, "a":2}`, "port 8080"},
		{`{"task_scratchpad":""}`, `{}`, ""},
		{`{"task_scratchpad":["x"],"a":1}`, `{"a":1}`, ""},
		{`{"task_scratchpad":null}`, `{}`, ""},
		{`{"task_scratchpad":"a","task_scratchpad":"b"}`, `{}`, "b"},
		{`{"task\u005fscratchpad":"a"}`, `{}`, "a"},
		{`{"a":{"task_scratchpad":"inner"}}`, `{"a":{"task_scratchpad":"inner"}}`, ""},
		{`["task_scratchpad"]`, `["task_scratchpad"]`, ""},
		{`"task_scratchpad"`, `"task_scratchpad"`, ""},
	}
	for _, tt := range tests {
		rest, note := tools.TakeNote(json.RawMessage(tt.args))
		if string(rest) != tt.rest || note != tt.note {
			t.Errorf("TakeNote(%s) = %s, %q", tt.args, rest, note)
		}
	}
}

func FuzzTakeNote(f *testing.F) {
	f.Add(`{"a":1,"task_scratchpad":"x"}`)
	f.Fuzz(func(t *testing.T, args string) {
		rest, _ := tools.TakeNote(json.RawMessage(args))
		var before, after map[string]any
		if json.Unmarshal([]byte(args), &before) != nil {
			return
		}
		if err := json.Unmarshal(rest, &after); err != nil {
			t.Fatalf("%s became %s", args, rest)
		}
		delete(before, tools.NoteParam)
		if keys(before) != keys(after) {
			t.Fatalf("%s became %s", args, rest)
		}
	})
}

func keys(m map[string]any) string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return fmt.Sprint(len(list), list)
}
