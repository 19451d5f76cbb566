package dispatcher

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// reads is the rule of a home whose only reading tool is read_file.
func reads(tool string) bool { return tool == "read_file" || tool == "done" }

func TestParse(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 100_000)
	tests := []struct {
		name, text string
		tool, args string // of the action, or
		err        string // part of the error
		more       int
	}{
		{name: "plain", text: `{"tool":"shell","args":{"command":"ls"}}`, tool: "shell", args: `{"command":"ls"}`},
		{name: "white space in args", text: "{\"tool\": \"echo\", \"args\": {\"a\": [1,\n 2]}}", tool: "echo", args: `{"a":[1,2]}`},
		{name: "byte order mark", text: "\ufeff" + `{"tool":"echo","args":{}}`, tool: "echo", args: `{}`},
		{name: "no args", text: `{"tool":"list_files"}`, tool: "list_files", args: `{}`},
		{name: "null args", text: `{"tool":"list_files","args":null}`, tool: "list_files", args: `{}`},
		{name: "args in a string", text: `{"tool":"echo","args":"{\"message\":\"hi\"}"}`, tool: "echo", args: `{"message":"hi"}`},
		{name: "extra member", text: `{"thought":"x","tool":"echo","args":{}}`, tool: "echo", args: `{}`},
		{name: "fence", text: "```json\n{\"tool\":\"echo\",\"args\":{}}\n```", tool: "echo", args: `{}`},
		{name: "prose around", text: "Sure, I will use {braces} and {x}.\n{\"tool\":\"echo\",\"args\":{}}\nHope it {helps}!", tool: "echo", args: `{}`},
		{name: "think block", text: `<think>{"tool":"shell","args":{"command":"rm -rf x"}}</think>{"tool":"echo","args":{}}`, tool: "echo", args: `{}`},
		{name: "think block without opening", text: `I could {"tool":"shell","args":{}} </think> {"tool":"echo","args":{}}`, tool: "echo", args: `{}`},
		{name: "think tag in a string", text: `{"tool":"write_file","args":{"content":"<think>a</think>b"}}`, tool: "write_file", args: `{"content":"<think>a</think>b"}`},
		{name: "other object first", text: `{"plan":"x"} {"tool":"echo","args":{}}`, tool: "echo", args: `{}`},
		{name: "two actions", text: `{"tool":"echo","args":{}} {"tool":"shell","args":{}}`, tool: "echo", args: `{}`, more: 1},
		{name: "a list of actions", text: `[{"tool":"echo","args":{}},{"tool":"shell","args":{}},{"tool":"done"}]`, tool: "echo", args: `{}`, more: 2},
		{name: "action, then half of one", text: `{"tool":"echo","args":{}} {"tool":"shell","args":{"comm`, tool: "echo", args: `{}`},
		{name: "trailing comma, reading tool", text: `{"tool":"read_file","args":{"path":"a",},}`, tool: "read_file", args: `{"path":"a"}`},
		{name: "single quotes, reading tool", text: `{'tool':'read_file','args':{'path':'a'}}`, tool: "read_file", args: `{"path":"a"}`},
		{name: "line break in done", text: "{\"tool\":\"done\",\"args\":{\"summary\":\"a\nb\"}}", tool: "done", args: `{"summary":"a\nb"}`},
		{name: "lone surrogate", text: `{"tool":"echo","args":{"m":"\ud800"}}`, tool: "echo", args: `{"m":"\ud800"}`},
		{name: "huge number", text: `{"tool":"echo","args":{"m":1e999}}`, tool: "echo", args: `{"m":1e999}`},

		{name: "empty", err: "no JSON object"},
		{name: "prose", text: "I am done.", err: "no JSON object"},
		{name: "empty object", text: "{}", err: `no "tool"`},
		{name: "native shape", text: `{"name":"shell","arguments":{}}`, err: `no "tool"`},
		{name: "tool is a number", text: `{"tool":1,"args":{}}`, err: "name of a tool"},
		{name: "tool is empty", text: `{"tool":"","args":{}}`, err: "name of a tool"},
		{name: "args is a list", text: `{"tool":"echo","args":["a"]}`, err: "must be a JSON object"},
		{name: "args is text", text: `{"tool":"echo","args":"hi"}`, err: "must be a JSON object"},
		{name: "args beside tool", text: `{"tool":"shell","command":"ls"}`, err: `put the arguments in "args"`},
		{name: "tool twice", text: `{"tool":"echo","tool":"shell","args":{}}`, err: "stands twice"},
		{name: "args twice", text: `{"tool":"echo","args":{"a":1},"args":{"a":2}}`, err: "stands twice"},
		{name: "unknown member", text: `{"tool":"write_file","args":{},"dry_run":true}`, err: `"dry_run" stands beside`},
		{name: "thought without end, later", text: `Sure <think>{"tool":"shell","args":{}}`, err: "no JSON object"},
		{name: "thought without end", text: `<think>{"tool":"echo","args":{}}`, err: "no JSON object"},
		{name: "NaN", text: `{"tool":"shell","args":{"n":NaN}}`, err: "damaged"},
		{name: "comment", text: "{\"tool\":\"shell\", // run it\n\"args\":{}}", err: "damaged"},
		{name: "trailing comma, writing tool", text: `{"tool":"write_file","args":{"path":"a",},}`, err: "damaged"},
		{name: "single quotes, writing tool", text: `{'tool':'shell','args':{'command':'ls'}}`, err: "damaged"},
		{name: "action inside a broken string", text: `{'a':'{"tool":"shell","args":{"command":"rm"}}'}`, err: "damaged"},
		{name: "brace and action inside a broken string", text: `{'a':'}{"tool":"shell","args":{"command":"rm"}}'}`, err: "damaged"},
		{name: "too deep", text: deep, err: "damaged"},
		{name: "action inside too deep", text: deep + `{"tool":"shell","args":{}}`, err: "damaged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, more, err := Parse(tt.text, reads)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("Parse = %+v, %v; want an error with %q", a, err, tt.err)
				}
				return
			}
			if err != nil || a.Tool != tt.tool || string(a.Args) != tt.args || more != tt.more {
				t.Errorf("Parse = %s(%s) +%d, %v; want %s(%s) +%d", a.Tool, a.Args, more, err, tt.tool, tt.args, tt.more)
			}
		})
	}
}

