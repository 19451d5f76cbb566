package model_test

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"rouse/agent/model"
)

// TestOfflineRepeats is what cells of a notebook get without a model: what they
// asked, or a call that fits the schema.
func TestOfflineRepeats(t *testing.T) {
	ask := model.Request{Messages: []model.Message{{Role: model.User, Content: "north 5"}}}
	if r, err := (model.Offline{}).Reply(t.Context(), ask); err != nil || r.Text != "(offline) north 5" {
		t.Errorf("%+v, %v", r, err)
	}
	for _, text := range []string{
		`{"type":"object","properties":{"name":{"type":"string"},"n":{"type":"integer","minimum":3},"ok":{"type":"boolean"}},"required":["name","n","ok"]}`,
		`{"type":"object","properties":{"list":{"type":"array","items":{"enum":["a","b"]},"minItems":2},"k":{"const":7}},"required":["list","k"]}`,
		`{"type":"object"}`,
	} {
		ask.Force, ask.Tools = "answer", []model.Tool{{Name: "answer", Parameters: json.RawMessage(text)}}
		r, err := (model.Offline{}).Reply(t.Context(), ask)
		if err != nil || len(r.Calls) != 1 || r.Calls[0].Name != "answer" {
			t.Fatalf("%s: %+v, %v", text, r, err)
		}
		var s jsonschema.Schema
		var v any
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(r.Calls[0].Args, &v); err != nil {
			t.Fatal(err)
		}
		if rs, err := s.Resolve(nil); err != nil || rs.Validate(v) != nil {
			t.Errorf("%s does not fit %s", r.Calls[0].Args, text)
		}
	}
}
