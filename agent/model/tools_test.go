package model_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rouse/agent/model"
	"rouse/agent/model/modeltest"
)

// asked is what a native request looks like on the wire.
type asked struct {
	Messages []struct {
		Role    string
		Content any
		Call    string `json:"tool_call_id"`
		Calls   []struct {
			ID, Type string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	Tools []struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
}

func native() model.Request {
	return model.Request{
		Messages: []model.Message{
			{Role: model.User, Content: "go"},
			{Role: model.Assistant, Calls: []model.Call{{ID: "a", Name: "echo", Args: json.RawMessage(`{"x":1}`)}}},
			{Role: model.Result, Call: "a", Content: `{"step":1,"ok":true}`},
			{Role: model.User, Content: "pictures", Images: []model.Image{{Type: "image/png", Data: []byte("png")}}},
		},
		Tools: []model.Tool{{Name: "echo", Description: "says", Parameters: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`)}},
	}
}

func TestNativeRequest(t *testing.T) {
	s := modeltest.New(modeltest.Reply{Action: json.RawMessage(`{"tool":"echo","args":{"a":"b"}}`)})
	reply, err := newClient(t, s, model.Options{}).Reply(t.Context(), native())
	if err != nil || len(reply.Calls) != 1 || reply.Calls[0].Name != "echo" || string(reply.Calls[0].Args) != `{"a":"b"}` {
		t.Fatalf("%+v, %v", reply, err)
	}
	var got asked
	if err := json.Unmarshal(s.Requests()[0].Body, &got); err != nil {
		t.Fatal(err)
	}
	if c := got.Messages[1].Calls; len(c) != 1 || c[0].ID != "a" || c[0].Type != "function" || c[0].Function.Arguments != `{"x":1}` {
		t.Errorf("calls %+v", c)
	}
	if m := got.Messages[2]; m.Role != "tool" || m.Call != "a" || m.Content != `{"step":1,"ok":true}` {
		t.Errorf("result %+v", m)
	}
	parts := []any{
		map[string]any{"type": "text", "text": "pictures"},
		map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64,cG5n"}},
	}
	if diff := cmp.Diff(any(parts), got.Messages[3].Content); diff != "" {
		t.Error(diff)
	}
	if f := got.Tools[0].Function; f.Name != "echo" || f.Description != "says" || string(f.Parameters) != string(native().Tools[0].Parameters) {
		t.Errorf("tool %+v", f)
	}
}

// TestRefusals are how servers say what they do not take; what can be mended by
// asking otherwise is told apart, and is not asked again as it was.
func TestRefusals(t *testing.T) {
	tests := []struct {
		status int
		text   string
		want   error
	}{
		{400, "registry.ollama.ai/library/gemma:2b does not support tools", model.ErrNoTools},
		{400, `"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`, model.ErrNoTools},
		{500, "tools param requires --jinja flag", model.ErrNoTools},
		{404, "No endpoints found that support tool use. Try disabling \"shell\".", model.ErrNoTools},
		{400, "Unrecognized request argument supplied: tools", model.ErrNoTools},
		{422, "extra fields not permitted: tools", model.ErrNoTools},
		{501, "function calling is not supported by this model: functions are not supported", model.ErrNoTools},
		{400, "Invalid schema for function 'shell': [] is not of type 'object'", nil},
		{400, "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'", nil},
		{400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.", model.ErrTooLong},
		{400, "the request exceeds the available context size. try increasing it", model.ErrTooLong},
		{400, "prompt is too long: 210000 tokens > 200000 maximum", model.ErrTooLong},
		{413, "Payload Too Large", model.ErrTooLong},
		{400, "Input length exceeds the maximum number of tokens", model.ErrTooLong},
		{401, "tools are not supported for this key", nil},
		{429, "Rate limit reached: too many tokens per minute", nil},
		{400, "max_tokens must be at least 1", nil},
	}
	for _, tt := range tests {
		s := modeltest.New(modeltest.Reply{Status: tt.status, Text: tt.text})
		_, err := newClient(t, s, model.Options{}).Reply(t.Context(), native())
		for _, is := range []error{model.ErrNoTools, model.ErrTooLong} {
			if errors.Is(err, is) != (tt.want == is) {
				t.Errorf("%d %q: %v", tt.status, tt.text, err)
			}
		}
		if n := len(s.Requests()); n != 1 {
			t.Errorf("%d %q: asked %d times", tt.status, tt.text, n)
		}
	}
}

func TestRefusedImages(t *testing.T) {
	s := modeltest.New(modeltest.Reply{Status: 400, Text: "this model does not take image input"}, modeltest.Reply{Text: "I see"})
	reply, err := newClient(t, s, model.Options{}).Reply(t.Context(), native())
	if err != nil || reply.Text != "I see" {
		t.Fatalf("%+v, %v", reply, err)
	}
	var got asked
	if err := json.Unmarshal(s.Requests()[1].Body, &got); err != nil || got.Messages[3].Content != "pictures" {
		t.Errorf("%v: %+v", err, got.Messages[3])
	}
}

func TestOfflineAnswersNatively(t *testing.T) {
	req := request("current_task: |\n  echo message=hi\n  shell command=date\n")
	req.Tools = native().Tools
	steps := []struct{ name, args, result string }{
		{"echo", `{"message":"hi"}`, `{"step":1,"ok":true,"content":"hi"}`},
		{"shell", `{"command":"date"}`, `{"step":2,"ok":true,"content":"today"}`},
		{"done", `{"summary":"shell: today"}`, ""},
	}
	for _, want := range steps {
		r, err := model.Offline{}.Reply(t.Context(), req)
		if err != nil || len(r.Calls) != 1 || r.Calls[0].Name != want.name || string(r.Calls[0].Args) != want.args {
			t.Fatalf("%+v, %v, want %+v", r, err, want)
		}
		req.Messages = append(req.Messages, model.Message{Role: model.Assistant, Calls: r.Calls},
			model.Message{Role: model.Result, Call: r.Calls[0].ID, Content: want.result})
	}
	req.Messages[len(req.Messages)-1].Content = `{"step":3,"ok":false,"error":"no"}`
	if r, err := (model.Offline{}).Reply(t.Context(), req); err == nil {
		t.Errorf("after a failure: %+v", r)
	}
}
