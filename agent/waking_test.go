package agent

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
)

// What a cycle leaves that found nothing to do makes the next wake idle, until
// something that it looked at has changed.
func TestHomeIdle(t *testing.T) {
	idle := []string{act("done", `{"summary":"nothing there","idle":true}`)}
	write := func(name string) func(*rig) {
		return func(r *rig) { r.must(os.WriteFile(filepath.Join(r.home.Dir, name), []byte("# new\n"), 0o600)) }
	}
	tests := []struct {
		name    string
		replies []string
		during  func(*rig)
		after   func(*rig)
		want    bool
	}{
		{"nothing new", idle, nil, nil, true},
		{"touched only", idle, nil, func(r *rig) { r.must(os.Chtimes(r.home.Rules(), begun, begun)) }, true},
		{"it did something", []string{act("done", `{"summary":"did it"}`)}, nil, nil, false},
		{"the memory was edited", idle, nil, write("scratchpad/active.yaml"), false},
		{"the rules", idle, nil, write("rules.md"), false},
		{"the configuration", idle, nil, write("rouse.yaml"), false},
		{"a new file in what is watched", idle, nil, write("inbox/mail"), false},
		{"a changed one", idle, nil, write("inbox/old"), false},
		{"a removed one", idle, nil, func(r *rig) { r.must(os.Remove(filepath.Join(r.home.Dir, "inbox/old"))) }, false},
		{"what is not watched", idle, nil, write("other"), true},
		{"mail while it was awake", idle, write("inbox/mail"), nil, false},
		{"an edit while it was awake", idle, write("scratchpad/active.yaml"), nil, false},
		{"another cycle since", idle, nil, func(r *rig) { r.wakeAgain("") }, false},
		{"half a record", idle, nil, func(r *rig) { r.must(os.Truncate(r.home.IdleRecord(), 20)) }, false},
		{"no record", idle, nil, func(r *rig) { r.must(os.Remove(r.home.IdleRecord())) }, false},
		{"logs were removed", idle, nil, func(r *rig) { r.must(os.RemoveAll(r.home.Logs())) }, false},
	}
	for _, tt := range tests {
		r := newRig(t, "", "goals: [watch the inbox]\ncurrent_task: look\n")
		watch := []string{filepath.Join(r.home.Dir, "inbox"), filepath.Join(r.home.Dir, "missing")}
		r.must(os.Mkdir(watch[0], 0o700))
		r.must(os.WriteFile(filepath.Join(watch[0], "old"), []byte("old"), 0o600))
		a, m := r.agent(nil, tt.replies...)
		a.Waking = Waking{IdleSkip: true, Watch: watch}
		if tt.during != nil {
			m.during = func(int) { tt.during(r) }
		}
		if _, err := a.RunOnce(t.Context()); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if tt.after != nil {
			tt.after(r)
		}
		if got := Idle(r.home, watch); got != tt.want {
			t.Errorf("%s: idle %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A wish is made before the cycle sleeps, so that it is not lost with it.
func TestNextWake(t *testing.T) {
	tests := []struct {
		wish, error string
		want        time.Duration // after begun; -1 for none, -2 for taken back
	}{
		{`{"next_wake":"2h"}`, "", 2 * time.Hour},
		{`{"next_wake":"2h"}`, "disk full", 2 * time.Hour},
		{`{"next_wake":""}`, "", -2},
		{`{"next_wake":"48h"}`, "", -1},
		{`{"fact":1}`, "", -1},
	}
	for _, tt := range tests {
		r := newRig(t, "", oldState)
		a, _ := r.agent(nil, act("update_scratchpad", tt.wish), act("done", `{"summary":"seen"}`))
		got := time.Duration(-1)
		a.Waking = Waking{Min: time.Minute, Max: 24 * time.Hour, Ask: func(when time.Time) error {
			if got = -2; !when.IsZero() {
				got = when.Sub(begun)
			}
			if r.read(r.home.After(r.cycles()[0])) != "" {
				t.Errorf("%s: asked after the cycle slept", tt.wish)
			}
			if tt.error != "" {
				return errors.New(tt.error)
			}
			return nil
		}}
		if report, err := a.RunOnce(t.Context()); err != nil || report.Exit != 0 || got != tt.want {
			t.Errorf("%s: asked for %s, want %s: %+v, %v", tt.wish, got, tt.want, report, err)
		}
	}
}

// What a cycle leaves for the schedule costs no sync.
func TestSyncsOfIdle(t *testing.T) {
	syncs := func(skip bool) (n int) {
		r := newRig(t, "", oldState)
		f := &disktest.Faulty{FS: disk.OS{}}
		a, _ := r.agent(f, act("update_scratchpad", `{"pending_actions":[]}`), act("done", `{"summary":"nothing there","idle":true}`))
		a.Waking.IdleSkip = skip
		if _, err := a.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if Idle(r.home, nil) != skip {
			t.Errorf("idle %v, want %v", !skip, skip)
		}
		for _, op := range f.Ops() {
			if op[:4] == "sync" {
				n++
			}
		}
		return n
	}
	if with, without := syncs(true), syncs(false); with != without {
		t.Errorf("%d syncs with the record, %d without", with, without)
	}
}
