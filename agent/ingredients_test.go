package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse/agent/model"
	"rouse/internal/redact"
	"rouse/journal"
	"rouse/tools"
)

// What a cycle was made of can be read for as long as its journal is kept, without
// secrets, and a home at rest writes nothing new for it.
func TestCopiesOfWhatACycleWasMadeOf(t *testing.T) {
	r := newRig(t, "", oldState)
	secret := "hunter2-hunter2-hunter2"
	r.must(os.WriteFile(r.home.Config(), []byte("# "+secret+"\nworkspace: w\n"), 0o600))
	r.must(os.WriteFile(r.home.Servers(), []byte(`{"mcpServers":{}}`), 0o600))
	r.must(os.MkdirAll(r.home.Bin(), 0o700))
	r.must(os.WriteFile(filepath.Join(r.home.Bin(), "run.sh"), []byte("#!/bin/sh\n"), 0o700))
	run := func() map[string]string {
		a, _ := r.agent(nil, act("done", `{"summary":"seen"}`))
		a.Version, a.Config, a.Redact = "v1.2", []byte("workspace: w\n"), redact.FromEnv([]string{"A_TOKEN=" + secret}, nil)
		report, err := a.RunOnce(t.Context())
		r.must(err)
		texts := map[string]string{}
		for _, e := range r.events(report.Cycle) {
			named := map[string]string{}
			switch d := e.Data.(type) {
			case *journal.Wake:
				named = d.Made
				if d.Version != "v1.2" {
					t.Errorf("version %q", d.Version)
				}
			case *journal.Made:
				named = d.Made
			}
			for name, sum := range named {
				text, err := a.copies().Read(sum)
				r.must(err)
				texts[name] = string(text)
			}
		}
		return texts
	}
	got := run()
	for name, want := range map[string]string{
		"rules.md": "Be brief.\n", "config": "workspace: w\n", ".mcp.json": `{"mcpServers":{}}`,
		"rouse.yaml": "workspace: w", "bin": `"run.sh" -rwx`, "tools": `{"name":"effect","description":"Changes the world."`,
	} {
		if !strings.Contains(got[name], want) || strings.Contains(got[name], secret) {
			t.Errorf("%s: %q", name, got[name])
		}
	}
	if len(got) != 6 {
		t.Errorf("%q", got)
	}
	before, err := os.ReadDir(r.home.Made())
	r.must(err)
	run()
	after, err := os.ReadDir(r.home.Made())
	r.must(err)
	if len(before) != len(after) {
		t.Errorf("%d copies, then %d", len(before), len(after))
	}
	a, _ := r.agent(nil)
	_, err = a.Reset(true)
	r.must(err)
	if left, err := os.ReadDir(r.home.Made()); err != nil || len(left) > 0 {
		t.Errorf("after a reset that cleans: %v %v", left, err)
	}
}

// The copy of a tool tells our task_scratchpad from one of the tool's own, also the
// copies of older versions, which described ours.
func TestCopiesOfTools(t *testing.T) {
	own := json.RawMessage(`{"type":"object","properties":{"task_scratchpad":{"type":"string"}}}`)
	offered := []tools.Tool{tools.Echo(), {Name: "own", Raw: own}}
	var shown []model.Tool
	for _, o := range offered {
		shown = append(shown, model.Tool{Name: o.Name, Parameters: tools.WithNote(o.Parameters(), tools.NoteRequired, "")})
	}
	text := toolsText(offered, shown, true)
	list, err := parseTools([]byte(text))
	if err != nil || len(list) != 2 || list[0].HasOwnNote() || !list[1].HasOwnNote() || toolsText(list, shown, true) != text {
		t.Errorf("%s gives %+v, %v", text, list, err)
	}
	old, err := parseTools([]byte(`{"name":"a","description":"","parameters":"{\"properties\":{\"task_scratchpad\":{\"type\":\"string\",\"description\":\"facts\"}}}"}`))
	if err != nil || old[0].HasOwnNote() {
		t.Errorf("%+v %v", old, err)
	}
}