// A reply that was cut anywhere never reaches a tool that may have an effect.
func TestParseCutReply(t *testing.T) {
	for _, whole := range []string{
		`{"tool":"shell","args":{"command":"rm -rf {build,dist} && echo \"}\" }"}}`,
		`{"tool":"write_file","args":{"path":"a","content":"{\"tool\":\"shell\",\"args\":{}}"}}`,
		`{"args":{"command":"{}"},"tool":"shell"}`,
	} {
		for n := range len(whole) {
			if a, _, err := Parse(whole[:n], reads); err == nil {
				t.Errorf("cut to %q: got %+v", whole[:n], a)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"tool":"shell","args":{"command":"ls"}}`, "```json\n{'tool': 'read_file', args: {}}```",
		`<think>{</think>{"tool":"done"}`, `{"tool":"a","args":"{}"}{"tool":`, "{\"tool\"\x00", `[{"a":{"tool":"x"}}]`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, _, err := Parse(text, reads)
		if err != nil {
			var pe *ParseError
			if !errors.As(err, &pe) {
				t.Errorf("Parse(%q): %T is no ParseError", text, err)
			}
			return
		}
		var args map[string]any
		if a.Tool == "" || json.Unmarshal(a.Args, &args) != nil && !strings.Contains(string(a.Args), "e") {
			t.Errorf("Parse(%q) = %+v", text, a)
		}
		// What may have an effect stands in the reply as strict JSON.
		if !reads(a.Tool) {
			name, _ := json.Marshal(a.Tool)
			if !strings.Contains(text, `"tool"`) && !strings.Contains(text, `\u00`) {
				t.Errorf("Parse(%q) made up the call %s", text, name)
			}
		}
	})
}
