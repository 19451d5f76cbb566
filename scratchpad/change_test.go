package scratchpad

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func nested(depth int) any {
	var v any = "x"
	for range depth {
		v = []any{v}
	}
	return v
}

func TestApply(t *testing.T) {
	const file = "goals: [a]\nnotes: n\ntext: t\nnumber: 1\nempty:\n"
	for _, tt := range []struct {
		change Change
		want   any
	}{
		{Change{OpSet, "goals", nil}, []any{}},
		{Change{OpSet, "goals", []string{"x", "y"}}, []any{"x", "y"}},
		{Change{OpSet, "notes", nil}, ""},
		{Change{OpSet, "k", 1}, num("1")},
		{Change{OpSet, "k", 1.0}, num("1")},
		{Change{OpSet, "k", num("1.0")}, num("1.0")},
		{Change{OpSet, "k", num("1e3")}, num("1.0e+3")},
		{Change{OpSet, "k", num("1.5E-7")}, num("1.5e-7")},
		{Change{OpSet, "k", num("123456789012345678901234567890")}, num("123456789012345678901234567890")},
		{Change{OpSet, "k", num("0.10000000000000000000001")}, num("0.10000000000000000000001")},
		{Change{OpSet, "k", "a\xffb\xfe\xfe"}, "a\ufffdb\ufffd\ufffd"},
		{Change{OpSet, "k", nested(100)}, nested(100)},
		{Change{OpExtend, "goals", []any{"b", nil}}, []any{"a", "b", nil}},
		{Change{OpExtend, "new", []any{true}}, []any{true}},
		{Change{OpExtend, "empty", []any{"b"}}, []any{"b"}},
		{Change{OpAppend, "notes", "\nm"}, "n\nm"},
		{Change{OpAppend, "text", "u"}, "tu"},
		{Change{OpAppend, "new", "u"}, "u"},
		{Change{OpAppend, "last_updated", "2026"}, "2026"},
	} {
		t.Run(fmt.Sprintf("%.60v", tt.change), func(t *testing.T) {
			s, replayed := mustParse(t, file), mustParse(t, file)
			mustApply(t, s, tt.change)
			got, _ := s.Value(tt.change.Key)
			if !same(tt.want, got) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			mustApply(t, replayed, throughJournal(t, tt.change))
			if a, b := mustBytes(t, s), mustBytes(t, replayed); a != b {
				t.Errorf("replayed from JSON it is\n%s\nnot\n%s", b, a)
			}
			roundTrip(t, s)
		})
	}
}

