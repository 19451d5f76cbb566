package model_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rouse/agent/model"
	"rouse/agent/model/modeltest"
)

// thought is a conversation of two iterations, the first with two calls, in which
// things are kept of both APIs that have such.
func thought() model.Request {
	req := native()
	kept := `[{"type":"reasoning","summary":[],"encrypted_content":"g="},{"type":"thinking","thinking":"","signature":"E="},"text","call"]`
	req.Messages = append([]model.Message{
		{Role: model.System, Content: "rules"}, {Role: model.User, Content: "go"},
		{Role: model.Assistant, Content: "look", Kept: json.RawMessage(kept), Calls: []model.Call{call("a", "echo", `{"stream":true}`), call("b", "echo", `{}`)}},
		{Role: model.Result, Call: "a", Content: "1"}, {Role: model.Result, Call: "b"},
		{Role: model.Assistant, Calls: []model.Call{call("c", "echo", `{}`)}},
	}, model.Message{Role: model.Result, Call: "c", Content: "3"}, native().Messages[3])
	return req
}

// TestBodies: what is sent, each thing where the API has it.
func TestBodies(t *testing.T) {
	const schema = `{"type":"object","properties":{"z":{},"a":{}}}`
	const mark = `"cache_control":{"type":"ephemeral"},`
	forced := model.Request{Messages: []model.Message{{Role: model.User}}, Tools: native().Tools, Force: "echo", MaxOutput: 9}
	style := `{"temperature":0,"reasoning_effort":"low","extra":{"top_k":3,"max_tokens":null,"reasoning":{"summary":"auto"}}}`
	tests := []struct {
		name, form, style string
		req               model.Request
		want              string
	}{
		{"responses", "responses", "", thought(), `{"include":["reasoning.encrypted_content"],"input":[{"type":"message","role":"user","content":"go"},` +
			`{"type":"reasoning","summary":[],"encrypted_content":"g="},{"type":"message","role":"assistant","content":"look"},` +
			`{"type":"function_call","call_id":"a","name":"echo","arguments":"{\"stream\":true}"},{"type":"function_call","call_id":"b","name":"echo","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"a","output":"1"},{"type":"function_call_output","call_id":"b","output":"(empty)"},` +
			`{"type":"function_call","call_id":"c","name":"echo","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"3"},` +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"pictures"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,cG5n"}]}],` +
			`"instructions":"rules","max_output_tokens":50,"model":"m","store":false,"stream":true,` +
			`"tools":[{"description":"says","name":"echo","parameters":` + schema + `,"strict":false,"type":"function"}]}`},
		{"messages", "messages plain", "", thought(), `{"model":"m","max_tokens":50,"stream":false,"system":[{` + mark + `"text":"rules","type":"text"}],` +
			`"tools":[{"description":"says","input_schema":` + schema + `,"name":"echo"}],"messages":[{"role":"user","content":[{"text":"go","type":"text"}]},` +
			`{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"E="},{"text":"look","type":"text"},` +
			`{"id":"a","input":{"stream":true},"name":"echo","type":"tool_use"},{"id":"b","input":{},"name":"echo","type":"tool_use"}]},` +
			`{"role":"user","content":[{"content":"1","tool_use_id":"a","type":"tool_result"},{` + mark + `"content":"(empty)","tool_use_id":"b","type":"tool_result"}]},` +
			`{"role":"assistant","content":[{"id":"c","input":{},"name":"echo","type":"tool_use"}]},` +
			`{"role":"user","content":[{"content":"3","tool_use_id":"c","type":"tool_result"},{` + mark + `"text":"pictures","type":"text"},` +
			`{"source":{"data":"cG5n","media_type":"image/png","type":"base64"},"type":"image"}]}]}`},
		{"responses, with style", "responses bare", style, forced, `{"input":[{"type":"message","role":"user","content":"(empty)"}],"max_output_tokens":9,"model":"m",` +
			`"reasoning":{"effort":"low","summary":"auto"},"store":false,"stream":true,"temperature":0,"tool_choice":{"name":"echo","type":"function"},` +
			`"tools":[{"description":"says","name":"echo","parameters":` + schema + `,"strict":false,"type":"function"}],"top_k":3}`},
		{"messages, with style", "messages", style, forced, `{"messages":[{"role":"user","content":[{"text":"(empty)","type":"text"}]}],"model":"m",` +
			`"output_config":{"effort":"low"},"reasoning":{"summary":"auto"},"stream":true,"temperature":0,"tool_choice":{"name":"echo","type":"tool"},` +
			`"tools":[{"description":"says","input_schema":` + schema + `,"name":"echo"}],"top_k":3}`},
		{"messages, thinking", "messages", `{"reasoning_effort":"max"}`, model.Request{}, `{"max_tokens":50,"messages":[],"model":"m",` +
			`"output_config":{"effort":"max"},"stream":true,"thinking":{"type":"adaptive"}}`},
		{"messages, no thinking", "messages", `{"reasoning_effort":"none"}`, model.Request{}, `{"max_tokens":50,"messages":[],"model":"m",` +
			`"stream":true,"thinking":{"type":"disabled"}}`},
		{"chat", "", "", native(), `{"model":"m","messages":[{"role":"user","content":"go"},{"role":"assistant",` +
			`"tool_calls":[{"id":"a","type":"function","function":{"name":"echo","arguments":"{\"x\":1}"}}]},{"role":"tool","content":"{\"step\":1,\"ok\":true}","tool_call_id":"a"},` +
			`{"role":"user","content":[{"type":"text","text":"pictures"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]}],"max_tokens":50,"stream":true,` +
			`"tools":[{"function":{"name":"echo","description":"says","parameters":` + schema + `},"type":"function"}],"stream_options":{"include_usage":true}}`},
		{"chat, with style", "bare", style, model.Request{Messages: thought().Messages[1:3]}, `{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":"look",` +
			`"tool_calls":[{"id":"a","type":"function","function":{"name":"echo","arguments":"{\"stream\":true}"}},{"id":"b","type":"function","function":{"name":"echo","arguments":"{}"}}]}],` +
			`"model":"m","reasoning":{"summary":"auto"},"reasoning_effort":"low","stream":true,"temperature":0,"top_k":3}`},
	}
	for _, tt := range tests {
		got, err := model.Body(model.Options{Name: "m", MaxOutput: 50, Style: tt.style}, tt.req, tt.form)
		if diff := cmp.Diff(tt.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", tt.name, err, got)
		}
	}
}

