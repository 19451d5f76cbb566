package scratchpad

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, in     string
		line, column int
		msg          string
	}{
		{"tab indent", "goals: []\n\tnotes: x\n", 2, 1, "cannot start any token"},
		{"tab in block", "a: |\n\tx\n", 2, 1, "tab character"},
		{"unclosed bracket", "goals: [a\nnotes: x\n", 2, 6, "expected ',' or ']'"},
		{"unclosed bracket at the end", "k: 1\ngoals: [a, b\n", 2, 8, "a flow sequence that starts here"},
		{"unclosed quote", "goals: []\nnotes: \"x\n\ncurrent_task: null\n", 2, 8, "quoted scalar that starts here"},
		{"unclosed single quote", "a: 'b\nc: d\n", 1, 4, "quoted scalar that starts here"},
		{"text behind a quote", "goals: []\nnotes: \"x\" y\n", 2, 12, "expected key"},
		{"colon in text", "goals: []\nnotes: a: b\n", 2, 9, "mapping values are not allowed"},
		{"no colon", "key: x\nnokey\nz: y\n", 2, 1, "expected ':'"},
		{"no colon, nested", "a:\n  b: 1\n  c\n  d: 2\n", 3, 3, "expected ':'"},
		{"bad indent of an item", "goals:\n  - a\n - b\n", 3, 2, "expected key"},
		{"bad indent of a block", "a: 1\nb: 2\nnotes: |\n  a\n b\n", 5, 2, "expected key"},
		{"bad closing", "a: 1\nb: {b: {c: [1,2}}\n", 2, 16, "expected ',' or ']'"},
		{"key under a text", "a: b\n  c: d\n", 2, 4, "mapping values"},
		{"percent", "x: %a\n", 1, 4, "cannot start any token"},
		{"directive", "%FOO\n---\na: b\n", 1, 5, "unknown directive"},
		{"merge conflict", "<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> x\n", 2, 2, "mapping values"},
		{"after CRLF", "a: 1\r\nb: 2\r\nc: [\r\n", 3, 5, "node content"},
		{"after lone CR", "a: 1\rb: 2\rc: [\r", 3, 5, "node content"},
		{"after a NEL, which editors do not count", "a: x\u0085b: 2\nc: [\n", 2, 5, "node content"},
		{"after a BOM", "\ufeffa: 1\nb: [\n", 2, 5, "node content"},
		{"after wide letters", "ключ: 😀 [\nключ: [\n", 2, 8, "node content"},

		{"unknown alias", "\n\nfoo: *x\n", 3, 6, "unknown anchor 'x'"},
		{"alias", "a: &x b\nc: *x\n", 2, 4, "aliases are not supported"},
		{"alias in a list", "goals:\n  - &x b\n  - *x\n", 3, 5, "aliases are not supported"},
		{"self alias", "a: &x\n  - *x\n", 2, 5, "aliases are not supported"},
		{"alias bomb", aliasBomb(), 2, 8, "aliases are not supported"},
		{"alias as key", "a: &x b\n*x : 1\n", 2, 1, "aliases are not supported"},
		{"merge key", "a: &x {b: 1}\nc:\n  <<: *x\n", 3, 3, "merge keys are not supported"},
		{"doubled key", "a: 1\nb: 2\na: 3\n", 3, 1, `the key "a" is there twice`},
		{"doubled key, nested", "a:\n  - x: 1\n    \"x\": 2\n", 3, 5, "twice"},
		{"second document", "a: 1\n---\nb: 2\n", 2, 1, "second document"},
		{"empty second document", "a: 1\n---\n", 2, 1, "second document"},
		{"broken second document", "a: 1\n---\nb: [\n", 3, 5, "node content"},
		{"list at the root", "- a\n- b\n", 1, 1, "not a list of 2"},
		{"text at the root", "\nhello\n", 2, 1, `not the text "hello"`},
		{"number at the root", "5\n", 1, 1, "not the number 5"},
		{"null at the root", "null\n", 1, 1, "not null"},
		{"number as key", "a: 1\n1: x\n", 2, 1, "a key must be text"},
		{"boolean as key", "true: x\n", 1, 1, "a key must be text"},
		{"null as key", "a:\n  ~: x\n", 2, 3, "a key must be text"},
		{"list as key", "? [a]\n: x\n", 1, 3, "a key must be text"},
		{"binary tag", "a: !!binary aGk=\n", 1, 4, "!!binary is not supported"},
		{"custom tag", "a: !foo x\n", 1, 4, "!foo is not supported"},
		{"language tag", "a: !!python/object:os.system x\n", 1, 4, "!!python/object:os.system is not supported"},
		{"set tag", "a: !!set {x}\n", 1, 4, "!!set is not supported"},
		{"tag that does not fit", "a: !!int x\n", 1, 4, "cannot decode"},
		{"deep nest", "a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n", 1, 104, "deeper than 100"},
		{"very deep nest", "a: " + strings.Repeat("[", 20000), 1, 10004, "max depth"},

		{"UTF-16 little endian", "\xff\xfea\x00:\x00", 1, 1, "UTF-16"},
		{"UTF-16 big endian", "\xfe\xff\x00a\x00:", 1, 1, "UTF-16"},
		{"UTF-16 without mark", "a\x00:\x00 \x001\x00", 1, 2, "looks like UTF-16"},
		{"NUL", "a: 1\nb: \x00\n", 2, 4, "NUL byte"},
		{"invalid UTF-8", "a: 1\nb: é\xff\n", 2, 5, "invalid UTF-8 byte 0xff"},
		{"encoded surrogate", "a: \xed\xa0\x80\n", 1, 4, "invalid UTF-8"},
		{"escape character", "a:\r\n  b\x1b[0m\r\n", 2, 4, "control character U+001B"},
		{"DEL", "a: \x7f\n", 1, 4, "control character U+007F"},

		{"notes number", "notes: 5\n", 1, 8, "want text, got the number 5 (put it in quotes"},
		{"notes boolean", "goals: []\nnotes: true\n", 2, 8, "the boolean true (put it in quotes"},
		{"notes list", "notes: [a]\n", 1, 8, "want text, got a list of 1"},
		{"goals text", "goals: x\n", 1, 8, `want a list, got the text "x"`},
		{"goals mapping", "goals:\n  a: 1\n", 2, 3, "want a list, got a mapping"},
		{"pending number", "pending_actions: 3\n", 1, 18, "want a list, got the number 3"},
		{"completed text", "completed_tasks: \"\"\n", 1, 18, "want a list"},
		{"task list", "current_task: [a]\n", 1, 15, "want text, a mapping or null, got a list of 1"},
		{"task number", "current_task: 1.5\n", 1, 15, "the number 1.5 (put it in quotes"},
		{"stamp number", "last_updated: 2026\n", 1, 15, "want text or null"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Parse("active.yaml", []byte(tt.in))
			var se *SyntaxError
			if !errors.As(err, &se) {
				t.Fatalf("got %v, %v, want a SyntaxError", s, err)
			}
			if se.Line != tt.line || se.Column != tt.column || !strings.Contains(se.Msg, tt.msg) {
				t.Errorf("got %v\nwant line %d, column %d: %s", se, tt.line, tt.column, tt.msg)
			}
			if strings.ContainsFunc(se.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) || len(se.Error()) > 1000 {
				t.Errorf("not one clean line: %q", se.Error())
			}
		})
	}
}

