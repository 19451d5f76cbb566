package scratchpad

import (
	"strings"
	"testing"
)

// What YAML 1.2 allows and the library does not is read, and stays as it is where
// something else changes.
func TestYAML12(t *testing.T) {
	tests := []struct{ text, key, value string }{
		{"%YAML 1.2\n---\nmine: a\n", "mine", "a"},
		{"# mine\n%YAML 1.2\n---\nmine: a\n", "mine", "a"},
		{`mine: "a\/b \\/ \"c\/\" é" # d\/e` + "\n", "mine", `a/b \/ "c/" é`},
		{`other: 'a\/b'` + "\n" + `mine: "https:\/\/a` + "\n  b\\/c\"\n", "mine", "https://a b/c"},
		{`{"mine": "a\/b", "other": ["c\/d"]}` + "\n", "mine", "a/b"},
		{"mine: |\n  \ta\n  b\n", "mine", "\ta\nb\n"},
		{"mine: |- # so\n\n    \ta\n    b\n", "mine", "\n\ta\nb"},
		{"mine: >\r\n  \ta\r\n  b\r\n", "mine", "\ta\nb\n"},
		{"mine: |\n  \ta\nmore: |+\n   \tb\n", "more", "\tb\n"},
	}
	for _, tt := range tests {
		s, err := Parse("state", []byte(tt.text))
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if v, _ := s.Value(tt.key); v != any(tt.value) {
			t.Errorf("%q: %q, want %q", tt.text, v, tt.value)
		}
		if err := s.Apply(Change{OpSet, "notes", "new\nnotes"}); err != nil {
			t.Fatal(err)
		}
		if b, err := s.Bytes(); err != nil || tt.text[0] != '{' && !strings.HasPrefix(string(b), tt.text) {
			t.Errorf("%q: %v\n%s", tt.text, err, b)
		}
	}
	nested := "pending_actions:\n  - task: |\n      \ta\n    b: 1\n  - |\n   \tc\n"
	if s, err := Parse("state", []byte(nested)); err != nil || s.Pending()[0].(map[string]any)["task"] != "\ta\n" || s.Pending()[1] != "\tc\n" {
		t.Errorf("nested: %v %v", s, err)
	}
	for _, wrong := range []string{"%YAML 2.0\n---\na: b\n", `a: "b\q"`, "a: |\n\tb\n", "a:\n  \t- b\n", "a: b\n\tc: d\n"} {
		if _, err := Parse("state", []byte(wrong)); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}