// TestServer: what an address says of the API, and where that is.
func TestServer(t *testing.T) {
	for base, want := range map[string]string{
		"": "https://api.openai.com/v1 ", "https://api.openai.com/v1/": "https://api.openai.com/v1 ",
		"https://api.anthropic.com": "https://api.anthropic.com/v1 messages", "https://api.anthropic.com/v1": "https://api.anthropic.com/v1 messages",
		"https://anthropic.com.example": "https://anthropic.com.example ", "https://a.example/anthropic": "https://a.example/anthropic/v1 messages", "http://127.0.0.1:1/v1/messages": "http://127.0.0.1:1/v1 messages",
		"http://127.0.0.1:1/v1/responses": "http://127.0.0.1:1/v1 responses", "http://127.0.0.1:1/v1/chat/completions": "http://127.0.0.1:1/v1 chat",
	} {
		if root, by := model.Server(model.Auto, base); root+" "+by != want {
			t.Errorf("%s: %s %s", base, root, by)
		}
	}
}

// TestFoundOut: where the address does not tell, each API is tried once, and what
// worked is asked by from then on. What the user chose is never left.
func TestFoundOut(t *testing.T) {
	tests := []struct {
		name, api, known string
		replies          []modeltest.Reply
		want             string // paths
		found, err       string
	}{
		{"chat", "", "", []modeltest.Reply{{}, {}}, "chat/completions chat/completions", "", ""},
		{"responses", "auto", "", []modeltest.Reply{{API: "responses"}, {API: "responses"}}, "chat/completions responses responses", "responses", ""},
		{"messages", "", "", []modeltest.Reply{{API: "messages"}, {API: "messages"}}, "chat/completions responses messages messages", "messages", ""},
		{"known", "", "messages", []modeltest.Reply{{API: "messages"}, {API: "messages"}}, "messages messages", "messages", ""},
		{"known, and no longer so", "", "messages", []modeltest.Reply{{}, {}}, "messages chat/completions chat/completions", "", ""},
		{"chosen", "messages", "", []modeltest.Reply{{API: "responses"}}, "messages", "", "404 Not Found: no such path: /v1/messages (POST"},
		{"said", "", "", []modeltest.Reply{{Status: 400, Text: "This model is only supported in v1/responses and not in v1/chat/completions."},
			{API: "responses"}, {API: "responses"}}, "chat/completions responses responses", "responses", ""},
		{"no such model", "", "", []modeltest.Reply{{Status: 404, Text: "model 'm' not found"}}, "chat/completions", "", "model 'm' not found"},
		{"none", "", "", []modeltest.Reply{{API: "mystery"}}, "chat/completions responses messages", "", "no such path: /v1/chat/completions (POST"},
	}
	for _, tt := range tests {
		s := modeltest.New(tt.replies...)
		c := newClient(t, s, model.Options{API: tt.api})
		reply, err := c.Reply(t.Context(), model.Request{API: tt.known})
		if err == nil {
			reply, err = c.Reply(t.Context(), model.Request{API: reply.API})
		}
		var paths []string
		for _, r := range s.Requests() {
			paths = append(paths, strings.TrimPrefix(r.Path, "/v1/"))
		}
		if got := strings.Join(paths, " "); got != tt.want || reply.API != tt.found || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: asked %s, found %q, %v", tt.name, got, reply.API, err)
		}
	}
}

