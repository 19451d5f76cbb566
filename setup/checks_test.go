package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"rouse/agent"
	"rouse/agent/model"
	"rouse/home"
	"rouse/journal"
)

// says is a model that answers with actions, and then with the last of them.
type says struct {
	actions []string
	asked   int
	during  func(asked int)
}

func (m *says) Reply(_ context.Context, req model.Request) (model.Reply, error) {
	line := m.actions[min(m.asked, len(m.actions)-1)]
	m.asked++
	if m.during != nil {
		m.during(m.asked)
	}
	r := model.Reply{Finish: "stop"}
	for i, action := range strings.Split(line, " && ") {
		name, args, ok := strings.Cut(action, " ")
		if !ok {
			return model.Reply{Text: line, Finish: "stop"}, nil
		}
		r.Calls = append(r.Calls, model.Call{ID: fmt.Sprint(m.asked, i), Name: name, Args: json.RawMessage(args)})
	}
	return r, nil
}

// cycleOf runs a cycle in which the model says this.
func cycleOf(t *testing.T, h home.Home, m *says) (agent.Report, agent.Summary) {
	t.Helper()
	s, err := Open(h, Process{Environ: []string{"PATH=" + os.Getenv("PATH")}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	ag, err := s.Agent()
	if err != nil {
		t.Fatal(err)
	}
	ag.Model, ag.MaxIterations = m, min(ag.MaxIterations, 6)
	for _, e := range s.Config.Schedule { // as its slot would have it
		ag.Task, ag.Checks.Task, ag.Waking.Attempt = e.Task, []any{e.Check}, 1
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	if m.during == nil && strings.HasPrefix(m.actions[0], "SIGTERM ") {
		m.actions = m.actions[1:]
		time.AfterFunc(200*time.Millisecond, func() { cancel(agent.Signal{Signal: syscall.SIGTERM}) })
	}
	report, err := ag.RunOnce(ctx)
	if err != nil && !errors.As(err, new(*agent.Conflict)) {
		t.Fatal(err)
	}
	list, err := agent.Summaries(h, 1)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return report, list[0]
}

const done = `done {"summary":"all is written, checked and green"}`

// The ways to look as if all were well (openclaw#140387, #85442, #111405, claude-code#85040
// and what a model could come to): none of them ends proven.
func TestFalseGreen(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{"error": "down"}`) }))
	t.Cleanup(web.Close)
	const (
		plain   = "current_task: write the report\n"
		checked = "current_task: {task: write the report, check: test -s report.csv}\n"
	)
	carrying := func(check string) string { return "current_task: {task: write the report, check: " + check + "}\n" }
	update := func(args string) string { return "update_scratchpad " + args }
	shell := func(line string) string {
		args, _ := json.Marshal(map[string]string{"command": line, "task_scratchpad": ""})
		return "shell " + string(args)
	}
	for _, c := range []struct {
		name, memory, config string
		says                 []string
		task                 string // the verdict
		exit                 int
	}{
		// What the model says.
		{"an empty run", plain, "", []string{done}, "claimed", 0},
		{"no task at all", "goals: [be useful]\n", "", []string{done}, "none", 0},
		{"nothing to do", "", "", []string{done}, "none", 0},
		{"a polite text", checked, "", []string{"Hello! How can I help?"}, "none", 1},
		{"a blocker in the summary", plain, "", []string{`done {"summary":"I could not reach the server."}`}, "claimed", 0},
		{"a lying summary", checked, "", []string{done}, "failed", 1},
		{"idle", checked, "", []string{`done {"summary":"nothing to do","idle":true}`}, "failed", 1},
		{"done beside a call that fails", plain, "", []string{`read_file {"path":"x","task_scratchpad":""} && ` + done, done}, "claimed", 0},
		{"done beside it, with a check", checked, "", []string{`read_file {"path":"x","task_scratchpad":""} && ` + done, done}, "failed", 1},
		{"done twice in a reply", checked, "", []string{done + " && " + done, done}, "failed", 1},
		{"done until a limit", checked, "", []string{done, shell("echo 1"), done, shell("echo 2"), done, shell("echo 3")}, "none", 3},
		{"a verdict in the memory", plain, "", []string{update(`{"verdict":"proven","task":"proven"}`), done}, "claimed", 0},
		{"a verdict among the finished", checked, "", []string{update(`{"completed_tasks":[{"task":"write the report","verdict":"proven"}],"current_task":null}`), done}, "claimed", 0},
		// A check weakened by the memory.
		{"its check left out", checked, "", []string{update(`{"current_task":"write the report"}`), done}, "failed", 1},
		{"an easier check", checked, "", []string{update(`{"current_task":{"task":"write the report","check":"true"}}`), done}, "failed", 1},
		{"the check as the agent's", checked, "", []string{update(`{"current_task":{"task":"write the report","check":{"command":"test -s report.csv","by":"agent"}}}`), done}, "failed", 1},
		{"one more check", checked, "", []string{update(`{"current_task":{"task":"write the report","check":["test -s report.csv","true"]}}`), done}, "failed", 1},
		{"another task first", checked, "", []string{update(`{"current_task":"breathe"}`), done}, "claimed", 0},
		{"the queue emptied", "current_task: a\npending_actions: [{task: write the report, check: 'false'}]\n", "", []string{update(`{"pending_actions":[]}`), done, done}, "claimed", 0},
		{"a shadow of it", "pending_actions: [a, {task: write the report, check: 'false'}]\n", "", []string{update(`{"current_task":"write the report"}`), done}, "failed", 1},
		{"another name", checked, "", []string{update(`{"current_task":{"task":"write  the report!","check":"true"}}`), done}, "claimed", 0},
		{"its own check", plain, "", []string{update(`{"current_task":{"task":"write the report","check":"true"}}`), done}, "claimed", 0},
		{"its own check as a person's", plain, "", []string{update(`{"current_task":{"task":"x","check":{"command":"true","by":"operator"}}}`), done}, "claimed", 0},
		{"its own outside of the sandbox", plain, "", []string{update(`{"current_task":{"task":"x","check":{"command":"true","sandbox":"off"}}}`), done}, "claimed", 0},
		{"its own that fails", plain, "", []string{update(`{"current_task":{"task":"x","check":"false"}}`), done}, "failed", 1},
		// By a file.
		{"write_file to the memory", checked, "", []string{`write_file {"path":"../scratchpad/active.yaml","content":"current_task: x\n","task_scratchpad":""}`, done}, "failed", 1},
		{"the script of the check", carrying("./check.sh"), "", []string{shell("printf 'exit 0' > check.sh; chmod +x check.sh"), done}, "failed", 1},
		{"the script handed to sh", carrying("cd . && sh check.sh"), "", []string{shell("printf 'exit 0' > check.sh"), done}, "failed", 1},
		{"the script of another day", carrying("{command: [sh, check.sh], sha256: 00}"), "", []string{shell("printf 'exit 0' > check.sh"), done}, "failed", 1},
		{"a file of yesterday", carrying("{file: report.csv, newer: true}"), "", []string{shell("touch -d yesterday report.csv"), done}, "failed", 1},
		{"a file of tomorrow", carrying("{file: report.csv, newer: true}"), "", []string{shell("touch -d tomorrow report.csv"), done}, "failed", 1},
		{"an empty file", carrying("{file: report.csv, size: '>0'}"), "", []string{shell("touch report.csv"), done}, "failed", 1},
		{"a link in its place", carrying("{file: report.csv, size: '>0'}"), "", []string{shell("ln -s /etc/passwd report.csv"), done}, "failed", 1},
		{"a pipe in its place", carrying("{file: report.csv}"), "", []string{shell("mkfifo report.csv"), done}, "failed", 1},
		// A check that cannot be tested, or says nothing.
		{"no such program", carrying("no-such-program"), "", []string{done}, "failed", 1},
		{"a misspelt check", carrying("{comand: 'true'}"), "", []string{done}, "failed", 1},
		{"an empty check", carrying("[]"), "", []string{done}, "failed", 1},
		{"null for a check", carrying(""), "", []string{done}, "failed", 1},
		{"a refused host", carrying(`{http: "http://127.0.0.1:9/"}`), "", []string{done}, "failed", 1},
		{"an answer that says it is down", carrying(`{http: "` + web.URL + `", matches: fine, sandbox: off}`), "", []string{done}, "failed", 1},
		{"one that hangs", carrying("{command: sleep 60, timeout: 50ms}"), "", []string{done}, "failed", 1},
		{"one of two", carrying("['true', 'false']"), "", []string{done}, "failed", 1},
		{"a signal while it is tested", carrying("sleep 60"), "", []string{"SIGTERM ", done}, "none", 143},
		// What holds for every cycle.
		{"standing alone", plain, "standing: 'true'", []string{done}, "claimed", 0},
		{"standing that fails", plain, "standing: ['true', 'false']", []string{done}, "failed", 1},
		{"standing after a limit", plain, "standing: 'false'", []string{shell("echo 1"), shell("echo 2"), shell("echo 3")}, "failed", 3},
		{"standing of nothing to do", "", "standing: 'false'", []string{done}, "failed", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := open(t, map[string]string{"rules.md": "x", "scratchpad/active.yaml": c.memory, "rouse.yaml": c.config}).Home
			report, got := cycleOf(t, h, &says{actions: c.says})
			if got.Task != c.task || report.Task != c.task || got.Exit != c.exit || got.Task == journal.TaskFailed && len(got.Unmet) == 0 {
				t.Errorf("task %s, exit %d: %+v", got.Task, got.Exit, got)
			}
			forge(t, h, got.Cycle)
			if memory, _ := os.ReadFile(h.Active()); strings.Contains(c.memory, "check: test -s") && !strings.Contains(string(memory), "check: test -s") {
				t.Errorf("the check is gone:\n%s", memory)
			}
		})
	}
}

// forge writes into a journal that the task is proven, which proves nothing.
func forge(t *testing.T, h home.Home, cycle string) {
	t.Helper()
	text, err := os.ReadFile(h.Journal(cycle))
	if err != nil {
		t.Fatal(err)
	}
	forged := regexp.MustCompile(`"task":"\w+"`).ReplaceAllString(string(text), `"task":"proven"`)
	if err := os.WriteFile(h.Journal(cycle), []byte(forged), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := agent.VerdictOf(h, cycle); got == journal.TaskProven {
		t.Error("a forged journal counts as a proof")
	}
}

// A task is proven by the check of a person that holds, however it came to hold.
func TestProven(t *testing.T) {
	for name, c := range map[string]struct{ memory, says, flaky string }{
		"a command":        {"current_task: {task: x, check: test -s report.csv}", `write_file {"path":"report.csv","content":"a","task_scratchpad":""}`, ""},
		"a file":           {"current_task: {task: x, check: [{file: report.csv, newer: true, size: '>0'}, 'true']}", `write_file {"path":"report.csv","content":"a","task_scratchpad":""}`, ""},
		"beside its own":   {"current_task: {task: x, check: ['true', {command: 'true', by: agent}]}", done, ""},
		"mended":           {"current_task: {task: x, check: test -s report.csv}", done, ""},
		"at a second try":  {"current_task: {task: x, check: 'test -e there || { touch there; false; }'}", done, "command test -e there || { touch there; false; }"},
		"though it is old": {"current_task: {title: x, check: 'true', more: 1}", done, ""},
	} {
		h := open(t, map[string]string{"rules.md": "x", "scratchpad/active.yaml": c.memory + "\n"}).Home
		_, got := cycleOf(t, h, &says{actions: []string{c.says, `write_file {"path":"report.csv","content":"ab","task_scratchpad":""}`, done}})
		if got.Task != journal.TaskProven || got.Exit != 0 || strings.Join(got.Flaky, " ") != c.flaky {
			t.Errorf("%s: %+v", name, got)
		}
		memory, _ := os.ReadFile(h.Active())
		if strings.Contains(string(memory), "check:") || !strings.Contains(string(memory), "[COMPLETED]") {
			t.Errorf("%s:\n%s", name, memory)
		}
	}
}

// A tool that writes the memory's file where nothing keeps it from that changes no check,
// in a cycle that ends, in one that is killed, and in what comes after it.
func TestCheckWeakenedByShell(t *testing.T) {
	const weaker = `shell {"command":"printf 'current_task: write the report\nnotes: all is well\n' > ../scratchpad/active.yaml","task_scratchpad":""}`
	h := open(t, map[string]string{"rules.md": "x", "scratchpad/active.yaml": "current_task: {task: write the report, check: 'false'}\n"}).Home
	for i := range 2 {
		if _, got := cycleOf(t, h, &says{actions: []string{weaker, done}}); got.Task != journal.TaskFailed {
			t.Fatalf("cycle %d: %+v", i, got)
		}
	}
	_, got := cycleOf(t, h, &says{actions: []string{done}})
	memory, _ := os.ReadFile(h.Active())
	if got.Task != journal.TaskFailed || !strings.Contains(string(memory), `check: 'false'`) {
		t.Errorf("%+v\n%s", got, memory)
	}
	// A person takes it out.
	if err := os.WriteFile(h.Active(), []byte("current_task: write the report\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, got := cycleOf(t, h, &says{actions: []string{done}}); got.Task != journal.TaskClaimed {
		t.Errorf("%+v", got)
	}
}

// Where a tool can write rouse.yaml, its schedule proves nothing until a person has
// written it, whatever the file's time says.
func TestCheckWeakenedByConfig(t *testing.T) {
	const (
		strict = "schedule: [{cron: '@daily', task: write, check: 'false'}]\n"
		easy   = `shell {"command":"echo \"schedule: [{cron: '@daily', task: write, check: 'true'}]\" > ../rouse.yaml; touch -d yesterday ../rouse.yaml","task_scratchpad":""}`
	)
	h := open(t, map[string]string{"rules.md": "x", "scratchpad/active.yaml": "", "rouse.yaml": strict}).Home
	for i, want := range []string{journal.TaskFailed, journal.TaskFailed, journal.TaskClaimed, journal.TaskProven} {
		switch i {
		case 2: // the task of the strict check is done by a person
			if err := os.WriteFile(h.Active(), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		case 3:
			text, err := os.ReadFile(h.Config())
			if err = errors.Join(err, os.WriteFile(h.Config(), append(text, "# so it is to be\n"...), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if _, got := cycleOf(t, h, &says{actions: []string{[]string{easy, `shell {"command":"true","task_scratchpad":""}`}[min(i, 1)], done}}); got.Task != want {
			t.Errorf("cycle %d: %+v, want task %s", i, got, want)
		}
	}
}
