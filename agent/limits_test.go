package agent

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/proc"
	"rouse/internal/sweep"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/tools"
	"rouse/tools/command"
	"rouse/tools/shell"
)

// A whole cycle with one shell call syncs at most ten times.
func TestSyncsOfACycle(t *testing.T) {
	r := newRig(t, "", oldState)
	_, err := r.home.Raise(disk.OS{}) // which costs four once
	r.must(err)
	f := &disktest.Faulty{} // meets no fault, and counts
	a, _ := r.agent(f, act("shell", `{"command":"date -u"}`), act("done", `{"summary":"seen"}`))
	run := &proc.Runner{Env: proc.Environ(os.Environ())}
	set, err := tools.NewSet(shell.Tool(command.Exec{Runner: run, Dir: filepath.Join(r.home.Dir, "workspace")}))
	r.must(err)
	a.Tools = set
	if report, err := a.RunOnce(t.Context()); err != nil || report.Exit != 0 {
		t.Fatal(report, err)
	}
	if done := strings.Count(r.active(), "[TOOL] shell"); done != 1 {
		t.Fatalf("%d calls", done)
	}
	syncs := 0
	for _, op := range f.Ops() {
		if strings.HasPrefix(op, "sync") {
			syncs++
		}
	}
	t.Logf("%d syncs, %d operations", syncs, len(f.Ops()))
	if syncs > 10 {
		t.Errorf("%d syncs: %s", syncs, strings.Join(f.Ops(), "\n"))
	}
}

// A memory that is almost full: what does not fit ends the cycle or is refused,
// nothing that was there is lost, and the next wake loads it.
func TestMemoryAlmostFull(t *testing.T) {
	if raced() {
		t.Skip("the race detector makes 8 MiB of YAML take minutes, and there is one goroutine")
	}
	const room = 20 // bytes
	big := strings.Repeat(strings.Repeat("x", 99)+"\n", (scratchpad.MaxBytes-len(oldState)-4000)/102)
	tests := []struct {
		name    string
		replies []string
		outcome string
	}{
		{"what does not fit is refused", []string{act("effect", `{"label":"a"}`), act("nosuch", `{}`), "no action", act("done", `{"summary":"seen"}`),
			act("update_scratchpad", `{"big":""}`), act("done", `{"summary":"seen"}`)}, journal.Done},
		{"what does not fit ends no cycle but of itself", []string{act("effect", `{"label":"a"}`)}, journal.Failed},
		{"an update that makes room", []string{act("update_scratchpad", `{"big":""}`), act("effect", `{"label":"a"}`), act("done", `{"summary":"seen"}`)}, journal.Done},
	}
	for _, tt := range tests[:sweep.Of(1, 3, 3)] {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, "", nearlyFull(t, big, room))
			before := r.state(r.home.Active())
			a, _ := r.agent(nil, tt.replies...)
			report, err := a.RunOnce(t.Context())
			if err != nil || report.Outcome != tt.outcome {
				t.Fatalf("%+v, %v", report, err)
			}
			if done, _ := told(r.state(r.home.Active()).Notes(), "a"); done != len(r.ran) {
				t.Errorf("%d calls were made, the memory tells of %d", len(r.ran), done)
			}
			r.checkSettled(tt.name)
			after := r.state(r.home.Active())
			if !strings.HasPrefix(after.Notes(), before.Notes()) {
				t.Error("notes were lost")
			}
			a, _ = r.agent(nil, act("update_scratchpad", `{"big":""}`), act("done", `{"summary":"went on"}`))
			if report, err := a.RunOnce(t.Context()); err != nil || report.Exit != 0 {
				t.Errorf("the next wake: %+v, %v", report, err)
			}
		})
	}
}

// In a memory that a person filled to the last byte a cycle can take its task, and
// make room; one that cannot is settled and saved all the same.
func TestFullMemory(t *testing.T) {
	if raced() {
		t.Skip("the race detector makes 8 MiB of YAML take minutes, and there is one goroutine")
	}
	state := "current_task: look\nnotes: n\nbig: |\n"
	line := "  " + strings.Repeat("x", 97) + "\n"
	state += strings.Repeat(line, (scratchpad.MaxBytes-len(state))/len(line)-1)
	state += "  " + strings.Repeat("y", scratchpad.MaxBytes-len(state)-3) + "\n"
	r := newRig(t, "", state)
	a, m := r.agent(nil, act("effect", `{"label":"a"}`))
	m.during = func(i int) {
		if i == 1 {
			panic("killed")
		}
	}
	crash(func() { a.RunOnce(t.Context()) })
	heard, report := r.listen(func(a *Agent, _ *listener) { a.Task = "feed the cat" },
		act("update_scratchpad", `{"big":""}`), act("update_scratchpad", `{"current_task":"feed the cat"}`), act("done", `{"summary":"fed"}`))
	first := heard[0].Messages[1].Content
	if report.Outcome != journal.Done || !strings.Contains(first, "First make room with update_scratchpad; the task is: feed the cat") {
		t.Errorf("%+v: %.500s", report, first[max(0, len(first)-500):])
	}
	r.checkSettled("full")
	if s := r.state(r.home.Active()); s.LastUpdated() == "" || !strings.HasSuffix(s.Notes(), "[COMPLETED] fed") {
		t.Errorf("notes %q, saved %q", s.Notes(), s.LastUpdated())
	}
}

// nearlyFull is a state in which room bytes are free.
func nearlyFull(t *testing.T, big string, room int) string {
	t.Helper()
	s, err := scratchpad.Parse("active.yaml", []byte(oldState))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []scratchpad.Change{
		{Op: "set", Key: "big", Value: big}, {Op: "set", Key: "notes", Value: "what was learned"}, {Op: "set", Key: "fill", Value: ""},
	} {
		if err := s.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
	text, err := s.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	fill := scratchpad.Change{Op: "set", Key: "fill", Value: strings.Repeat("y", scratchpad.MaxBytes-256-room-len(text))}
	if err := s.Apply(fill); err != nil {
		t.Fatal(err)
	}
	text, err = s.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A model that is away does not fill the memory: a failure like the last one is
// counted in its line.
func TestRepeatedFailureTakesOneLine(t *testing.T) {
	r := newRig(t, "", oldState)
	var sizes []int
	for range 30 {
		a, _ := r.agent(nil)
		if report, err := a.RunOnce(t.Context()); err != nil || report.Exit != 1 {
			t.Fatal(report, err)
		}
		sizes = append(sizes, len(r.active()))
	}
	notes := r.state(r.home.Active()).Notes()
	if strings.Count(notes, "failed") != 1 || !strings.Contains(notes, "(30 times in a row since 20260401_150154)") || sizes[29] > sizes[1]+1 {
		t.Errorf("sizes %v, notes %q", sizes, notes)
	}
}

// raced says whether the race detector watches this test.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
