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

const noFinish = "the model's server ended a reply without a finish reason"

func toolCalls(calls string) string { return delta(`{"tool_calls":[` + calls + `]}`) }

const (
	finish = `{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	mark   = "[DONE]"
)

// call is a native call in a test's row.
func call(id, name, args string) model.Call {
	return model.Call{ID: id, Name: name, Args: json.RawMessage(args)}
}

// TestReplyBodies are well-meant bodies in all the shapes that servers send.
// Half of them trip go-openai v1.43.0 if it reads them itself.
func TestReplyBodies(t *testing.T) {
	ok := model.Reply{Text: "ok", Finish: "stop"}
	content := delta(`{"content":"ok"}`)
	with := func(calls ...model.Call) model.Reply { return model.Reply{Finish: "stop", Calls: calls} }
	tests := []struct {
		name, body string
		want       model.Reply
	}{
		{"no end mark", stream(content, finish), ok},
		{"finish with the last content", stream(`{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}`, mark), ok},
		{"cut behind the finish reason", stream(content, finish) + `data: {"choices":[],"usa`, ok},
		{"no space behind data:", "data:" + content + "\n\ndata:" + finish + "\n\ndata:[DONE]\n\n", ok},
		{"no empty lines, CRLF", "data: " + content + "\r\ndata: " + finish + "\r\ndata: [DONE]\r\n", ok},
		{"other fields", "event: message\nid: 3\nretry: 5\n" + stream(content, finish, mark), ok},
		{"400 comments", strings.Repeat(": ping\n\n", 400) + stream(content, finish, mark), ok},
		{"byte order mark", "\ufeff" + stream(content, finish, mark), ok},
		{"empty lines first", "\n\r\n" + stream(content, finish, mark), ok},
		{"null content", stream(delta(`{"role":"assistant","content":null}`), content, finish, mark), ok},
		{"content as parts", stream(delta(`{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"ok"}]}`), finish), ok},
		{"reasoning apart", stream(delta(`{"reasoning":"a"}`), delta(`{"reasoning_content":"b"}`), content, finish), ok},
		{"finish reason null and empty", stream(`{"choices":[{"delta":{"content":"ok"},"finish_reason":null}]}`, `{"choices":[{"delta":{},"finish_reason":""}]}`, finish), ok},
		{"error null", stream(`{"error":null,"choices":[{"delta":{"content":"ok"}}]}`, finish), ok},
		{"choices null", stream(`{"choices":null}`, content, finish), ok},
		{"another choice", stream(content, `{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"stop"}]}`, finish), ok},
		{"usage in each chunk", stream(`{"choices":[{"delta":{"content":"ok"}}],"usage":{"prompt_tokens":1}}`, finish,
			`{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1,"prompt_tokens_details":null}}`, `{"choices":[],"usage":null}`, mark),
			model.Reply{Text: "ok", Finish: "stop", Usage: model.Usage{Input: 3, Output: 1}}},
		{"usage not as OpenAI's", stream(content, finish, `{"choices":[],"usage":{"prompt_tokens":1e999}}`), ok},
		{"usage below zero", stream(content, finish, `{"choices":[],"usage":{"prompt_tokens":-3}}`), ok},
		{"3 MB in one event", stream(delta(`{"content":"`+strings.Repeat("y", 3<<20)+`"}`), finish, mark),
			model.Reply{Text: strings.Repeat("y", 3<<20), Finish: "stop"}},
		{"lone surrogate", stream(delta(`{"content":"a\ud800b"}`), finish), model.Reply{Text: "a\ufffdb", Finish: "stop"}},
		{"escaped NUL", stream(delta(`{"content":"a\u0000b"}`), finish), model.Reply{Text: "a\x00b", Finish: "stop"}},
		{"invalid UTF-8", stream(delta("{\"content\":\"a\xffb\"}"), finish), model.Reply{Text: "a\ufffdb", Finish: "stop"}},
		{"duplicate keys", stream(delta(`{"content":"no","content":"ok"}`), finish), ok},

		{"plain", `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`, ok},
		{"plain, over lines, byte order mark", "\ufeff{\n \"choices\":[\r\n{\"message\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]\n}\n", ok},
		{"plain, null content, calls", `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}],
			"reasoning":"r"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":8}}}`,
			model.Reply{Finish: "stop", Calls: []model.Call{call("1", "f", "{}")}, Usage: model.Usage{Input: 10, Cached: 8, Output: 2}}},
		{"plain, calls without ids", `{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}`,
			with(call("call_1", "f", "{}"), call("call_2", "f", "{}"))},
		{"plain, arguments as an object", `{"choices":[{"message":{"content":"","tool_calls":[{"id":"1","function":{"name":"f","arguments":{"a": 1}}}]},"finish_reason":"stop"}]}`,
			with(call("1", "f", `{"a": 1}`))},

		{"calls without index", stream(toolCalls(`{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\""}}`), toolCalls(`{"function":{"arguments":":1}"}}`),
			toolCalls(`{"id":"b","function":{"name":"g","arguments":"{}"}}`), finish), with(call("a", "f", `{"x":1}`), call("b", "g", "{}"))},
		{"calls without index and id", stream(toolCalls(`{"function":{"name":"f","arguments":"{\"x\""}}`), toolCalls(`{"function":{"arguments":":1}"}}`),
			toolCalls(`{"function":{"name":"f","arguments":"{}"}}`), finish), with(call("call_1", "f", `{"x":1}`), call("call_2", "f", "{}"))},
		{"id in each piece", stream(toolCalls(`{"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), toolCalls(`{"id":"a","function":{"name":"f","arguments":":1}"}}`), finish),
			with(call("a", "f", `{"x":1}`))},
		{"interleaved", stream(toolCalls(`{"index":1,"id":"b","function":{"name":"g"}},{"index":0,"id":"a","function":{"name":"f"}}`),
			toolCalls(`{"index":0,"function":{"arguments":"[1"}},{"index":1,"function":{"arguments":"[2"}}`), toolCalls(`{"index":0,"function":{"arguments":"]"}},{"index":1,"function":{"arguments":"]"}}`), finish),
			with(call("b", "g", "[2]"), call("a", "f", "[1]"))},
		{"all have index 0", stream(toolCalls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), toolCalls(`{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}`), finish),
			with(call("a", "f", "{}"), call("b", "g", "{}"))},
		{"repeated id", stream(toolCalls(`{"index":0,"id":"a","function":{"name":"f"}},{"index":1,"id":"a","function":{"name":"g"}},{"index":2,"id":"call_2"}`), finish),
			with(call("a", "f", "{}"), call("call_2", "g", "{}"), call("call_3", "", "{}"))},
		{"wild indices", stream(toolCalls(`{"index":-1,"id":"a"},{"index":9007199254740993,"id":"b"}`), finish), with(call("a", "", "{}"), call("b", "", "{}"))},
		{"arguments that are no JSON", stream(toolCalls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`), finish), with(call("a", "f", `"{\"x\":"`))},
		{"legacy function call", stream(delta(`{"role":"assistant","content":null,"function_call":{"name":"f","arguments":""}}`),
			delta(`{"function_call":{"arguments":"{\"x\""}}`), delta(`{"function_call":{"arguments":":1}"}}`), finish), with(call("call_1", "f", `{"x":1}`))},
		{"plain, legacy function call", `{"choices":[{"message":{"content":"","function_call":{"name":"f","arguments":"{}"}},"finish_reason":"stop"}]}`, with(call("call_1", "f", "{}"))},
		{"both kinds of calls", stream(toolCalls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), delta(`{"function_call":{"name":"f","arguments":"{}"}}`), finish),
			with(call("a", "f", "{}"))},
		{"refusal", stream(delta(`{"refusal":"I will "}`), delta(`{"refusal":"not."}`), finish), model.Reply{Refusal: "I will not.", Finish: "stop"}},
		{"plain, refusal", `{"choices":[{"message":{"content":null,"refusal":"I will not."},"finish_reason":"stop"}]}`, model.Reply{Refusal: "I will not.", Finish: "stop"}},
		{"end mark behind a whole call", stream(toolCalls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`), mark),
			model.Reply{Calls: []model.Call{call("a", "f", `{"x":1}`)}, Warning: noFinish}},
		{"end mark behind a whole object", stream(delta(`{"content":"{\"tool\":\"f\"}"}`), mark), model.Reply{Text: `{"tool":"f"}`, Warning: noFinish}},
		{"Groq could not read it", stream(delta(`{"content":""}`), `{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=f>{"}}`),
			model.Reply{Text: "<function=f>{", Finish: model.Unreadable}},
		{"arguments null", stream(toolCalls(`{"index":0,"id":"a","function":{"name":"f","arguments":null}}`), finish), with(call("a", "f", "{}"))},
		{"1000 calls", stream(toolCalls(strings.Repeat(`{"function":{"name":"f"}},`, 999)+`{"function":{"name":"f"}}`), finish), with(thousand()...)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, modeltest.New(modeltest.Reply{Body: tt.body}), model.Options{})
			got, err := c.Reply(t.Context(), question)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if _, err := json.Marshal(got); err != nil {
				t.Errorf("a reply that no journal can hold: %v", err)
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