func throughJournal(t *testing.T, c Change) Change {
	t.Helper()
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var out Change
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestApplyRefuses(t *testing.T) {
	const file = "goals: [a]\nnotes: n\nnumber: 1\n"
	for _, tt := range []struct {
		change Change
		want   string
	}{
		{Change{OpSet, "goals", "x"}, `goals: want a list, got the text "x"`},
		{Change{OpSet, "notes", 5}, "notes: want text, got the number 5"},
		{Change{OpSet, "notes", []any{}}, "notes: want text, got a list of 0"},
		{Change{OpSet, "current_task", true}, "current_task: want text, a mapping or null, got the boolean true"},
		{Change{OpExtend, "goals", "x"}, `goals: want a list of items to add, got the text "x"`},
		{Change{OpExtend, "notes", []any{"x"}}, `notes: cannot extend the text "changed", it is no list`},
		{Change{OpAppend, "notes", 1}, "notes: want text to append, got the number 1"},
		{Change{OpAppend, "goals", "x"}, "goals: cannot append to a list of 1, it is no text"},
		{Change{OpAppend, "number", "x"}, "number: cannot append to the number 1, it is no text"},
		{Change{"replace", "notes", "x"}, `notes: unknown operation "replace"`},
		{Change{OpSet, "k", num("1e999")}, "k: the number 1e999 is out of range"},
		{Change{OpSet, "k", num("0x1")}, `k: "0x1" is not a JSON number`},
		{Change{OpSet, "k", num("")}, `k: "" is not a JSON number`},
		{Change{OpSet, "k", math.NaN()}, "k: not a JSON value: json: unsupported value: NaN"},
		{Change{OpSet, "k", func() {}}, "k: not a JSON value: json: unsupported type: func()"},
		{Change{OpSet, "k", nested(101)}, "k: nested deeper than 100 levels"},
		{Change{OpSet, "k", map[string]any{"a\xff": 1}}, `k: the key "a\xff" is not UTF-8`},
		{Change{OpSet, "", 1}, "a key must not be empty"},
		{Change{OpSet, strings.Repeat("k", 257), 1}, "the key " + strings.Repeat("k", 40) + "… is longer than 256 bytes"},
		{Change{OpSet, "a\ngoals:", 1}, `the key "a\ngoals:" has line breaks or control characters`},
		{Change{OpSet, "a\u2028", 1}, `the key "a\u2028" has line breaks or control characters`},
		{Change{OpSet, "a\xff", 1}, `the key "a\xff" is not UTF-8`},
	} {
		t.Run(tt.want, func(t *testing.T) {
			s := mustParse(t, file)
			err := s.Apply(Change{OpSet, "notes", "changed"}, tt.change)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if got := mustBytes(t, s); got != file {
				t.Errorf("a refused change left %q", got)
			}
		})
	}
}

func TestApplyKeepsTheSizeLimit(t *testing.T) {
	s := New()
	mustApply(t, s, Change{OpSet, "big", strings.Repeat("x", MaxBytes-1000)})
	err := s.Apply(Change{OpAppend, "notes", strings.Repeat("y", 1000)})
	if err == nil || !strings.Contains(err.Error(), "the limit is 8388") {
		t.Errorf("got %v, want the limit", err)
	}
	if s.Notes() != "" {
		t.Error("the refused change left a trace")
	}
	mustApply(t, s, Change{OpAppend, "notes", strings.Repeat("y", 100)})
	if n := len(mustBytes(t, s)); n > MaxBytes {
		t.Errorf("%d bytes were written, the next cycle cannot load them", n)
	}
}

func TestCoerce(t *testing.T) {
	for _, tt := range []struct {
		key   string
		value any
		want  any
		err   string
	}{
		{"goals", "one", []any{"one"}, ""},
		{"goals", "", []any{""}, ""},
		{"completed_tasks", nil, []any{}, ""},
		{"pending_actions", []any{"a", num("1")}, []any{"a", num("1")}, ""},
		{"pending_actions", num("5"), nil, "pending_actions: want a list, got the number 5"},
		{"pending_actions", map[string]any{}, nil, "pending_actions: want a list, got a mapping"},
		{"notes", nil, "", ""},
		{"notes", "x", "x", ""},
		{"notes", []any{"x"}, nil, "notes: want text, got a list of 1"},
		{"notes", false, nil, "notes: want text, got the boolean false"},
		{"current_task", "", nil, ""},
		{"current_task", nil, nil, ""},
		{"current_task", "x", "x", ""},
		{"current_task", map[string]any{"a": 1.5}, map[string]any{"a": num("1.5")}, ""},
		{"current_task", []any{}, nil, "current_task: want text, a mapping or null, got a list of 0"},
		{"last_updated", "x", nil, "last_updated: is set when the state is saved, it cannot be set here"},
		{"mine", "x", "x", ""},
		{"__proto__", num("1"), num("1"), ""},
		{"a\nb", "x", nil, `the key "a\nb" has line breaks or control characters`},
		{"", "x", nil, "a key must not be empty"},
		{"mine", nested(101), nil, "mine: nested deeper than 100 levels"},
	} {
		got, err := Coerce(tt.key, tt.value)
		if !same(tt.want, got) || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("Coerce(%q, %.40v) = %v, %v, want %v, %q", tt.key, tt.value, got, err, tt.want, tt.err)
		}
	}
}

func TestTaskText(t *testing.T) {
	for _, tt := range []struct {
		task any
		want string
	}{
		{nil, ""},
		{"a\n  b\tc", "a b c"},
		{"a\x1b[31m", `a\u001b[31m`},
		{map[string]any{"task": "t", "summary": "s"}, "t"},
		{map[string]any{"task": map[string]any{"title": "t"}}, "t"},
		{map[string]any{"summary": "s", "task": nil}, "s"},
		{map[string]any{"x": num("1")}, `{"x":1}`},
		{num("5"), "5"},
		{[]any{"a"}, `["a"]`},
	} {
		if got := TaskText(tt.task); got != tt.want {
			t.Errorf("TaskText(%v) = %q, want %q", tt.task, got, tt.want)
		}
	}
}

// TestSizeBound wants the bound that spares an encoding to be one, for texts of
// every kind and however they came to be there.
func TestSizeBound(t *testing.T) {
	rnd, texts := rand.New(rand.NewPCG(1, 2)), randomStrings(5000)
	text := func() string { return texts[rnd.IntN(len(texts))] }
	for range 2000 {
		s := New()
		for range 1 + rnd.IntN(6) {
			c := Change{Op: OpAppend, Key: "notes", Value: text()}
			if rnd.IntN(4) == 0 {
				c = Change{Op: OpSet, Key: "x", Value: []any{text(), map[string]any{fmt.Sprintf("key %d", rnd.IntN(100)): text()}}}
			}
			if err := s.Apply(c); err != nil {
				t.Fatal(err)
			}
		}
		bound := 0
		for i := range s.entries {
			bound += s.entries[i].size()
		}
		got, err := s.Bytes()
		if err != nil || len(got) > bound {
			t.Fatalf("%d bytes, bound %d, %v:\n%.300q", len(got), bound, err, got)
		}
	}
}
