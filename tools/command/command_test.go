package command

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"gopkg.in/yaml.v3"

	"rouse/internal/proc"
	"rouse/tools"
)

// spec reads a declaration as the configuration does.
func spec(t *testing.T, text string) Spec {
	t.Helper()
	var s Spec
	if err := yaml.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	if s.Name == "" {
		s.Name = "tool"
	}
	if s.Description == "" {
		s.Description = "Does it."
	}
	return s
}

func exec(t *testing.T) Exec {
	return Exec{Runner: &proc.Runner{Env: proc.Environ(os.Environ())}, Dir: filepath.Join(t.TempDir(), "workspace"), Timeout: 10 * time.Second, MaxOutput: 1 << 20}
}

// show prints each of its arguments in brackets: what a program really gets.
const show = `argv: [printf, "[%s]", `

const declared = `
parameters:
  type: object
  required: [a]
  properties:
    a: {type: string}
    b: {type: string}
    n: {type: number}
    yes: {type: boolean, default: true}
` + show

func TestValueStaysInsideItsArgument(t *testing.T) {
	for _, row := range []struct{ argv, args, want string }{
		{`"{a}", "{b}", "{n}", "{yes}"]`, `{"a":"x"}`, "[x][true]"},
		{`"{a}", "{b}", "{n}", "{yes}"]`, `{"a":"x","b":null,"n":1.50,"yes":false}`, "[x][1.50][false]"},
		{`"{a}", "{b}", "{n}", "{yes}"]`, `{"a":"x y","b":"","n":-1}`, "[x y][][-1][true]"},
		{`"{a}", "--b={b}", "n{n}{n}", "{yes}"]`, `{"a":"$(id) ; rm -rf / & \"' \n*"}`, "[$(id) ; rm -rf / & \"' \n*][true]"},
		{`"{a}", "--b={b}", "n{n}{n}", "{yes}"]`, `{"a":"{b}","b":"{a}","n":2}`, "[{b}][--b={a}][n22][true]"},
		{`"{a} {", "{b}", "{c} ${a}", "{ a }{n}", "{}{{yes}}"]`, `{"a":"1","n":7}`, "[1 {][{c} $1][{ a }7][{}{true}]"},
		{`"--", "{a}", "{b}", "{n}", "{yes}"]`, `{"a":"-x"}`, "[--][-x][true]"},
		{`"x{a}", "{b}", "{n}", "{yes}"]`, `{"a":"-x"}`, "[x-x][true]"},
	} {
		tool, err := Tool(spec(t, declared+row.argv), exec(t))
		if err != nil {
			t.Errorf("%s: %v", row.argv, err)
			continue
		}
		var out bytes.Buffer
		r := tool.Run(t.Context(), tools.Call{Args: json.RawMessage(row.args), Output: &out})
		if out.String() != row.want || !r.OK {
			t.Errorf("%s with %s: got %q (%s), want %q", row.argv, row.args, out.String(), r.Error, row.want)
		}
	}
}

