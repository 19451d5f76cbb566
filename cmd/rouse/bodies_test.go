package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"rouse/agent/model"
	"rouse/agent/model/modeltest"
	"rouse/internal/sweep"
	"rouse/scratchpad"
)

// effect is a call that leaves a line in workspace/effects.
const effect = `{"tool": "shell", "args": {"command": "echo x >>effects"}}`

// body is a reply of the model, and what a cycle makes of it.
type body struct {
	name    string
	reply   modeltest.Reply
	exit    int    // 0: the cycle went on and was done with the next reply
	effects int    // how often the call was carried out
	note    string // what the notes say
}

func says(text string) modeltest.Reply { return modeltest.Reply{Text: text} }

func raw(text string) modeltest.Reply { return modeltest.Reply{Body: text} }

const (
	parseError = "[PARSE ERROR] "
	damaged    = parseError + "the JSON is damaged"
	failed     = " failed: model: "
)

// texts are replies that arrive whole, with every kind of text.
func texts() []body {
	mark := "\u0455hell" // with a Cyrillic letter
	return []body{
		{"two calls", says(effect + effect), 0, 1, "[TOOL] shell"},
		{"a thousand calls", says(strings.Repeat(effect, 1000)), 0, 1, "[TOOL] shell"},
		{"a call, then prose", says(effect + " and that {will} do."), 0, 1, "[TOOL] shell"},
		{"prose with braces, then a call", says("In {braces} I say:\n" + effect), 0, 1, "[TOOL] shell"},
		{"a fence", says("```json\n" + effect + "\n```"), 0, 1, "[TOOL] shell"},
		{"a byte order mark", says("\ufeff" + effect), 0, 1, "[TOOL] shell"},
		{"thinking of a call", says("<think>" + effect + "</think>"), 0, 0, parseError + "no JSON"},
		{"thinking without end", says("<think>" + effect), 0, 0, parseError + "no JSON"},
		{"a call in a string", says(`{"say": ` + quote(effect) + `}`), 0, 0, parseError},
		{"a call in an object", says(`{"say": ` + effect + `}`), 0, 0, parseError},
		{"a call in damaged JSON", says(`{"say": oops, "x": ` + effect + `}`), 0, 0, damaged},
		{"empty text", says(""), 0, 0, parseError + "no JSON"},
		{"an empty object", says("{}"), 0, 0, parseError},
		{"prose", says("I am on it!"), 0, 0, parseError + "no JSON"},
		{"only braces", says(strings.Repeat("{", 100_000)), 0, 0, parseError},
		{"single quotes", says(strings.ReplaceAll(effect, `"`, `'`)), 0, 0, damaged},
		{"trailing comma", says(strings.Replace(effect, "}}", ",}}", 1)), 0, 0, damaged},
		{"comments", says("{/* run it */" + effect[1:]), 0, 0, parseError},
		{"NaN", says(`{"tool": "shell", "args": {"command": "echo x >>effects", "timeout_seconds": NaN}}`), 0, 0, damaged},
		{"1e999", says(`{"tool": "shell", "args": {"command": "echo x >>effects", "timeout_seconds": 1e999}}`), 0, 0, "arguments"},
		{"duplicate tool", says(`{"tool": "echo", "tool": "shell", "args": {"command": "echo x >>effects"}}`), 0, 0, "twice"},
		{"duplicate args", says(`{"tool": "shell", "args": {}, "args": {"command": "echo x >>effects"}}`), 0, 0, "twice"},
		{"deep", says(`{"tool": "shell", "args": {"command": ` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}}`), 0, 0, parseError},
		{"a lone surrogate", says(`{"tool": "echo", "args": {"message": "\ud800"}}`), 0, 0, "ECHO: \ufffd"},
		{"NUL", says(`{"tool": "echo", "args": {"message": "a\u0000b"}}`), 0, 0, "[TOOL] echo"},
		{"an unknown tool", says(`{"tool": "rm", "args": {}}`), 0, 0, "unknown tool"},
		{"another case", says(strings.Replace(effect, "shell", "Shell", 1)), 0, 0, "unknown tool"},
		{"a look-alike", says(strings.Replace(effect, "shell", mark, 1)), 0, 0, "unknown tool"},
		{"a tool that is a number", says(`{"tool": 1, "args": {}}`), 0, 0, parseError},
		{"args in a string", says(`{"tool": "shell", "args": "{\"command\": \"echo x >>effects\"}"}`), 0, 1, "[TOOL] shell"},
		{"args in a list", says(`{"tool": "shell", "args": ["echo x >>effects"]}`), 0, 0, parseError},
		{"args null", says(`{"tool": "shell", "args": null}`), 0, 0, "arguments"},
		{"args beside the tool", says(`{"tool": "shell", "command": "echo x >>effects"}`), 0, 0, parseError},
		{"an unknown argument", says(`{"tool": "shell", "args": {"command": "echo x >>effects", "sudo": true}}`), 0, 0, "arguments"},
		{"a wrong type", says(`{"tool": "shell", "args": {"command": ["echo x >>effects"]}}`), 0, 0, "arguments"},
		{"done and a call", says(`{"tool": "done", "args": {"summary": "first"}}` + effect), 0, 0, "[COMPLETED] first"},
		{"done at once", says(`{"tool": "done", "args": {"summary": "at once"}}`), 0, 0, "[COMPLETED] at once"},
		{"done without a summary", says(`{"tool": "done", "args": {}}`), 0, 0, "[COMPLETED] (no summary)"},
		{"update of the time", says(`{"tool": "update_scratchpad", "args": {"last_updated": "now", "x": 1}}`), 0, 0, "[COMPLETED] went on"},
		{"update with a wrong type", says(`{"tool": "update_scratchpad", "args": {"goals": {"a": 1}, "x": 1}}`), 0, 0, "[COMPLETED] went on"},
		{"update that was damaged", says(`{"tool": "update_scratchpad", "args": {"x": 1,}}`), 0, 0, damaged},
		{"cut off by the limit", modeltest.Reply{Text: effect, Finish: "length"}, 0, 0, parseError + "the reply was cut off"},
		{"filtered", modeltest.Reply{Text: effect, Finish: "content_filter"}, 0, 0, parseError},
		{"10 MB", says(`{"tool": "echo", "args": {"message": "` + strings.Repeat("x", 10<<20) + `"}}`), 1, 0, failed},
	}
}

// cutStep is how many bytes apart calls are cut.
func cutStep() int { return sweep.Of(7, 1, 1) }

// cuts is the call cut at each byte.
func cuts() (list []body) {
	for n := 0; n < len(effect); n += cutStep() {
		list = append(list, body{name: fmt.Sprintf("cut at byte %d", n), reply: says(effect[:n]), note: parseError})
	}
	return list
}

// natives are replies with native calls where json was asked for.
func natives() []body {
	arguments := json.RawMessage(`{"command": "echo x >>effects"}`)
	native := func(id string) model.Call { return model.Call{ID: id, Name: "shell", Args: arguments} }
	return []body{
		{"a native call", modeltest.Reply{Calls: []model.Call{native("1")}}, 0, 1, "[TOOL] shell"},
		{"a repeated id", modeltest.Reply{Calls: []model.Call{native("1"), native("1")}}, 0, 1, "[TOOL] shell"},
		{"no id", modeltest.Reply{Calls: []model.Call{native("")}}, 0, 1, "[TOOL] shell"},
		{"a call and text", modeltest.Reply{Text: "I will.", Calls: []model.Call{native("1")}}, 0, 1, "[TOOL] shell"},
		{"a call and finish stop", modeltest.Reply{Calls: []model.Call{native("1")}, Finish: "stop"}, 0, 1, "[TOOL] shell"},
		{"a call cut off", modeltest.Reply{Calls: []model.Call{{ID: "1", Name: "shell", Args: arguments[:20]}}}, 0, 0, parseError},
		{"a call without a name", modeltest.Reply{Calls: []model.Call{{ID: "1", Args: arguments}}}, 0, 0, parseError},
	}
}

// responses are what a server sends in place of a chat completion.
func responses() []body {
	completion := func(choices string) modeltest.Reply { return raw(`{"id": "1", "choices": ` + choices + `}`) }
	choice := func(message string) modeltest.Reply {
		return completion(`[{"index": 0, "finish_reason": "stop", "message": ` + message + `}]`)
	}
	event := func(content string) string {
		return `data: {"choices": [{"index": 0, "delta": {"content": ` + quote(content) + `}}]}` + "\n\n"
	}
	return []body{
		{"one space", raw(" "), 1, 0, failed}, // an empty Body would be an answer
		{"{}", raw("{}"), 1, 0, failed},
		{"null", raw("null"), 1, 0, failed},
		{"a list", raw("[]"), 1, 0, failed},
		{"choices null", completion("null"), 1, 0, failed},
		{"no choices", completion("[]"), 1, 0, failed},
		{"no message", completion(`[{"index": 0, "finish_reason": "stop"}]`), 0, 0, parseError},
		{"content null", choice(`{"content": null}`), 0, 0, parseError},
		{"content a list", choice(`{"content": [{"type": "text", "text": ` + quote(effect) + `}]}`), 0, 1, "[TOOL] shell"},
		{"content a number", choice(`{"content": 1}`), 1, 0, failed},
		{"whole, not streamed", choice(`{"content": ` + quote(effect) + `}`), 0, 1, "[TOOL] shell"},
		{"after a byte order mark", raw("\ufeff" + choice(`{"content": `+quote(effect)+`}`).Body), 0, 1, "[TOOL] shell"},
		{"cut JSON", raw(choice(`{"content": ` + quote(effect) + `}`).Body[:60]), 1, 0, failed},
		{"no finish reason", completion(`[{"index": 0, "message": {"content": ` + quote(effect) + `}}]`), 1, 0, failed},
		{"an error object", raw(`{"error": {"message": "overloaded", "code": 401}}`), 1, 0, failed + "gpt-5-mini at "},
		{"an HTML page", raw("<!DOCTYPE html><p>" + effect), 1, 0, "HTML page"},
		{"prose", raw("Bad gateway"), 1, 0, failed},
		{"a stream without end", raw(event(effect)), 1, 0, failed},
		{"an end mark alone", raw("data: [DONE]\n\n"), 1, 0, failed},
		{"a stream cut in a line", raw(event(effect)[:80]), 1, 0, failed},
		{"a stream of nonsense", raw("data: {]\n\ndata: [DONE]\n\n"), 1, 0, failed},
		{"a reset", modeltest.Reply{Text: effect, Cut: 200}, 1, 0, failed},
		{"half of what was announced", modeltest.Reply{Body: event(effect), Headers: map[string]string{"Content-Length": "100000"}}, 1, 0, failed},
		{"a gzip bomb", modeltest.Reply{Body: bomb(64 << 20), Headers: map[string]string{"Content-Encoding": "gzip"}}, 1, 0, "larger than"},
		{"gzip that is not", modeltest.Reply{Body: effect, Headers: map[string]string{"Content-Encoding": "gzip"}}, 1, 0, failed},
		{"silence", modeltest.Reply{Stall: true}, 1, 0, failed},
		{"a redirect", modeltest.Reply{Status: 307, Headers: map[string]string{"Location": "http://127.0.0.1:1/v1/chat/completions"}}, 1, 0, "127.0.0.1:1"},
		{"HTTP 204", modeltest.Reply{Status: 204}, 1, 0, failed},
		{"HTTP 404", modeltest.Reply{Status: 404, Text: "no such model"}, 1, 0, "no such model"},
	}
}

func bomb(size int) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for range size / len(zeros) {
		_, _ = w.Write(zeros) // a buffer always takes it
	}
	_ = w.Close()
	return b.String()
}

// TestModelBodies gives each body to a real cycle. It neither crashes nor hangs,
// nothing that was damaged has an effect, and but for what was validly asked for
// the memory differs by notes alone. A quick test gives every third.
func TestModelBodies(t *testing.T) {
	var effects, errors atomic.Int32
	protocols := map[string][]body{
		"json":  append(append(append(texts(), cuts()...), natives()...), responses()...),
		"tools": append(nativeBodies(), withoutText(responses())...),
	}
	t.Run("all", func(t *testing.T) {
		for protocol, list := range protocols {
			for i := 0; i < len(list); i += sweep.Of(3, 1, 1) {
				b := list[i]
				t.Run(protocol+"/"+b.name, func(t *testing.T) {
					t.Parallel()
					effects.Add(int32(b.check(t, protocol)))
					if b.exit != 0 {
						errors.Add(1)
					}
				})
			}
		}
	})
	list := append(protocols["json"], protocols["tools"]...)
	t.Logf("%d bodies, %d of them end the cycle; effects of valid calls %d, of others 0", len(list), errors.Load(), effects.Load())
}

func (b body) check(t *testing.T, protocol string) int {
	r := newRig(t)
	idle := "2m"
	if b.reply.Stall {
		idle = "100ms"
	}
	r.write("rouse.yaml", "model: {protocol: "+protocol+", retries: 0, idle_timeout: "+idle+"}\ncycle: {timeout: 50s}\n")
	r.write("scratchpad/active.yaml", "goals: [a]\ncurrent_task: look\npending_actions: [b, c]\nmine: {d: 1}\n")
	r.env = append(r.env, "OPENAI_API_KEY=the-key-of-the-test")
	r.serve(b.reply, done())
	got := r.rouse("run")
	if got.code != b.exit {
		t.Errorf("exit %d with %.300q, want %d", got.code, got.stderr, b.exit)
	}
	if b.exit != 0 {
		got.oneLine(t, "model: ")
	}
	ledger, err := os.ReadFile(r.path("workspace/effects"))
	if n := strings.Count(string(ledger), "x"); n != b.effects {
		t.Errorf("%d effects (%v), want %d", n, err, b.effects)
	}
	r.unchanged(b)
	return b.effects
}

// unchanged compares the memory with what it was.
func (r *rig) unchanged(b body) {
	r.t.Helper()
	s, err := scratchpad.Load(r.path("scratchpad/active.yaml"))
	if err != nil {
		r.t.Fatal(err)
	}
	if !strings.Contains(s.Notes(), b.note) {
		r.t.Errorf("notes %.500q, want %q", s.Notes(), b.note)
	}
	want := "goals: [a]\ncurrent_task: look\npending_actions: [b, c]\nmine: {d: 1}\n"
	if b.exit == 0 { // done
		want = "goals: [a]\ncurrent_task: b\npending_actions: [c]\nmine: {d: 1}\n"
	}
	before, err := scratchpad.Parse("want", []byte(want))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, d := range scratchpad.Diff(before, s) {
		if d.Key != "notes" && d.Key != "last_updated" && (d.Key != "completed_tasks" || b.exit != 0) {
			r.t.Errorf("%s was changed: %+v, was %+v", d.Key, d.After, d.Before)
		}
	}
}
