package model_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rouse/agent/model"
	"rouse/agent/model/modeltest"
)

// stream makes the body of a stream from its events.
func stream(events ...string) string {
	return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
}

// delta is an event with a delta, finish the event that ends an answer.
func delta(d string) string { return `{"id":"x","choices":[{"index":0,"delta":` + d + `}]}` }

func toolCalls(calls string) string { return delta(`{"tool_calls":[` + calls + `]}`) }

const (
	finish = `{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	mark   = "[DONE]"
)

// call is a native call in a test's row.
func call(id, name, args string) model.Call {
	return model.Call{ID: id, Name: name, Args: json.RawMessage(args)}
}

// TestReplyBodies are well-meant bodies that testdata/shapes.txtar cannot hold.
func TestReplyBodies(t *testing.T) {
	ok := model.Reply{Text: "ok", Finish: "stop"}
	content := delta(`{"content":"ok"}`)
	tests := []struct {
		name, body string
		want       model.Reply
	}{
		{"cut behind the finish reason", stream(content, finish) + `data: {"choices":[],"usa`, ok},
		{"no empty lines, CRLF", "data: " + content + "\r\ndata: " + finish + "\r\ndata: [DONE]\r\n", ok},
		{"400 comments", strings.Repeat(": ping\n\n", 400) + stream(content, finish, mark), ok},
		{"byte order mark, empty lines first", "\ufeff\n\r\n" + stream(content, finish, mark), ok},
		{"3 MB in one event", stream(delta(`{"content":"`+strings.Repeat("y", 3<<20)+`"}`), finish, mark),
			model.Reply{Text: strings.Repeat("y", 3<<20), Finish: "stop"}},
		{"invalid UTF-8", stream(delta("{\"content\":\"a\xffb\"}"), finish), model.Reply{Text: "a\ufffdb", Finish: "stop"}},
		{"plain, over lines, byte order mark", "\ufeff{\n \"choices\":[\r\n{\"message\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]\n}\n", ok},
		{"1000 calls", stream(toolCalls(strings.Repeat(`{"function":{"name":"f"}},`, 999)+`{"function":{"name":"f"}}`), finish), model.Reply{Finish: "stop", Calls: thousand()}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, modeltest.New(modeltest.Reply{Body: tt.body}), model.Options{})
			got, err := c.Reply(t.Context(), question)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

func thousand() (calls []model.Call) {
	for i := range 1000 {
		calls = append(calls, call(fmt.Sprintf("call_%d", i+1), "f", "{}"))
	}
	return calls
}

// TestRequest: what goes out, for the names and servers that differ.
func TestRequest(t *testing.T) {
	const messages = `"messages":[{"role":"system","content":"rules"},{"role":"user","content":"(empty)"}]`
	const options = `"stream_options":{"include_usage":true}`
	refusal := func(text string) modeltest.Reply { return modeltest.Reply{Status: 400, Text: text} }
	tests := []struct {
		name    string
		model   string
		max     int
		replies []modeltest.Reply
		want    []string
	}{
		{"a local model", "qwen3:8b", 100, nil, []string{`{"model":"qwen3:8b",` + messages + `,"max_tokens":100,"stream":true,` + options + `}`}},
		{"no limit", "qwen3:8b", 0, nil, []string{`{"model":"qwen3:8b",` + messages + `,"stream":true,` + options + `}`}},
		{"gpt-5", "gpt-5-mini", 100, nil, []string{`{"model":"gpt-5-mini",` + messages + `,"max_completion_tokens":100,"stream":true,` + options + `}`}},
		{"o4", "o4-mini", 100, nil, []string{`{"model":"o4-mini",` + messages + `,"max_completion_tokens":100,"stream":true,` + options + `}`}},
		{"gpt-6", "gpt-6-astra", 100, nil, []string{`{"model":"gpt-6-astra",` + messages + `,"max_completion_tokens":100,"stream":true,` + options + `}`}},
		{"stream_options refused", "m", 0, []modeltest.Reply{{Status: 422, Body: `{"detail":[{"loc":["body","stream_options"],"type":"extra_forbidden"}]}`}},
			[]string{`{"model":"m",` + messages + `,"stream":true,` + options + `}`, `{"model":"m",` + messages + `,"stream":true}`}},
		{"streaming refused", "gpt-5-mini", 0, []modeltest.Reply{refusal("Your organization must be verified to stream this model.")},
			[]string{`{"model":"gpt-5-mini",` + messages + `,"stream":true,` + options + `}`, `{"model":"gpt-5-mini",` + messages + `,"stream":false}`}},
		{"max_tokens refused", "gpt-7", 5, []modeltest.Reply{refusal("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")},
			[]string{`{"model":"gpt-7",` + messages + `,"max_tokens":5,"stream":true,` + options + `}`, `{"model":"gpt-7",` + messages + `,"max_completion_tokens":5,"stream":true,` + options + `}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ok := modeltest.Reply{Text: "ok"}
			s := modeltest.New(append(tt.replies, ok, ok)...)
			c := newClient(t, s, model.Options{Name: tt.model, MaxOutput: tt.max})
			want := append(tt.want, tt.want[len(tt.want)-1]) // what was learned is kept
			for range 2 {
				if r, err := c.Reply(t.Context(), question); err != nil || r.Text != "ok" {
					t.Fatal(r, err)
				}
			}
			var got []string
			for _, r := range s.Requests() {
				got = append(got, string(r.Body))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRefusedForGood: what is refused whatever we leave out comes back as it is.
func TestRefusedForGood(t *testing.T) {
	s := modeltest.New(modeltest.Reply{Status: 400, Text: "stream_options, stream and max_completion_tokens are bad", Repeat: true})
	_, err := newClient(t, s, model.Options{Retries: 9, MaxOutput: 1}).Reply(t.Context(), question)
	if err == nil || len(s.Requests()) != 4 {
		t.Errorf("%d requests, %v", len(s.Requests()), err)
	}
}

// TestConnectionIsKept: two requests use one connection, so that an iteration
// costs no new handshake.
func TestConnectionIsKept(t *testing.T) {
	ok := modeltest.Reply{Text: "ok"}
	s := modeltest.New(ok, modeltest.Reply{Text: "ok", Stream: new(false)}, ok)
	c := newClient(t, s, model.Options{})
	for range 3 {
		if _, err := c.Reply(t.Context(), question); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range s.Requests() {
		if r.Remote != s.Requests()[0].Remote {
			t.Errorf("another connection: %s", r.Remote)
		}
	}
}
