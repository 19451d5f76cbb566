package scratchpad

import "testing"

// A pending task that becomes the current one stands there as it was written.
func TestMovedTask(t *testing.T) {
	tests := []struct{ name, before, after string }{
		{"order and comments", `current_task: null # now
pending_actions:
  # the port first
  - z: 1 # one

    # what to do
    task: |
        long
      # no comment
    list: [b, a] # l
  - c # next
notes: x
`, `current_task: # now
  # the port first
  z: 1 # one

  # what to do
  task: |
      long
    # no comment
  list: [b, a] # l
pending_actions:
  - c # next
notes: x
`},
		{"flush dashes, no current task", "pending_actions:\n- # first\n  task: a # why\n  b: 2\n- c\ngoals: []\n",
			"pending_actions:\n- c\ngoals: []\ncurrent_task:\n  # first\n  task: a # why\n  b: 2\n"},
		{"the last one, CRLF", "current_task:\r\npending_actions:\r\n-   task: a # why\r\n    b: 2\r\n# end\r\nnotes: x\r\n",
			"current_task:\r\n  task: a # why\r\n  b: 2\r\npending_actions: []\r\n# end\r\nnotes: x\r\n"},
		{"in braces", "current_task: x\npending_actions:\n  - {z: 1, task: a}\n", "current_task:\n  {z: 1, task: a}\npending_actions: []\n"},
	}
	for _, tt := range tests {
		s, err := Parse("state", []byte(tt.before))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		p := s.Pending()
		if err := s.Apply(Change{OpSet, "current_task", p[0]}, Change{OpSet, "pending_actions", p[1:]}); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got, err := s.Bytes(); err != nil || len(got) < len(tt.after) || string(got[:len(tt.after)]) != tt.after {
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.name, err, got, tt.after)
		}
	}
}
