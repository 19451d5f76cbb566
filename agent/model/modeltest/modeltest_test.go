package modeltest_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse/agent/model"
	"rouse/agent/model/modeltest"
)

// load makes a server of a replies file.
func load(t *testing.T, lines string) (*modeltest.Server, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "replies.jsonl")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := modeltest.Load(path)
	if s != nil {
		t.Cleanup(s.Close)
	}
	return s, err
}

// post sends a chat request and returns status and body, or how far they came.
func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		text = append(text, (" !" + err.Error())...)
	}
	return resp.StatusCode, string(text)
}

func TestLoad(t *testing.T) {
	s, err := load(t, `{"text":"<é>","usage":{"input":5,"cached":2,"output":3}}
{"text":"<é>","usage":{"input":5,"output":3},"finish":"length"}

{"calls":[{"id":"a","name":"f","args":{"x":1}}],"stream":false}
{"status":429,"text":"slow down","headers":{"Retry-After":"7"}}
{"body":"raw","cut":2}
{"text":"again","stream":false,"delay":"1ms","repeat":true}
`)
	if err != nil {
		t.Fatal(err)
	}
	chunk := func(rest string) string {
		return `data: {"choices":[{"delta":` + rest + `,"index":0}],"id":"chatcmpl-test","object":"chat.completion.chunk"}` + "\n\n"
	}
	events := chunk(`{"content":"","role":"assistant"},"finish_reason":null`) + chunk(`{"content":"<é>"},"finish_reason":null`)
	again := `{"choices":[{"finish_reason":"stop","index":0,"message":{"content":"again","role":"assistant"}}],"id":"chatcmpl-test","object":"chat.completion"}`
	steps := []struct {
		request string
		status  int
		want    string
	}{
		{`{"stream":true,"stream_options":{"include_usage":true}}`, 200, events + chunk(`{},"finish_reason":"stop"`) +
			`data: {"choices":[],"id":"chatcmpl-test","usage":{"completion_tokens":3,"prompt_tokens":5,"prompt_tokens_details":{"cached_tokens":2},"total_tokens":8}}` + "\n\ndata: [DONE]\n\n"},
		{`{"stream":true}`, 200, events + chunk(`{},"finish_reason":"length"`) + "data: [DONE]\n\n"},
		{`{"stream":true}`, 200, `{"choices":[{"finish_reason":"tool_calls","index":0,"message":{"content":"","role":"assistant","tool_calls":[` +
			`{"function":{"arguments":"{\"x\":1}","name":"f"},"id":"a","type":"function"}]}}],"id":"chatcmpl-test","object":"chat.completion"}`},
		{`{"stream":true}`, 429, `{"error":{"message":"slow down"}}`},
		{`{}`, 200, "ra !"},
		{`{}`, 200, again},
		{`{}`, 200, again},
	}
	for i, step := range steps {
		status, got := post(t, s.URL()+"/chat/completions", step.request)
		if status != step.status || got != step.want && !(strings.HasSuffix(step.want, "!") && strings.HasPrefix(got, step.want)) {
			t.Errorf("request %d: %d %s\nwant %d %s", i+1, status, got, step.status, step.want)
		}
	}
	if got := s.Requests(); len(got) != len(steps) || string(got[1].Body) != `{"stream":true}` || got[0].Path != "/v1/chat/completions" || got[0].Method != "POST" {
		t.Errorf("requests: %+v", got)
	}
}

func TestLoadErrors(t *testing.T) {
	tests := []struct{ lines, want string }{
		{"{}\n\n{\"txt\":1}\n", `replies.jsonl: line 3: json: unknown field "txt"`},
		{"[]", "replies.jsonl: line 1: json: cannot unmarshal"},
		{`{"delay":"soon"}`, `replies.jsonl: line 1: delay: time: invalid duration "soon"`},
	}
	for _, tt := range tests {
		if _, err := load(t, tt.lines); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.lines, err, tt.want)
		}
	}
	if _, err := modeltest.Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing file is no error")
	}
}

func TestEndOfReplies(t *testing.T) {
	s := modeltest.New()
	defer s.Close()
	if status, text := post(t, s.URL()+"/chat/completions", "{}"); status != 500 || !strings.Contains(text, "no more replies") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := post(t, s.URL()+"/models", "{}"); status != 404 || !strings.Contains(text, "no such path: /v1/models") {
		t.Errorf("%d %s", status, text)
	}
}

// TestCloseEndsAll: a server can be closed while a reply stalls, and twice.
func TestCloseEndsAll(t *testing.T) {
	for _, reply := range []modeltest.Reply{{Stall: true}, {Delay: "1h"}} {
		s := modeltest.New(reply)
		c, err := model.NewClient(model.Options{BaseURL: s.URL()})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() {
			_, err := c.Reply(t.Context(), model.Request{})
			ended <- err
		}()
		for len(s.Requests()) == 0 && t.Context().Err() == nil {
			post(t, s.URL()+"/models", "") // until the request is there
		}
		s.Close()
		s.Close()
		if err := <-ended; err == nil {
			t.Error("a reply")
		}
	}
}
