package dispatcher

import (
	"encoding/json"
	"testing"

	"rouse/tools"
)

// A call of call_tool is that of the tool it names, with the note and the evidence beside it, unless that tool
// has parameters of these names: then they are its own.
func TestCalled(t *testing.T) {
	hidden := []tools.Tool{
		{Name: "a__b", Source: "mcp a"},
		{Name: "a__own", Source: "mcp a", Raw: json.RawMessage(`{"properties":{"task_scratchpad":{},"evidence":{}}}`)},
	}
	set, err := tools.NewSet(tools.Behind(hidden, 0)...)
	if err != nil {
		t.Fatal(err)
	}
	d := &Dispatcher{Tools: set}
	for _, tt := range []struct{ args, tool, want string }{
		{`{"name":"a__b","args":{"x": 1.50},"task_scratchpad":"n","evidence":[]}`, "a__b", `{"x": 1.50,"task_scratchpad":"n","evidence":[]}`},
		{`{"name":"a__b","args":"{\"x\":1}"}`, "a__b", `{"x":1}`},
		{`{"name":"a__b","args":{"task_scratchpad":"inner"},"task_scratchpad":"outer"}`, "a__b", `{"task_scratchpad":"inner"}`},
		{`{"name":"a__b","args":null}`, "a__b", `{}`},
		{`{"name":"a__own","args":{"task_scratchpad":1},"task_scratchpad":"n","evidence":[]}`, "a__own", `{"task_scratchpad":1}`},
		{`{"name":"done","args":{"summary":"s"},"evidence":[]}`, "done", `{"summary":"s","evidence":[]}`},
		{`{"name":"a__b","args":[1]}`, "call_tool", `{"name":"a__b","args":[1]}`},
		{`{"args":{}}`, "call_tool", `{"args":{}}`},
		{`no object`, "call_tool", `no object`},
	} {
		if got := d.called(Action{Tool: tools.CallName, Args: json.RawMessage(tt.args)}); got.Tool != tt.tool || string(got.Args) != tt.want {
			t.Errorf("%s is %s(%s)", tt.args, got.Tool, got.Args)
		}
	}
	// A command of the operator's that is called so is no door.
	if d.Tools, err = tools.NewSet(tools.Tool{Name: tools.CallName}); err != nil || d.called(Action{Tool: tools.CallName, Args: json.RawMessage(`{"name":"a"}`)}).Tool != tools.CallName {
		t.Error(err)
	}
}