// TestAnthropicErrors: what its server refuses is what it is by any API.
func TestAnthropicErrors(t *testing.T) {
	wrong := func(kind, text string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"` + text + `"},"request_id":"req_1"}`
	}
	tests := []struct {
		status    int
		body      string
		want      string
		requests  int
		away      bool
		otherwise error
	}{
		{529, wrong("overloaded_error", "Overloaded"), ": Overloaded (2 attempts)", 2, true, nil},
		{429, wrong("rate_limit_error", "slow"), "429 Too Many Requests: slow (2 attempts)", 2, false, nil},
		{401, wrong("authentication_error", "invalid x-api-key"), "invalid x-api-key (POST URL/messages, key from MY_KEY)", 1, true, nil},
		{400, wrong("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), "credit balance is too low", 1, true, nil},
		{400, wrong("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), "too long", 1, false, model.ErrTooLong},
		{404, wrong("not_found_error", "model: claude-x"), "404 Not Found: model: claude-x", 1, false, nil},
	}
	for _, tt := range tests {
		reply := modeltest.Reply{API: "messages", Status: tt.status, Body: tt.body, Headers: map[string]string{"Retry-After": "0"}}
		s := modeltest.New(reply, reply)
		_, err := newClient(t, s, model.Options{API: "messages", Key: "sk-" + "ant-0123", KeyName: "MY_KEY", Retries: 1}).Reply(t.Context(), question)
		if err == nil || !strings.Contains(err.Error(), strings.Replace(tt.want, "URL", s.URL(), 1)) || model.Away(err) != tt.away || !errors.Is(err, tt.otherwise) && tt.otherwise != nil || !model.Unbilled(err) {
			t.Errorf("%s: %v, away %v", tt.body, err, model.Away(err))
		}
		all := s.Requests()
		if h := all[0].Header; len(all) != tt.requests || h.Get("X-Api-Key") != "sk-"+"ant-0123" || h.Get("Anthropic-Version") != "2023-06-01" {
			t.Errorf("%s: %d requests, %v", tt.body, len(all), h)
		}
	}
}
