package tools

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// What New draws is shown as package jsonschema would write it.
func TestDraw(t *testing.T) {
	type args struct {
		Text   string            `json:"text" jsonschema:"a <b> \"c\" é"`
		List   []string          `json:"list,omitempty"`
		Count  int               `json:"count,omitempty"`
		Share  float64           `json:"share"`
		Map    map[string]string `json:"map,omitempty"`
		Part   struct{ Is bool } `json:"part"`
		Any    any               `json:"any,omitempty"`
		Nested [][]int           `json:"nested,omitempty"`
	}
	low, high := 1.0, 1e21
	tool := New("x", "", func(context.Context, Call, args) Result { return Result{} })
	p := tool.Schema.Properties
	p["count"].Minimum, p["count"].Maximum, p["text"].Enum = &low, &high, []any{"a", 1.5, nil}
	none := New("y", "", func(context.Context, Call, struct{}) Result { return Result{} })
	for _, s := range []*jsonschema.Schema{tool.Schema, none.Schema, Echo().Schema} {
		want, err := json.Marshal(s)
		if got := draw(nil, s); err != nil || string(got) != string(want) {
			t.Errorf("%v\n got %s\nwant %s", err, got, want)
		}
	}
}
