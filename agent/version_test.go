package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rouse/agent/history"
	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/journal"
	"rouse/tools"
)

// keeping is an agent with a workspace of which versions are kept. Its tool write_file
// writes the text of its path there, look looks.
func (r *rig) keeping(f disk.FS, replies ...string) *Agent {
	a, _ := r.agent(f, replies...)
	a.Workspace = filepath.Join(r.home.Dir, "workspace")
	a.History = &history.Store{Dir: r.home.History(), Of: "workspace", Disk: f, MaxFile: 1 << 20, MaxBytes: 64 << 20}
	type args struct {
		Path string `json:"path"`
		Text string `json:"text"`
	}
	write := tools.New("write_file", "Writes.", func(_ context.Context, _ tools.Call, d args) tools.Result {
		r.ran = append(r.ran, d.Text)
		r.file(d.Path, d.Text)
		return tools.Result{OK: true, Content: "written"}
	})
	look := func(name string) tools.Tool {
		return tools.New(name, "Looks.", func(context.Context, tools.Call, struct{}) tools.Result { return tools.Result{OK: true} })
	}
	set, err := tools.NewSet(append(a.Tools.All(), write, look("list_files"), look("http_get"))...)
	r.must(err)
	a.Tools = set
	return a
}

// file writes a file of the workspace; "" removes it.
func (r *rig) file(path, text string) {
	r.t.Helper()
	path = filepath.Join(r.home.Dir, "workspace", path)
	r.must(os.MkdirAll(filepath.Dir(path), 0o700))
	if text == "" {
		r.must(os.Remove(path))
		return
	}
	r.must(os.WriteFile(path, []byte(text), 0o600))
}

func write(path, text string) string {
	return act("write_file", fmt.Sprintf(`{"path":%q,"text":%q}`, path, text))
}

var slept = act("done", `{"summary":"seen"}`)

// kept are the versions that a journal names, and its warnings.
func (r *rig) kept(cycle string) (ids, warnings []string) {
	for _, e := range r.events(cycle) {
		switch d := e.Data.(type) {
		case *journal.Kept:
			ids = append(ids, d.ID)
		case *journal.Warning:
			warnings = append(warnings, d.Text)
		}
	}
	return ids, warnings
}

// A cycle keeps the workspace as it found it and as it leaves it, where it changed; one
// whose calls had no effect opens nothing.
func TestACycleKeepsVersions(t *testing.T) {
	r := newRig(t, "", oldState)
	r.file("mine", "of a person")
	for i, c := range []struct {
		replies, want []string
	}{
		{[]string{act("list_files", `{}`), slept}, nil},
		{[]string{act("list_files", `{}`), write("a", "one"), write("b", "two"), slept}, []string{"_before", "_after"}},
		{[]string{write("a", "two"), slept}, []string{"_after"}},
		{[]string{act("effect", `{"label":"a"}`), slept}, nil},
		{[]string{act("http_get", `{}`), slept}, nil},
	} {
		if i == 4 {
			r.file("mine", "changed by a person")
		}
		report, err := r.keeping(unsynced{disk.OS{}}, c.replies...).RunOnce(t.Context())
		r.must(err)
		got, warnings := r.kept(report.Cycle)
		for j := range c.want {
			c.want[j] = report.Cycle + c.want[j]
		}
		if !slices.Equal(got, c.want) || len(warnings) > 0 {
			t.Errorf("cycle %d: %q, want %q; %q", i, got, c.want, warnings)
		}
		if i == 0 && disk.Exists(r.home.History()) {
			t.Error("a cycle that only looked has a history")
		}
		events := r.events(report.Cycle)
		if last := events[len(events)-1]; last.Event != "sleep" {
			t.Errorf("the journal ends with %s", last.Event)
		}
	}
}

// A workspace that cannot be kept is said, and fails no cycle.
func TestAWorkspaceThatCannotBeKept(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(r *rig, a *Agent)
		want  string
	}{
		"a link":    {func(r *rig, _ *Agent) { r.must(os.Symlink(t.TempDir(), filepath.Join(r.home.Dir, "workspace"))) }, "history.workspace: on follows a link"},
		"too large": {func(_ *rig, a *Agent) { a.History.MaxBytes = 1 }, "more than history.max_bytes"},
		"damaged":   {func(r *rig, _ *Agent) { r.must(os.WriteFile(r.home.History(), nil, 0o600)) }, "not a directory"},
	} {
		r := newRig(t, "", oldState)
		a := r.keeping(unsynced{disk.OS{}}, write("a", "one"), slept)
		c.spoil(r, a)
		report, err := a.RunOnce(t.Context())
		if _, warnings := r.kept(report.Cycle); err != nil || report.Exit != 0 || !strings.Contains(fmt.Sprint(warnings), c.want) {
			t.Errorf("%s: %+v, %v: %q", name, report, err, warnings)
		}
	}
}

// Whatever fails, or wherever the cycle dies: after the next wake the newest version is
// the workspace, and a cycle that acknowledged says where it is kept.
func TestEveryFaultOfAVersion(t *testing.T) {
	base, runs := t.TempDir(), 0
	points := disktest.Sweep(t, faults(), func(f *disktest.Faulty) {
		runs++
		r := newRig(t, filepath.Join(base, fmt.Sprint(runs)), oldState)
		defer os.RemoveAll(r.home.Dir)
		r.file("mine", "of a person")
		f.FS = unsynced{disk.OS{}}
		report, err := r.keeping(f, write("a", "one"), write("mine", "of the agent"), slept).RunOnce(t.Context())
		context := fmt.Sprintf("%v at %q", f.Fault, f.Fired())
		if err == nil && report.Exit == 0 {
			if ids, warnings := r.kept(report.Cycle); len(ids) < 2 && len(warnings) == 0 {
				t.Fatalf("%s: only %q are kept, and nothing says so", context, ids)
			}
		}
		r.now = r.now.Add(1e11)
		a := r.keeping(unsynced{disk.OS{}}, write("b", "later"), slept)
		if report, err := a.RunOnce(t.Context()); err != nil || report.Exit != 0 {
			t.Fatalf("%s: the next wake: %+v, %v", context, report, err)
		}
		r.checkSettled(context)
		if t2, err := a.History.Take(a.Workspace, history.After("9")); err != nil || t2.Made {
			t.Fatalf("%s: the newest version is not the workspace: %+v, %v", context, t2, err)
		}
	})
	t.Logf("cycles failed by a version 0, versions lost 0 / %d faults", points)
}
