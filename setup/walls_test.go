package setup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rouse/dispatcher/policy"
	"rouse/home"
	"rouse/internal/sandbox"
	"rouse/tools/mcp"
)

// place is a home below a person's, who keeps what people keep.
func place(t *testing.T, config string) (*Setup, string) {
	t.Helper()
	person := home.Resolved(t.TempDir())
	for name, text := range map[string]string{
		"agent/rules.md": "x", "agent/rouse.yaml": config, "agent/data/x": "", "agent/.env": "", "other/rules.md": "y", "other/workspace/x": "",
		".ssh/id": "", ".aws/config": "", ".bash_history": "", "plain": "", "Vault.kdbx": "", ".config/gh/hosts.yml": "",
	} {
		path := filepath.Join(person, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(home.Home{Dir: filepath.Join(person, "agent")}, Process{Now: time.Now, Environ: []string{"HOME=" + person, "PATH=" + os.Getenv("PATH")}})
	if err != nil {
		t.Fatal(err)
	}
	return s, person
}

// What each posture lets tools read and write: r, w, both or neither.
func TestWallsOfPostures(t *testing.T) {
	for _, row := range []struct{ config, may string }{
		{"posture: careful", "agent/workspace/x=rw agent/tmp/x=rw agent/cache/x=rw agent/rules.md=r agent/bin/x=r agent/.git/x=r agent/data/x=r agent/new=r" +
			" agent/scratchpad/active.yaml= agent/.env= agent/rouse.yaml= agent/STOP= agent/approvals.yaml= agent/notebooks/a/x= agent/logs/x=" +
			" other/rules.md= other/workspace/x= plain=r .ssh/id= .aws/config= .bash_history= Vault.kdbx= .config/gh/hosts.yml= .config/x=r /usr/bin/sh=r /etc/passwd=r /x=r"},
		{"posture: careful\nsandbox: {read: [all, ~/.aws], write: [~/out, ../other/workspace]}", ".aws/config=r .ssh/id= out/x=rw plain=r other/workspace/x=rw other/rules.md="},
		{"posture: strict", "agent/workspace/x=rw agent/rules.md=r agent/data/x= agent/.env= plain= .ssh/id= other/rules.md= /usr/bin/sh=r /etc/passwd=r /home/x="},
		{"posture: strict\nsandbox: {read: [data]}", "agent/data/x=r plain= /usr/bin/sh=r"},
		{"posture: open", "agent/workspace/x=rw agent/rules.md=r agent/data/x=rw agent/.env= agent/STOP= plain=rw .ssh/id=rw other/rules.md=rw /etc/passwd=rw /tmp/x=rw"},
	} {
		s, person := place(t, row.config)
		w, err := s.Walls()
		if err != nil || w == nil {
			t.Fatalf("%s: %v, %v", row.config, w, err)
		}
		policy := sandbox.Later(w.tools.Policy, w.tools.find, w.System).Policy()
		for entry := range strings.FieldsSeq(row.may) {
			path, want, _ := strings.Cut(entry, "=")
			if !filepath.IsAbs(path) {
				path = filepath.Join(person, path)
			}
			got := ""
			if policy.Reads(path) {
				got = "r"
			}
			if policy.Writes(path) {
				got += "w"
			}
			if got != want {
				t.Errorf("%s: %s: got %q, want %q", row.config, path, got, want)
			}
		}
	}
	for _, config := range []string{"", "posture: strict\nsandbox: {mode: 'off'}"} {
		s, _ := place(t, config)
		w, err := s.Walls()
		cells, install := w.Notebook("x")
		if w != nil || err != nil || w.Tools() != nil || cells != nil || install != nil || w.Server(mcp.Server{}) != nil || w.String() != "" {
			t.Errorf("%q has walls: %v, %v", config, w, err)
		}
	}
}

// What a worker of a fleet has beside the home is hidden in each posture, also while it is no
// home yet, and the home itself is as ever.
func TestWallsOfAWorker(t *testing.T) {
	for posture, want := range map[string][]bool{"careful": {true, true}, "strict": {true, false}, "open": {true, true}} {
		s, person := place(t, "posture: "+posture)
		s, err := Open(s.Home, Process{Now: s.Now, Environ: append(s.Environ, HidesVariable+"="+person+"/agent/..:"+person+"/keys")})
		if err != nil {
			t.Fatal(err)
		}
		w, err := s.Walls()
		if err != nil {
			t.Fatal(err)
		}
		policy := sandbox.Later(w.tools.Policy, w.tools.find, w.System).Policy()
		for _, name := range []string{"plain", "keys/.env", ".lost/moon/x", "other/rules.md", "agent/.env", "agent/scratchpad/x"} {
			if policy.Reads(filepath.Join(person, name)) {
				t.Errorf("%s: %s is seen", posture, name)
			}
		}
		if got := []bool{policy.Writes(filepath.Join(person, "agent/workspace/x")), policy.Reads(filepath.Join(person, "agent/data/x"))}; !slices.Equal(got, want) {
			t.Errorf("%s: workspace and data: %v", posture, got)
		}
	}
}

// The effect of a shell is what its walls leave it: on the workspace alone, or outward.
func TestEffectsOfWalls(t *testing.T) {
	bubblewrap, landlock := sandbox.System{Bubblewrap: "/usr/bin/bwrap", Tracing: true}, sandbox.System{Landlock: 6, Seccomp: true, Tracing: true}
	for _, row := range []struct {
		config string
		system sandbox.System
		want   policy.Effect
	}{
		{"posture: strict", bubblewrap, policy.Workspace},
		{"posture: strict", landlock, policy.Workspace}, // though it leaves chmod and touch elsewhere
		{"posture: strict", sandbox.System{}, policy.Outward},
		{"posture: strict\nsandbox: {write: [~/out]}", bubblewrap, policy.Outward},
		{"posture: careful", bubblewrap, policy.Workspace}, // an empty list is no network
		{"posture: careful\nsandbox: {hosts: [a.example]}", bubblewrap, policy.Outward},
		{"posture: careful\nsandbox: {network: none}", bubblewrap, policy.Workspace},
		{"posture: open\nsandbox: {network: none}", bubblewrap, policy.Outward},
		{"", bubblewrap, policy.Outward},
	} {
		s, _ := place(t, row.config)
		w, err := s.Walls()
		if err != nil {
			t.Fatal(err)
		}
		if w != nil {
			w.System = row.system
			w.box = w.made(w.tools, w.Hosts)
		}
		if got := policy.EffectOf("shell", w.effect(), nil); got != row.want {
			t.Errorf("%q: %s, want %s", row.config, got, row.want)
		}
	}
}

// A file beside the workspace went out, where others may look; one in it did not.
func TestWriteBeyond(t *testing.T) {
	s, person := place(t, "posture: strict\ntools: {files: {roots: [../out]}}")
	for path, want := range map[string]string{"a.md": "allow", s.Home.Folder("workspace") + "/a.md": "allow", person + "/out/a.md": "deny"} {
		args, _ := json.Marshal(map[string]string{"path": path, "content": "x"})
		if r, err := s.Rule("write_file", args, []string{"mcp mail", "private"}); err != nil || r.Do != want {
			t.Errorf("%s: %+v, %v", path, r, err)
		}
	}
}

// Notebooks and servers have boxes of their own.
func TestWallsOfNotebooksAndServers(t *testing.T) {
	s, person := place(t, "posture: careful\nsandbox: {hosts: [a.example]}")
	w, err := s.Walls()
	if err != nil {
		t.Fatal(err)
	}
	w.installer = w.settings([]string{"PIP_FIND_LINKS=/srv/wheels", "UV_CACHE_DIR=/srv/cache"})
	if len(w.installer) != 1 {
		t.Errorf("installers are told %q", w.installer)
	}
	w.System = sandbox.System{Bubblewrap: "/usr/bin/bwrap", Tracing: true}
	own := filepath.Join(person, "agent", "notebooks", "one")
	cells, install := w.Notebook(own)
	for _, b := range []*sandbox.Box{cells, install} {
		if p := b.Policy(); !p.Writes(own+"/venv/x") || !p.Writes(own+"/saved/x") || p.Writes(own+"/cells.jsonl") || !p.Reads(own+"/cells.jsonl") || p.Reads(filepath.Dir(own)+"/two/x") || p.Network != sandbox.Listed {
			t.Errorf("%+v", p)
		}
	}
	aws := w.Server(mcp.Server{Dir: person, Sandbox: mcp.Sandbox{Read: []string{person + "/.aws"}}}).Policy()
	if !aws.Reads(person+"/.aws/config") || aws.Reads(person+"/.ssh/id") {
		t.Errorf("what an entry names: %+v", aws)
	}
	if !slices.Contains(install.Policy().Read, "/srv/wheels") {
		t.Errorf("installers read %q", install.Policy().Read)
	}
	for entry, want := range map[sandbox.Network]sandbox.Network{"": sandbox.Open, sandbox.None: sandbox.None, sandbox.Listed: sandbox.Listed} {
		p := w.Server(mcp.Server{Dir: filepath.Join(person, "agent"), Sandbox: mcp.Sandbox{Network: entry, Write: []string{person + "/out"}}}).Policy()
		if p.Network != want || !p.Writes(person+"/out/x") || p.Reads(person+"/agent/.env") || !p.Reads(person+"/agent/data/x") || p.Writes(person+"/agent/data/x") {
			t.Errorf("%s: %+v", entry, p)
		}
	}
	w.System = sandbox.System{Landlock: 4, Seccomp: true, Tracing: true}
	cells, install = w.Notebook(own)
	if cells.Policy().Network != sandbox.None || install.Policy().Network != sandbox.Open {
		t.Errorf("where no list can be kept: cells %s, install %s", cells.Policy().Network, install.Policy().Network)
	}
}

// What is said to hold is what holds: Landlock does nothing for an open posture.
func TestOpenWallsWithoutBubblewrap(t *testing.T) {
	s, person := place(t, "posture: open")
	s, err := Open(s.Home, Process{Now: s.Now, Environ: []string{"HOME=" + person, "PATH=" + person}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Walls()
	if err != nil || w.Tools() != nil || !strings.HasPrefix(w.String(), "open; not kept: own files, writes, ") || s.Unwalled() == nil {
		t.Errorf("%q, %v, %v", w, err, s.Unwalled())
	}
}

func TestIndexHosts(t *testing.T) {
	got := indexHosts([]string{"PIP_INDEX_URL=http://a.example:8080/simple", "UV_INDEX=one=https://b.example/simple https://c.example", "PIP_CERT=/x", "UV_NO_INDEX=1", "OTHER_INDEX=https://d.example"})
	if want := []string{"a.example:8080", "b.example", "c.example", "pypi.org", "files.pythonhosted.org"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What is required and cannot be had lets nothing begin. Without bubblewrap a process
// may outlive Rouse.
func TestRequiredWalls(t *testing.T) {
	s, person := place(t, "posture: careful\nsandbox: {mode: require, processes: 0, memory: 0}")
	s, err := Open(s.Home, Process{Now: s.Now, Environ: []string{"HOME=" + person, "PATH=" + person}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Walls()
	if err == nil || !strings.Contains(err.Error(), "rouse.yaml: line 2: sandbox.mode: require") || !strings.Contains(err.Error(), "leftovers: ") {
		t.Errorf("got %v", err)
	}
	if _, err := s.Agent(); err == nil {
		t.Error("a cycle could begin")
	}
}