func TestValuesRefused(t *testing.T) {
	tool, err := Tool(spec(t, declared+`"{a}", "{b}", "{n}", "{yes}"]`), exec(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ args, want string }{
		{`{"a":"x\u0000y"}`, "NUL"},
		{`{"a":["x"]}`, "must be text"},
		{`{"a":{"x":1}}`, "must be text"},
		{`{"a":"-rf"}`, `must not begin with "-"`},
		{`[]`, "arguments"},
	} {
		var out bytes.Buffer
		r := tool.Run(t.Context(), tools.Call{Args: json.RawMessage(row.args), Output: &out})
		if r.OK || !strings.Contains(r.Error, row.want) || out.Len() > 0 {
			t.Errorf("%s: got %+v, want an error with %q", row.args, r, row.want)
		}
	}
	for _, args := range []string{`{}`, `{"a":1}`, `{"a":"x","other":1}`, `{"a":"x","n":"1"}`} {
		if tool.Check(json.RawMessage(args)) == nil {
			t.Errorf("%s fits the schema", args)
		}
	}
}

func TestDeclarationRefused(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{`{name: "a b", argv: [ls]}`, "name"},
		{`{description: " ", argv: [ls]}`, "description"},
		{`{}`, "no program"},
		{`{argv: [""]}`, "no program"},
		{`{argv: [bin/x]}`, "absolute path"},
		{`{argv: [./x]}`, "absolute path"},
		{`{argv: ["a\0b"]}`, "NUL"},
		{`{argv: ["{p}"], parameters: {properties: {p: {type: string}}}}`, "cannot name the program"},
		{`{argv: [ls, "{q}"], parameters: {properties: {p: {type: string}}}}`, "parameter p has no place"},
		{`{argv: [ls, "{p}"], parameters: {properties: {p: {type: array}}}}`, "type must be"},
		{`{argv: [ls, "{p}"], parameters: {properties: {p: {}}}}`, "type must be"},
		{`{argv: [ls, "{p q}"], parameters: {properties: {"p q": {type: string}}}}`, "is no name"},
		{`{argv: [ls, "{p}"], parameters: {required: [q], properties: {p: {type: string}}}}`, "required"},
		{`{argv: [ls, "{p}"], parameters: {properties: {p: {type: integer, default: x}}}}`, "parameters"},
		{`{argv: [ls], parameters: {type: array}}`, "must be object"},
		{`{argv: [ls], parameters: {properties: 7}}`, "parameters"},
	} {
		s := spec(t, row.text)
		if _, err := Tool(s, exec(t)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want an error with %q", row.text, err, row.want)
		}
	}
}

func TestSpecIsATool(t *testing.T) {
	tool, err := Tool(spec(t, `{name: today, description: "Says the date.\n", argv: [date, "+%Y {x}"]}`), exec(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"today", "Says the date.", false}, []any{tool.Name, tool.Description, tool.ReadOnly}); diff != "" {
		t.Error(diff)
	}
	if err := tool.Check(json.RawMessage(`{}`)); err != nil {
		t.Error(err)
	}
	var out bytes.Buffer
	var started []proc.Identity
	r := tool.Run(t.Context(), tools.Call{Args: json.RawMessage(`{}`), Output: &out, Started: func(i proc.Identity) { started = append(started, i) }})
	if !r.OK || !strings.HasSuffix(out.String(), " {x}\n") || len(started) != 1 || started[0].PID == 0 {
		t.Errorf("got %+v, %q, started %v", r, out.String(), started)
	}
}

func TestNotStarted(t *testing.T) {
	e := exec(t)
	for _, row := range []struct{ program, want string }{
		{"no-such-program-at-all", "not started: start no-such-program-at-all: no such program in "},
		{"/etc/passwd", "permission denied"},
		{"/no/such", "no such file"},
	} {
		tool, err := Tool(Spec{Name: "x", Description: "x", Argv: []string{row.program}}, e)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		r := tool.Run(t.Context(), tools.Call{Args: json.RawMessage(`{}`), Output: &out})
		if r.OK || !strings.Contains(r.Error, row.want) || r.Metadata != nil {
			t.Errorf("%s: %+v", row.program, r)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := e.Run(ctx, tools.Call{Output: &bytes.Buffer{}}, proc.Command{Argv: []string{"true"}})
	if r.OK || !strings.Contains(r.Error, "context canceled") {
		t.Errorf("after the end of the cycle: %+v", r)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("{a}x{b}{", "v", "{a}")
	f.Add("{{a}}", "", "\n")
	f.Fuzz(func(t *testing.T, element, a, b string) {
		declared := map[string]*jsonschema.Schema{"a": {}, "b": {}}
		arg := argument{parts: split(element, declared, map[string]*jsonschema.Schema{})}
		got, ok := arg.expand(map[string]string{"a": a, "b": b})
		want := strings.NewReplacer("{a}", a, "{b}", b).Replace(element) // one pass, as ours
		if got != want || !ok {
			t.Errorf("%q: got %q, %v, want %q", element, got, ok, want)
		}
	})
}
