package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse/agent/model"
	"rouse/internal/disk"
	"rouse/internal/redact"
	"rouse/journal"
)

// answers is a model with whole replies.
type answers []model.Reply

func (m *answers) Reply(context.Context, model.Request) (model.Reply, error) {
	if len(*m) == 0 {
		return model.Reply{}, errors.New("no more replies")
	}
	reply := (*m)[0]
	*m = (*m)[1:]
	return reply, nil
}

// A server that makes native calls of the model's JSON is understood, whatever
// text comes with them, and the journal has the calls.
func TestNativeCalls(t *testing.T) {
	for _, text := range []string{"", "\n", "I am done."} {
		r := newRig(t, t.TempDir(), oldState)
		a, _ := r.agent(nil)
		a.Model = &answers{{Text: text, Finish: "tool_calls", Calls: []model.Call{{ID: "1", Name: "done", Args: json.RawMessage(`{"summary":"seen"}`)}}}}
		report, err := a.RunOnce(t.Context())
		if err != nil || report.Outcome != journal.Done {
			t.Fatalf("text %q: %+v, %v", text, report, err)
		}
		for _, e := range r.events(report.Cycle) {
			if reply, ok := e.Data.(*journal.Reply); ok && !strings.Contains(string(reply.Calls), `"seen"`) {
				t.Errorf("text %q: journalled calls %s", text, reply.Calls)
			}
		}
	}
}

// Done in the reply of a call that failed or was refused ends nothing: the model has
// not read what became of that. Once it has, done is done.
func TestDoneUnread(t *testing.T) {
	call := func(id, tool, args string) model.Call {
		return model.Call{ID: id, Name: tool, Args: json.RawMessage(args)}
	}
	done := call("9", "done", `{"summary":"seen"}`)
	for _, tt := range []struct {
		first           model.Call
		failed, refused int
	}{
		{call("1", "effect", `{"label":7}`), 1, 1},
		{call("1", "nothing", `{}`), 1, 1},
		{call("1", "update_scratchpad", `{}`), 0, 2},
		{call("1", "effect", `{"label":"a"}`), 0, 0},
	} {
		r := newRig(t, t.TempDir(), oldState)
		a, _ := r.agent(nil)
		a.Model = &answers{{Calls: []model.Call{tt.first, done}}, {Calls: []model.Call{done}}}
		report, err := a.RunOnce(t.Context())
		if err != nil || report.Outcome != journal.Done {
			t.Fatalf("%s: %+v, %v", tt.first.Name, report, err)
		}
		list, err := Summaries(r.home, 1)
		r.must(err)
		want := 1 + min(1, tt.failed+tt.refused)
		if s := list[0]; s.Iterations != want || s.Failed != tt.failed || s.Refused != tt.refused {
			t.Errorf("%s: %+v, want %d iterations, %d failed and %d refused calls", tt.first.Name, s, want, tt.failed, tt.refused)
		}
	}
}

// Blank is no task, and anything in the queue becomes one.
func TestWhatIsATask(t *testing.T) {
	tests := []struct{ state, outcome string }{
		{"current_task: ''\n", journal.Idle},
		{"current_task: ' '\npending_actions: ['']\n", journal.Done},
		{"pending_actions: [1]\n", journal.Done},
		{"current_task: a\npending_actions: [[b, c]]\n", journal.Done},
	}
	for _, tt := range tests {
		r := newRig(t, t.TempDir(), tt.state)
		a, _ := r.agent(nil, act("done", `{"summary":"seen"}`))
		report, err := a.RunOnce(t.Context())
		if err != nil || report.Outcome != tt.outcome {
			t.Errorf("%q: %+v, %v; want %s", tt.state, report, err, tt.outcome)
		}
	}
}

// The same failure is counted once a cycle, also where it has numbers of its own.
func TestFailuresAreCounted(t *testing.T) {
	notes := "before"
	for i, cycle := range []string{"20260401_150154", "20260401_150254", "20260401_150354"} {
		change := failure(notes, cycle, errors.New("model: no answer from 127.0.0.1:80 (2 attempts)"), nil)[0]
		if i == 0 {
			notes += change.Value.(string)
			continue
		}
		notes = change.Value.(string)
	}
	const want = "before\nCycle 20260401_150354 failed: model: no answer from 127.0.0.1:80 (2 attempts) (3 times in a row since 20260401_150154)"
	if notes != want {
		t.Errorf("notes %q, want %q", notes, want)
	}
	change := failure("Cycle 20260401_150154 failed: model: HTTP 503", "20260401_150254", errors.New("model: HTTP 401"), nil)[0]
	if line := change.Value.(string); change.Op != "append" || strings.Contains(line, "in a row") {
		t.Errorf("another cause is counted with the one before: %+v", change)
	}
}

