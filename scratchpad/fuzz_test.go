package scratchpad

import (
	"testing"
)

// FuzzParse holds that no text makes Parse panic, and that a state which was
// read takes changes and is written to a text that reads back as the same.
func FuzzParse(f *testing.F) {
	for _, in := range []string{
		"", "# c\n", "\ufeffgoals: [a]\r\nnotes: |\r\n  x\r\n", "{a: 1, b: [x, {c: d}]}", "? a\n: b\n",
		"# a\n\ngoals: # b\n  # c\n  - x # d\n  - - y\n    - z\n# e\nnotes: |+\n  a\n\n\n# f\nk:\n- |2-\n\n    str\n- >\n  a\n  b\n...\n",
		"  goals:\n  - a\n  notes: 'x\n    y'\n", "%YAML 1.1\n--- # c\na: &x \"b\\\n  c\"\n", "a: 0x1F\nb: 1e3\nc: .inf\nd: !!str 1\n",
		"notes: |\n  no final newline", "goals:\n  - a\n  -\n    b\n  - ? c\n    : d\n", "\u0085a: b\u2028c: d\r",
	} {
		f.Add([]byte(in), "\n[TOOL] x", "item")
	}
	f.Fuzz(func(t *testing.T, in []byte, text, item string) {
		s, err := Parse("f", in)
		if err != nil {
			return
		}
		if got := mustBytes(t, s); got != string(in) {
			t.Fatalf("unchanged text became %q", got)
		}
		mustApply(t, s, Change{OpAppend, "notes", text}, Change{OpExtend, "goals", []any{item, []any{item}}}, Change{OpSet, "extra", text + item})
		roundTrip(t, s)
		if pending := s.Goals(); len(pending) > 2 {
			mustApply(t, s, Change{OpSet, "goals", pending[1:]})
		}
		last := s.Keys()[0]
		v, _ := s.Value(last)
		mustApply(t, s, Change{OpSet, last, v}, Change{OpSet, "notes", ""})
		roundTrip(t, s)
	})
}

func roundTrip(t *testing.T, s *State) {
	t.Helper()
	again := mustParse(t, mustBytes(t, s))
	if d := Diff(s, again); len(d) > 0 {
		t.Fatalf("read back differently: %+v\n%s", d, mustBytes(t, s))
	}
}
