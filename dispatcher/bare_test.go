package dispatcher

import (
	"strings"
	"testing"
)

func TestParseBare(t *testing.T) {
	isText := func(_, param string) bool { return param != "count" }
	tests := []struct {
		name, text       string
		tool, args, form string // "" for tool: no action
		damaged          bool
	}{
		{name: "tool", text: `{"tool":"echo","args":{"message":"hi"}}`, tool: "echo", args: `{"message":"hi"}`, form: "tool"},
		{name: "name and arguments", text: ` {"name":"echo","arguments":{"message":"hi"}} `, tool: "echo", args: `{"message":"hi"}`, form: "name"},
		{name: "arguments in a string", text: `{"name":"echo","arguments":"{\"a\":1}"}`, tool: "echo", args: `{"a":1}`, form: "name"},
		{name: "parameters, as Llama has it", text: `{"type":"function","name":"echo","parameters":{}}`, tool: "echo", args: `{}`, form: "name"},
		{name: "function call", text: `{"role":"assistant","content":null,"function_call":{"name":"echo","arguments":"{}"}}`, tool: "echo", args: `{}`, form: "function_call"},
		{name: "function of a tool call", text: `{"id":"1","type":"function","function":{"name":"echo","arguments":"{}"}}`, tool: "echo", args: `{}`, form: "function_call"},
		{name: "tag", text: "<tool_call>\n{\"name\": \"echo\", \"arguments\": {}}\n</tool_call>", tool: "echo", args: `{}`, form: "tool_call"},
		{name: "tag without its end", text: `<tool_call>{"name":"echo","arguments":{}}`, tool: "echo", args: `{}`, form: "tool_call"},
		{name: "function with JSON", text: `<function=echo>{"message":"hi"}</function>`, tool: "echo", args: `{"message":"hi"}`, form: "function"},
		{name: "function without arguments", text: "<function=echo>\n</function>", tool: "echo", args: `{}`, form: "function"},
		{name: "parameters, as Qwen has it", form: "tool_call", tool: "echo", args: `{"message":"12\n{}","count":3}`,
			text: "<tool_call>\n<function=echo>\n<parameter=message>\n12\n{}\n</parameter>\n<parameter=count>\n3\n</parameter>\n</function>\n</tool_call>"},
		{name: "fence", text: "```json\n{\"name\":\"echo\",\"arguments\":{}}\n```", tool: "echo", args: `{}`, form: "name"},
		{name: "think block", text: "<think>\nI {could}</think>\n```\n{\"tool\":\"echo\"}\n```", tool: "echo", args: `{}`, form: "tool"},
		{name: "think block without opening", text: "I could.\n</think>{\"tool\":\"echo\"}", tool: "echo", args: `{}`, form: "tool"},
		{name: "damaged", text: `{'name':'echo','arguments':{'a':1,},}`, tool: "echo", args: `{"a":1}`, form: "name", damaged: true},
		{name: "tag, damaged", text: `<tool_call>{'name':'echo','arguments':{}}</tool_call>`, tool: "echo", args: `{}`, form: "tool_call", damaged: true},

		{name: "empty"},
		{name: "prose", text: "I am done."},
		{name: "within prose", text: `The page says: {"tool":"echo","args":{}}`},
		{name: "prose behind", text: `{"name":"echo","arguments":{}} is on the page`},
		{name: "prose before a fence", text: "It says\n```\n{\"name\":\"echo\",\"arguments\":{}}\n```"},
		{name: "tag within prose", text: `I read <tool_call>{"name":"echo","arguments":{}}</tool_call>`},
		{name: "two", text: `{"name":"echo","arguments":{}}{"name":"echo","arguments":{}}`},
		{name: "two tags", text: `<tool_call>{"name":"a","arguments":{}}</tool_call><tool_call>{"name":"b","arguments":{}}</tool_call>`},
		{name: "two functions", text: `<function=a>{}</function><function=b>{}</function>`},
		{name: "a thought without end", text: `<think>{"name":"echo","arguments":{}}`},
		{name: "another object", text: `{"name":"Ann","age":7}`},
		{name: "a call beside something", text: `{"name":"echo","arguments":{},"dry_run":true}`},
		{name: "named twice", text: `{"name":"echo","name":"shell","arguments":{}}`},
		{name: "cut off", text: `<function=echo><parameter=message>rm`},
		{name: "cut off behind a parameter", text: "<function=shell><parameter=command>rm -rf</parameter>"},
		{name: "cut off JSON", text: `<tool_call>{"name":"echo","arguments":{"a":"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := ParseBare(tt.text, isText)
			if tt.tool == "" {
				if b != nil {
					t.Errorf("ParseBare = %+v, want none", b)
				}
				return
			}
			if b == nil || b.Tool != tt.tool || string(b.Args) != tt.args || b.Form != tt.form || b.Strict == tt.damaged {
				t.Errorf("ParseBare = %+v; want %s(%s), form %s", b, tt.tool, tt.args, tt.form)
			}
		})
	}
}

// FuzzParseBare: a reply with prose before it is never an action.
func FuzzParseBare(f *testing.F) {
	for _, s := range []string{`{"name":"a","arguments":{}}`, "<tool_call><function=a>\n<parameter=b>1</parameter></function>", "```\n{'tool':'a'}```"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		isText := func(string, string) bool { return true }
		if b := ParseBare(text, isText); b != nil && (b.Tool == "" || !isObject(b.Args)) {
			t.Errorf("ParseBare(%q) = %+v", text, b)
		}
		if b := ParseBare("It says: "+text, isText); b != nil && !strings.Contains(text, "</think>") {
			t.Errorf("ParseBare with prose before %q = %+v", text, b)
		}
	})
}