// A snapshot that cannot be read is no reason to lose an interrupted cycle: its
// base is active.yaml while that is as the cycle found it. If not, each wake says
// so, and nothing is run, until it is mended or reset.
func TestSettleWithABrokenSnapshot(t *testing.T) {
	for _, edited := range []bool{false, true} {
		r := newRig(t, t.TempDir(), oldState)
		a, m := r.agent(nil, whole...)
		m.during = func(i int) {
			if i == 3 {
				panic("killed")
			}
		}
		crash(func() { a.RunOnce(t.Context()) })
		id := r.cycles()[0]
		r.must(os.Chmod(r.home.Before(id), 0o600))
		r.must(os.WriteFile(r.home.Before(id), []byte("goals: ["), 0o600))
		if !edited {
			r.wakeAgain("broken snapshot")
			if notes := r.state(r.home.Active()).Notes(); !strings.Contains(notes, "did b") || !strings.Contains(notes, "[INTERRUPTED]") {
				t.Errorf("notes %q", notes)
			}
			continue
		}
		r.must(os.WriteFile(r.home.Active(), []byte("notes: mine\n"), 0o600))
		for range 2 {
			a, _ := r.agent(nil, act("done", `{"summary":"seen"}`))
			if _, err := a.RunOnce(t.Context()); err == nil || !strings.Contains(err.Error(), "_before.yaml: line 1") {
				t.Errorf("wake: %v", err)
			}
		}
		a, _ = r.agent(nil)
		if _, err := a.Reset(false); err != nil {
			t.Fatal(err)
		}
		r.wakeAgain("after the reset")
	}
}

// crash runs what is to end in the middle; the lock goes with what it held.
func crash(run func()) {
	defer func() { _ = recover() }()
	run()
}

// What write_file was killed in the middle of is swept with our own.
func TestSweepWhatWriteFileLeft(t *testing.T) {
	r := newRig(t, t.TempDir(), oldState)
	a, _ := r.agent(nil)
	a.Workspace = filepath.Join(r.home.Dir, "workspace")
	left := filepath.Join(a.Workspace, "sub", ".f.txt.0123abcd.tmp")
	mine := filepath.Join(a.Workspace, "sub", "f.tmp")
	r.must(os.MkdirAll(filepath.Dir(left), 0o755))
	r.must(os.WriteFile(left, nil, 0o600))
	r.must(os.WriteFile(mine, nil, 0o600))
	tr := trace{open: []journal.Intent{
		{Tool: "write_file", Args: json.RawMessage(`{"path":"sub/f.txt"}`)},
		{Tool: "write_file", Args: json.RawMessage(`{"path":"../outside/f.txt"}`)},
		{Tool: "write_file", Args: json.RawMessage(`{"path":"no/such/f.txt"}`)},
	}}
	r.must(a.sweep(tr))
	if disk.Exists(left) || !disk.Exists(mine) {
		t.Errorf("left %v, mine %v", disk.Exists(left), disk.Exists(mine))
	}
}

// A conflict is the cycle's outcome, and quotes no secret of what was edited.
func TestConflictIsReported(t *testing.T) {
	const secret = "correct-horse-battery"
	r := newRig(t, t.TempDir(), oldState)
	a, m := r.agent(nil, whole...)
	a.Redact = redact.New(map[string]string{"P": secret})
	m.during = func(i int) {
		if i == 3 {
			r.must(os.WriteFile(r.home.Active(), []byte(`notes: ["`+secret+"\n"), 0o600))
		}
	}
	report, err := a.RunOnce(t.Context())
	if err == nil || report.Outcome != journal.Failed || report.Exit != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	for _, path := range []string{r.home.Journal(report.Cycle), r.home.Log(report.Cycle)} {
		if strings.Contains(r.read(path), secret) {
			t.Errorf("%s holds the secret", path)
		}
	}
}

// An edit in the last moment before active.yaml is replaced is not overwritten.
func TestEditWhileSaving(t *testing.T) {
	r := newRig(t, t.TempDir(), oldState)
	f := editing{unsynced: unsynced{disk.OS{}}}
	a, _ := r.agent(&f, whole...)
	f.edit = func() { r.must(os.WriteFile(r.home.Active(), []byte(oldState+"mine: 1\n"), 0o600)) }
	if _, err := a.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := r.state(r.home.Active())
	if v, _ := s.Value("mine"); v == nil || len(s.Completed()) != 1 {
		t.Errorf("the edit or the cycle's result is lost: %s", r.active())
	}
}

// editing is a disk on which somebody edits while active.yaml is being written.
type editing struct {
	unsynced
	edit func()
}

func (e *editing) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	if strings.Contains(name, ".active.yaml.") && e.edit != nil {
		e.edit()
		e.edit = nil
	}
	return disk.OS{}.OpenFile(name, flag, perm)
}
