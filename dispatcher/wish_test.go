package dispatcher

import (
	"strings"
	"testing"
	"time"
)

func TestNextWake(t *testing.T) {
	after := func(d time.Duration) *time.Duration { return &d }
	tests := []struct {
		args  string
		want  *time.Duration
		said  string
		error string
	}{
		{`{"next_wake":"2h"}`, after(2 * time.Hour), "next_wake: 2h0m0s after this cycle sleeps", ""},
		{`{"notes":"n","next_wake":"1m"}`, after(time.Minute), "updated notes; next_wake: 1m0s after this cycle sleeps", ""},
		{`{"next_wake":""}`, after(0), "next_wake: taken back", ""},
		{`{"next_wake":null}`, after(0), "next_wake: taken back", ""},
		{`{"next_wake":"59s","notes":"x"}`, nil, "", "next_wake: 59s is not between 1m0s and 24h0m0s (cycle.next_wake); nothing was changed"},
		{`{"next_wake":"25h"}`, nil, "", "25h0m0s is not between"},
		{`{"next_wake":"-2h"}`, nil, "", "-2h0m0s is not between"},
		{`{"next_wake":"tomorrow"}`, nil, "", `"tomorrow" is not a length of time; write "20m" or "2h"`},
		{`{"next_wake":3600}`, nil, "", "3600 is not a length of time"},
		{`{"next_wake":{"in":"2h"}}`, nil, "", "is not a length of time"},
		{`{"next_wake":"2h","goals":7.5}`, nil, "", "goals"},
	}
	for _, tt := range tests {
		d, _ := newDispatcher(t, "notes: old\n")
		d.Wishes = Wishes{WakeMin: time.Minute, WakeMax: 24 * time.Hour}
		o := do(t, d, "update_scratchpad", tt.args)
		switch {
		case tt.error != "" && (o.OK || !strings.Contains(o.Error, tt.error) || d.NextWake != nil || d.State.Notes() != "old"):
			t.Errorf("%s: %q, %v, notes %q", tt.args, o.Error, d.NextWake, d.State.Notes())
		case tt.error == "" && (!o.OK || o.Content != tt.said || d.NextWake == nil || *d.NextWake != *tt.want):
			t.Errorf("%s: %v %q %v", tt.args, o.Content, o.Error, d.NextWake)
		}
		if _, ok := d.State.Value("next_wake"); ok {
			t.Errorf("%s: the wish is in the memory", tt.args)
		}
	}
	d, _ := newDispatcher(t, "")
	if o := do(t, d, "update_scratchpad", `{"next_wake":"2h"}`); o.OK || !strings.Contains(o.Error, "does not allow it") {
		t.Errorf("not allowed: %v %q", o.Content, o.Error)
	}
}

func TestIdle(t *testing.T) {
	tests := []struct {
		state, args string
		done, idle  bool
	}{
		{"current_task: look\n", `{"summary":"nothing there","idle":true}`, true, true},
		{"current_task: look\n", `{"summary":"did it","idle":false}`, true, false},
		{"current_task: look\n", `{"summary":"did it"}`, true, false},
		{"current_task: look\n", `{"summary":"did it","idle":null}`, true, false},
		{"current_task: look\n", `{"summary":"did it","idle":"yes"}`, false, false},
		{"current_task: look\npending_actions: [more]\n", `{"summary":"nothing there","idle":true}`, true, false},
	}
	for _, tt := range tests {
		d, _ := newDispatcher(t, tt.state)
		if o := do(t, d, "done", tt.args); o.Done != tt.done || d.Idle != tt.idle {
			t.Errorf("%s%s: done %v, idle %v: %q", tt.state, tt.args, o.Done, d.Idle, o.Error)
		}
	}
}
