package model_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"rouse/agent/model"
	"rouse/agent/model/modeltest"
)

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
	if sent := string(s.Requests()[1].Body); !strings.Contains(sent, `{"role":"user","content":"pictures"}`) {
		t.Error(sent)
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
