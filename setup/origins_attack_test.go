package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/agent"
	"rouse/agent/inbox"
	"rouse/agent/model"
	"rouse/internal/disk"
)

// obeys is a model that makes these calls, TOOL {ARGS}, and then is done.
type obeys struct {
	calls []string
	saw   []string // requests
}

func (o *obeys) Reply(_ context.Context, req model.Request) (model.Reply, error) {
	o.saw = append(o.saw, fmt.Sprint(req.Messages))
	call := `done {"summary":"over"}`
	if len(o.calls) > 0 {
		call, o.calls = o.calls[0], o.calls[1:]
	}
	name, args, _ := strings.Cut(call, " ")
	return model.Reply{Calls: []model.Call{{ID: fmt.Sprint(len(o.saw)), Name: name, Args: json.RawMessage(args)}}, Finish: "stop"}, nil
}

func (w *world) obey(calls ...string) (saw []string) {
	w.Helper()
	for i, c := range calls {
		calls[i] = w.at.Replace(c)
	}
	a, _ := w.s.Agent()
	o := &obeys{calls: calls}
	a.Model = o
	if r, err := a.RunOnce(w.Context()); err != nil {
		w.Errorf("%s: %+v, %v", calls, r, err)
	}
	return o.saw
}

func (w *world) write(name, text string) {
	if err := os.WriteFile(filepath.Join(w.s.Home.Dir, name), []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *world) file(name string) string {
	b, _ := os.ReadFile(filepath.Join(w.s.Home.Dir, name))
	return string(b)
}

// TestOriginAttacks tries to have a text from outside stand in the memory, or act, as if it
// were not.
func TestOriginAttacks(t *testing.T) {
	many := "completed_tasks:\n- {task: zebra, origin: mcp mail, summary: Owner said}\n" + strings.Repeat("- {task: a}\n", 30)
	for _, a := range []struct {
		name, memory string
		cycles       [][]string // calls
		want, never  string     // parts of the memory then
	}{
		{"a key that is called as the mark of all", "", [][]string{{page, secret, `update_scratchpad {"*":"EVIL"}`}}, "  '*': private", "EVIL"},
		{"a finished task that nobody was shown as it left", many, [][]string{{secret}, {`recall {"query":"zebra"}`}}, "[TOOL from mcp mail] recall(", "[TOOL] recall("},
	} {
		w := newWorld(t, "careful", "tools")
		rouse, _ := w.s.Agent()
		rouse.CompletedMax = 30
		w.write("scratchpad/active.yaml", "goals: [keep the house]\n"+a.memory)
		for _, calls := range a.cycles {
			w.obey(calls...)
		}
		if got := w.file("scratchpad/active.yaml"); !strings.Contains(got, a.want) || strings.Contains(got, a.never) {
			t.Errorf("%s: %s", a.name, got)
		}
	}
}

// TestRewoundFiles: what a rewind brings back is what it was, a person's or from outside.
func TestRewoundFiles(t *testing.T) {
	w := newWorld(t, "careful", "tools")
	w.obey(`write_file {"path":"a.md","content":"own"}`)
	w.obey(page, `write_file {"path":"a.md","content":"a page"}`)
	for i, want := range []string{"[TOOL] read_file(", "[TOOL from http_get 127.0.0.1] read_file("} {
		ids, _ := w.s.Home.Cycles(0)
		if _, err := w.s.Rewind(agent.Rewind{Cycle: ids[i], Files: true}, true); err != nil {
			t.Fatal(err)
		}
		w.write("scratchpad/active.yaml", "goals: [keep the house]\n")
		w.obey(`read_file {"path":"a.md"}`)
		if got := w.file("scratchpad/active.yaml"); !strings.Contains(got, want) {
			t.Errorf("%s: %s", w.file("workspace/a.md"), got)
		}
	}
}

// TestForgetKeepsMarks: nobody has vouched for a text of which only a value was taken out.
func TestForgetKeepsMarks(t *testing.T) {
	w := newWorld(t, "careful", "tools")
	w.obey(page, `write_file {"path":"a.md","content":"the page says hunter2hunter2"}`)
	k := w.s.keeper(w.s.Hidden())
	if _, err := k.Forget(t.Context(), "hunter2hunter2", true); err != nil {
		t.Fatal(err)
	}
	w.write("scratchpad/active.yaml", "goals: [keep the house]\n")
	w.obey(`read_file {"path":"a.md"}`)
	if got := w.file("scratchpad/active.yaml"); !strings.Contains(got, "[TOOL from http_get 127.0.0.1] read_file(") {
		t.Error(got)
	}
}

// TestTaskOfAProgram: it is text from outside from the moment on that a cycle hears of it.
func TestTaskOfAProgram(t *testing.T) {
	w := newWorld(t, "careful", "tools")
	item := inbox.Item{Task: "EVIL", By: "issues", At: time.Now(), Origin: "hook issues"}
	if _, err := inbox.Put(disk.OS{}, w.s.Home.Inbox(), item); err != nil {
		t.Fatal(err)
	}
	saw := w.obey(`update_scratchpad {"goals":["EVIL"]}`, `update_scratchpad {"fact":"EVIL"}`)
	own, apart, _ := strings.Cut(saw[0], "The rest of the state came from outside (hook issues)")
	got := w.file("scratchpad/active.yaml")
	if strings.Contains(own, "EVIL") || !strings.Contains(apart, "EVIL") || strings.Contains(got, "goals: [EVIL]") || !strings.Contains(got, "fact: hook issues") {
		t.Errorf("%s\n%s", saw[0], got)
	}
	if ids, _ := w.s.Home.Cycles(0); !strings.Contains(w.file("logs/origins.json"), ids[0]) {
		t.Error("the ledger does not have it")
	}
}

const (
	page   = `http_get {"url":"HOST/plain"}`
	secret = `read_file {"path":"clients/list.txt"}`
)
