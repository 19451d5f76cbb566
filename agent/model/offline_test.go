package model_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rouse/agent/model"
)

// request is what the json protocol sends: a state, text about tools, results.
func request(state string, results ...string) model.Request {
	text := "State (scratchpad/active.yaml):\n```yaml\n" + state + "\n```\n\nTools:\n- shell\n"
	if len(results) > 0 {
		text += "\nResults:\n" + strings.Join(results, "\n") + "\n"
	}
	return model.Request{Messages: []model.Message{
		{Role: model.System, Content: "State (scratchpad/active.yaml):\n```yaml\ncurrent_task: not this\n```"},
		{Role: model.User, Content: text + "\nAnswer with one JSON object.\n"},
	}}
}

const runbook = "goals: []\ncurrent_task: |\n" +
	"  # the morning\n" +
	"  echo message=\"good morning\"\n" +
	"\n" +
	"  write_file {\"path\": \"f.txt\", \"content\": \"```\\nResults:\\n\"}\n" +
	"  update_scratchpad {\"notes\":\"<b>\"}\n"

func TestOfflineAnswers(t *testing.T) {
	tests := []struct {
		name    string
		req     model.Request
		want    string
		wantErr string
	}{
		{"first line", request(runbook), `{"tool":"echo","args":{"message":"good morning"}}`, ""},
		{"second line", request(runbook, `{"step":1,"tool":"echo","ok":true,"content":"ECHO: good morning"}`),
			`{"tool":"write_file","args":{"path":"f.txt","content":"` + "```" + `\nResults:\n"}}`, ""},
		{"third line, older results gone", request(runbook, `{"step":2,"tool":"write_file","args":{},"ok":true,"content":"","metadata":{"bytes":3}}`),
			`{"tool":"update_scratchpad","args":{"notes":"<b>"}}`, ""},
		{"all done", request(runbook, `{"step":2,"tool":"write_file","ok":true,"content":"x"}`, `{"step":3,"tool":"update_scratchpad","ok":true,"content":"kept\n  it"}`),
			`{"tool":"done","args":{"summary":"update_scratchpad: kept it"}}`, ""},
		{"content of another type", request("current_task: stat path=a", `{"step":1,"tool":"stat","ok":true,"content":{"size": 3}}`),
			`{"tool":"done","args":{"summary":"stat: {\"size\":3}"}}`, ""},
		{"no content", request("current_task: stat path=a", `{"step":1,"tool":"stat","ok":true}`),
			`{"tool":"done","args":{"summary":"stat"}}`, ""},
		{"long content", request("current_task: cat path=a", `{"step":1,"tool":"cat","ok":true,"content":"`+strings.Repeat("é", 150)+`"}`),
			`{"tool":"done","args":{"summary":"cat: ` + strings.Repeat("é", 100) + `…"}}`, ""},
		{"task in a mapping", request("current_task:\n  task: shell command=\"date -u\"\n  since: today"),
			`{"tool":"shell","args":{"command":"date -u"}}`, ""},
		{"failed call", request(runbook, `{"step":1,"tool":"echo","ok":true,"content":""}`, `{"step":2,"tool":"shell","ok":false,"error":"exit code 1"}`),
			"", "offline model: step 2, shell: exit code 1: task not done"},
		{"prose", request("current_task: Summarise the news"),
			"", `offline model cannot carry out "Summarise the news": set OPENAI_API_KEY, or OPENAI_BASE_URL for a local server such as http://127.0.0.1:11434/v1, or write the task as a call, like shell command="date -u" (line 1: "the" is not key=value)`},
		{"one word", request("current_task: Backup"), "", `(line 1: no arguments (a call without any is written Backup {}))`},
		{"second line is prose", request("current_task: |\n  shell command=date\n  then tidy up"), "", `(line 2: "tidy" is not key=value)`},
		{"done as a line", request("current_task: |\n  done {\"summary\":\"x\"}\n  shell command=date"), "", "line 1: done is said when all calls are"},
		{"only comments", request("current_task: '# nothing'"), "", `cannot carry out "# nothing"`},
		{"null", request("current_task: null"), "", "offline model has no current task"},
		{"missing", request("goals: []"), "", "offline model has no current task"},
		{"empty", request("current_task: ''"), "", "offline model has no current task"},
		{"list", request("current_task: [a]"), "", "a current task that is not text"},
		{"damaged results", request(runbook, `{"step":1,"tool":"echo","ok":tr`), "", "offline model: results:"},
		{"damaged state", request("a: b: c"), "", "offline model: state:"},
		{"no state", model.Request{Messages: []model.Message{{Role: model.User, Content: "hi"}}}, "(offline) hi", ""},
		{"no message", model.Request{}, "", "an empty request"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 { // the same twice
				got, err := model.Offline{}.Reply(context.Background(), tt.req)
				if tt.wantErr != "" {
					if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
						t.Fatalf("error %v, want %q", err, tt.wantErr)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				want := model.Reply{Text: tt.want, Finish: "stop"}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestParseCall(t *testing.T) {
	tests := []struct{ line, tool, args, wantErr string }{
		{`shell command="date -u"`, "shell", `{"command":"date -u"}`, ""},
		{"\tshell  command=\"a\\\"b\"\ttimeout=5 ", "shell", `{"command":"a\"b","timeout":5}`, ""},
		{`t a=true b=null c=-1.5e3 d=[1, 2] e={"x": "y z"} f=f`, "t", `{"a":true,"b":null,"c":-1.5e3,"d":[1, 2],"e":{"x": "y z"},"f":"f"}`, ""},
		{`t z=1 a=2`, "t", `{"z":1,"a":2}`, ""},
		{`http_get url=https://a.b/c?d=e&f=<g>`, "http_get", `{"url":"https://a.b/c?d=e&f=<g>"}`, ""},
		{`t n=007 m=+1 s=é`, "t", `{"n":"007","m":"+1","s":"é"}`, ""},
		{`list_files {}`, "list_files", `{}`, ""},
		{`write_file {"path": "a", "content": "{}"}`, "write_file", `{"path": "a", "content": "{}"}`, ""},
		{``, "", "", `"" is not the name`},
		{`date`, "", "", "no arguments"},
		{`Summarise the news`, "", "", `"the" is not key=value`},
		{`Please, do x=1`, "", "", `"Please," is not the name`},
		{`t a`, "", "", `"a" is not key=value`},
		{`t a=1 b`, "", "", `"b" is not key=value`},
		{`t =1`, "", "", `"=1" is not key=value`},
		{`t a=`, "", "", "a: no value"},
		{`t a= b=2`, "", "", "a: no value"},
		{`t a=1 a=2`, "", "", "a is given twice"},
		{`t a="x`, "", "", "a: value has no end"},
		{`t a="x"b=1`, "", "", "a: a blank is missing"},
		{`t a="x",b=1`, "", "", "a: a blank is missing"},
		{`t a=x"y"`, "", "", "a text with quotes"},
		{`t {"a":1} b=2`, "", "", "arguments: invalid character"},
		{`t {"a":1`, "", "", "arguments: unexpected end"},
		{`t {a:1}`, "", "", "arguments: invalid character"},
		{"t a=\"x\x00\"", "", "", "a: invalid character"},
		{"t a=\xff", "", "", "not UTF-8"},
		{`t {"a":` + strings.Repeat("[", 100_000), "", "", "exceeded max depth"},
	}
	for _, tt := range tests {
		tool, args, err := model.ParseCall(tt.line)
		if tt.wantErr != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("%.60s: error %v, want %q", tt.line, err, tt.wantErr)
			}
			continue
		}
		if err != nil || tool != tt.tool || string(args) != tt.args {
			t.Errorf("%s: %s %s %v, want %s %s", tt.line, tool, args, err, tt.tool, tt.args)
		}
	}
}

// FuzzParseCall: a call that is read is an object under a tool's name, and
// reads the same when it is written again.
func FuzzParseCall(f *testing.F) {
	for _, line := range []string{`shell command="date -u" n=1`, `t {"a":[{}]}`, "a b=c d={\"x\":1}", `t a="\ud800" b="\u0000"`, "prose, and more"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		tool, args, err := model.ParseCall(line)
		if err != nil {
			return
		}
		var object map[string]any
		if err := json.Unmarshal(args, &object); err != nil || tool == "" {
			t.Fatalf("%q: %q %q: %v", line, tool, args, err)
		}
		if strings.ContainsAny(string(args), "\n\r") {
			return // JSON may span lines; a line of a task does not
		}
		again, same, err := model.ParseCall(fmt.Sprintf("%s %s", tool, args))
		if err != nil || again != tool || string(same) != string(args) {
			t.Fatalf("%q: %q %q, again %q %q: %v", line, tool, args, again, same, err)
		}
	})
}

// FuzzOffline: whatever the request holds, the reply is one action or an error,
// and never done while a line is left or after a failure.
func FuzzOffline(f *testing.F) {
	f.Add("current_task: shell command=date", `{"step":1,"tool":"shell","ok":true,"content":"x"}`)
	f.Add("current_task:\n  task: &a |\n    a b=1\n    c d=2\n", "{\"step\":1,\"ok\":true}\n{\"step\":9,\"ok\":false,\"error\":\"\\n\"}")
	f.Add("current_task: *a", "")
	f.Add("```\n\nResults:", "{}")
	f.Fuzz(func(t *testing.T, state, results string) {
		got, err := model.Offline{}.Reply(t.Context(), request(state, results))
		if err != nil {
			return
		}
		var action struct {
			Tool string
			Args map[string]any
		}
		if err := json.Unmarshal([]byte(got.Text), &action); err != nil || action.Tool == "" || action.Args == nil {
			t.Fatalf("%q: %v", got.Text, err)
		}
		if action.Tool == "done" && !strings.Contains(results, "{") && !strings.Contains(state, "Results") {
			t.Fatalf("done with no result: %q %q", state, results)
		}
	})
}
