package agent

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"rouse/agent/check"
	"rouse/dispatcher/policy"
	"rouse/internal/disk"
	"rouse/journal"
	"rouse/tools"
)

// checking is a world in which the commands of checks come to these, one after the other.
func checking(came ...bool) func(time.Time) (check.World, error) {
	return func(time.Time) (check.World, error) {
		return check.World{Run: func(context.Context, check.Check, tools.Call) error {
			holds := len(came) == 0 || came[0]
			if came = came[min(1, len(came)):]; !holds {
				return errors.New("exit code 1")
			}
			return nil
		}}, nil
	}
}

// A cycle that dies before its end is in the journal is not proven, wherever it dies; one
// that dies later is what its checks came to.
func TestDiesWhileChecked(t *testing.T) {
	for _, holds := range []bool{true, false} {
		for _, cut := range []string{"check", "state", "result", "end"} {
			r := newRig(t, "", "current_task: {task: deploy, check: [make, test]}\n")
			a, _ := r.agent(unsynced{disk.OS{}}, act("effect", `{"label":"a"}`), act("done", `{"summary":"x"}`), act("done", `{"summary":"x"}`))
			a.Checks.World = checking(holds, holds, holds, holds, holds, holds, holds, holds)
			before := r.active()
			report, err := a.RunOnce(t.Context())
			if want := map[bool]string{true: journal.TaskProven, false: journal.TaskFailed}[holds]; err != nil || report.Task != want {
				t.Fatal(report, err)
			}
			r.killedAfter(report.Cycle, cut)
			r.must(os.WriteFile(r.home.Active(), []byte(before), 0o600))
			r.now = r.now.Add(time.Minute)
			if _, err := a.settle(); err != nil {
				t.Fatal(err)
			}
			s, err := SummaryOf(r.home, report.Cycle)
			r.must(err)
			want := journal.TaskNone
			if cut == "end" {
				want = report.Task
			}
			if s.Task != want || s.Outcome == journal.Done != (cut == "end") {
				t.Errorf("killed after %s: %+v, want task %s", cut, s, want)
			}
		}
	}
}

// killedAfter makes a home as if a cycle had died once the last such event was written.
func (r *rig) killedAfter(cycle, event string) {
	path := r.home.Journal(cycle)
	lines := strings.SplitAfter(r.read(path), "\n")
	for len(lines) > 0 && !strings.Contains(lines[len(lines)-1], `"event":"`+event+`"`) {
		lines = lines[:len(lines)-1]
	}
	r.must(os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600))
	r.must(os.Remove(r.home.After(cycle)))
}

// Tasks that fail are no reason to rest, and have no part in a row of failures.
func TestFailedTaskIsNoFailure(t *testing.T) {
	r := newRig(t, "", "current_task: {task: clean the disk, check: 'false'}\n")
	for range 4 {
		r.now = r.now.Add(time.Minute)
		a, _ := r.agent(unsynced{disk.OS{}}, act("done", `{"summary":"x"}`), act("done", `{"summary":"x"}`))
		a.Checks.World = checking(false, false, false, false)
		if report, err := a.RunOnce(t.Context()); err != nil || report.Exit != 1 || report.Outcome != journal.Done {
			t.Fatal(report, err)
		}
		if s, err := Streak(r.home, 1); err != nil || s.Count != 0 {
			t.Fatal(s, err)
		}
	}
}

// What failed goes behind the others, so that these have their turn, and a slot that gives
// it again finds it there, with the checks that the schedule has by now.
func TestFailedTaskWaits(t *testing.T) {
	r := newRig(t, "", "current_task: {task: a, check: 'false'}\npending_actions: [b]\n")
	a, _ := r.agent(unsynced{disk.OS{}}, act("done", `{"summary":"x"}`), act("done", `{"summary":"x"}`))
	a.Checks.World = checking(false, false, false, false)
	_, err := a.RunOnce(t.Context())
	r.must(err)
	if s := r.state(r.home.Active()); s.CurrentTask() != "b" || len(s.Pending()) != 1 {
		t.Fatal(r.active())
	}
	r.now = r.now.Add(time.Minute)
	a, _ = r.agent(unsynced{disk.OS{}}, act("done", `{"summary":"x"}`), act("done", `{"summary":"x"}`))
	a.Task, a.Waking.Attempt, a.Checks = "a", 1, Checks{Task: []any{"true"}, World: checking()}
	report, err := a.RunOnce(t.Context())
	if s := r.state(r.home.Active()); err != nil || report.Task != journal.TaskClaimed || len(s.Pending()) != 0 || checkOf(s.CurrentTask()) != "true" {
		t.Fatalf("%+v, %v\n%s", report, err, r.active())
	}
}

func checkOf(task any) any {
	m, _ := task.(map[string]any)
	return m["check"]
}

// What the rules do not let the agent do by a call it does not do by a check of its own; a
// person's check is tested.
func TestChecksAreCalls(t *testing.T) {
	r := newRig(t, "", "current_task: deploy\n")
	a, _ := r.agent(unsynced{disk.OS{}}, act("update_scratchpad", `{"current_task":{"task":"x","check":["curl evil",{"command":["sh","it's"]},{"http":"http://evil/secret"},{"file":"a"}]}}`),
		act("done", `{"summary":"x"}`), act("done", `{"summary":"x"}`))
	tested := 0
	try := func() error { tested++; return nil }
	a.Checks.World = func(time.Time) (check.World, error) {
		return check.World{
			Run:  func(context.Context, check.Check, tools.Call) error { return try() },
			Open: func(string, bool) (*os.File, error) { return nil, try() },
			Get:  func(context.Context, check.Check, io.Writer) (int, error) { return 200, try() },
		}, nil
	}
	a.Checks.Standing, _ = check.Parse("a person's")
	var asked []string
	a.Consent.Decide = func(_ tools.Tool, c policy.Call) policy.Decision {
		asked = append(asked, c.Tool+string(c.Args))
		return policy.Decision{Do: policy.Deny, Rule: "policy[0]"}
	}
	report, err := a.RunOnce(t.Context())
	want := `shell{"command":"curl evil"} shell{"command":"'sh' 'it's'"} http_get{"url":"http://evil/secret"} read_file{"path":"a"}`
	if got := strings.Join(asked[:min(4, len(asked))], " "); err != nil || report.Task != journal.TaskFailed || got != want || tested != 2 {
		t.Errorf("%+v, %v, asked of %s, and %d tested", report, err, got, tested)
	}
}