func aliasBomb() string {
	b := "a: &a [x,x]\n"
	for _, p := range []string{"ab", "bc", "cd", "de", "ef", "fg", "gh", "hi"} {
		b += p[1:] + ": &" + p[1:] + " [" + strings.Repeat("*"+p[:1]+",", 9) + "]\n"
	}
	return b
}

func TestSyntaxErrorText(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"goals: []\nnotes: \"x\" y\n", `line 2, column 12: did not find expected key: notes: "x" y`},
		{"k: \x1b[0m\u202e\r\n", `line 1, column 4: control character U+001B, write it as an escape in double quotes: k: \u001b[0m\u202e`},
		{"k: " + strings.Repeat("é", 300) + ": " + strings.Repeat("x", 300),
			"line 1, column 304: mapping values are not allowed in this context: …" + strings.Repeat("é", 60) + ": " + strings.Repeat("x", 57) + "…"},
	} {
		_, err := Parse("scratchpad/active.yaml", []byte(tt.in))
		if err == nil || err.Error() != "read scratchpad/active.yaml: "+tt.want {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
}

func TestParseAccepts(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		key      string
		want     any
	}{
		{"empty", "", "goals", []any{}},
		{"empty notes", "", "notes", ""},
		{"only a comment", "# hello\n", "current_task", nil},
		{"only a start mark", "---\n", "notes", ""},
		{"start and end mark", "---\nnotes: a\n...\n", "notes", "a"},
		{"BOM", "\ufeffnotes: a\n", "notes", "a"},
		{"CRLF", "notes: |\r\n  a\r\n  b\r\ngoals: []\r\n", "notes", "a\nb\n"},
		{"lone CR", "notes: a\rgoals: [b]\r", "goals", []any{"b"}},
		{"null list", "goals: ~\n", "goals", []any{}},
		{"null notes", "notes:\n", "notes", ""},
		{"date as text", "last_updated: 2026-04-01\n", "last_updated", "2026-04-01"},
		{"time as text", "last_updated: 2026-04-01T15:01:54Z\n", "last_updated", "2026-04-01T15:01:54Z"},
		{"date as task", "current_task: 2026-04-01\n", "current_task", "2026-04-01"},
		{"task as mapping", "current_task: {task: a, n: 1}\n", "current_task", map[string]any{"task": "a", "n": num("1")}},
		{"look-alikes stay text", "goals: [no, yes, on, 12:30:45, =]\n", "goals", []any{"no", "yes", "on", "12:30:45", "="}},
		{"numbers keep digits", "x: [1, 1.0, 1.50, -0, 123456789012345678901234567890, 0.1000000000000000055]\n", "x",
			[]any{num("1"), num("1.0"), num("1.50"), num("-0"), num("123456789012345678901234567890"), num("0.1000000000000000055")}},
		{"numbers that JSON lacks", "x: [012, 0x1F, 1_000, +1, .5, 1., 1e3, 0b11]\n", "x",
			[]any{num("10"), num("31"), num("1000"), num("1"), num("0.5"), num("1.0"), num("1.0e+3"), num("3")}},
		{"not a number", "x: [.inf, .nan, 1e999]\n", "x", []any{".inf", ".nan", "1e999"}},
		{"booleans", "x: [true, False]\n", "x", []any{true, false}},
		{"an anchor alone", "goals:\n  - &a b\n", "goals", []any{"b"}},
		{"core tags", "x: [!!str 1, !!int \"2\", !!null ~]\n", "x", []any{"1", num("2"), nil}},
		{"date as key", "x: {2026-04-01: a}\n", "x", map[string]any{"2026-04-01": "a"}},
		{"quoted merge key", "x: {\"<<\": a}\n", "x", map[string]any{"<<": "a"}},
		{"odd keys", "__proto__: a\n", "__proto__", "a"},
		{"root in braces", "{notes: a}\n", "notes", "a"},
		{"yaml directive", "%YAML 1.1\n---\nnotes: a\n", "notes", "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustParse(t, tt.in)
			got, ok := s.Value(tt.key)
			if diff := cmp.Diff(tt.want, got); !ok || diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.key, diff)
			}
			if b, err := s.Bytes(); err != nil || string(b) != tt.in {
				t.Errorf("unchanged text became %q, %v", b, err)
			}
		})
	}
}
