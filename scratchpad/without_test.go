package scratchpad

import "testing"

// A key goes with its value, and what a person wrote above the next one stays.
func TestWithout(t *testing.T) {
	const known = "goals: []\ncurrent_task: null\npending_actions: []\ncompleted_tasks: []\nnotes: \"\"\nlast_updated: null\n"
	for _, c := range []struct{ text, want string }{
		{"# top\na: 1\n# of b\nb: 2\n" + known + "c: |\n  x\n  # y\n", "# top\n# of b\nb: 2\n" + known},
		{"{a: 1, b: 2}\n", known + "b: 2\n"},
		{known, known},
	} {
		s, err := Parse("state", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		left, err := s.Without("a", "c")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := left.Bytes(); err != nil || string(got) != c.want {
			t.Errorf("got %v\n%s\nwant\n%s", err, got, c.want)
		}
	}
}
