package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rouse/internal/sandbox"
)

// What the file leaves open is the posture's, and what it says holds, 0 too.
func TestWalls(t *testing.T) {
	limits := sandbox.Limits{Memory: 4 << 30, Processes: 512}
	for _, tt := range []struct {
		text string
		want Walls
	}{
		{"", Walls{Read: "system"}},
		{"posture: open\n", Walls{Posture: Open, Mode: "auto", Read: "any", Network: "open", UnixSockets: true}},
		{"posture: careful\n", Walls{Posture: Careful, Mode: "auto", Read: "all", Network: "listed", Limits: limits}},
		{"posture: strict\nsandbox:\n", Walls{Posture: Strict, Mode: "auto", Read: "system", Network: "none", Limits: limits}},
		{"sandbox: {mode: require, unix_sockets: true, memory: 0, processes: 0}\nposture: strict\n",
			Walls{Posture: Strict, Mode: "require", Read: "system", Network: "none", UnixSockets: true}},
		{"posture: open\nsandbox: {mode: 'off', network: none, unix_sockets: false, read: system, memory: 1GiB}\n",
			Walls{Posture: Open, Mode: "off", Read: "system", Network: "none", Limits: sandbox.Limits{Memory: 1 << 30}}},
		{"posture: careful\nsandbox: {open_files: 100, file_size: 1GiB, cpu: 1h, memory: '', hosts: [pypi.org, '*.a.example:8443']}\n",
			Walls{Posture: Careful, Mode: "auto", Read: "all", Network: "listed", Hosts: []string{"pypi.org", "*.a.example:8443"},
				Limits: sandbox.Limits{Processes: 512, OpenFiles: 100, FileSize: 1 << 30, CPU: time.Hour}}},
		{"posture: careful\nsandbox: {read: [~/data, /srv/../opt, sub], write: [out, '~/out']}\n",
			Walls{Posture: Careful, Mode: "auto", Read: "system", Folders: []string{"/home/me/data", "/opt", "HOME/sub"}, Write: []string{"HOME/out", "/home/me/out"}, Network: "listed", Limits: limits}},
		{"posture: strict\nsandbox: {read: [all, ~/.ssh/known_hosts]}\n",
			Walls{Posture: Strict, Mode: "auto", Read: "all", Folders: []string{"/home/me/.ssh/known_hosts"}, Network: "none", Limits: limits}},
	} {
		c, err := load(t, tt.text, map[string]string{"HOME": "/home/me"})
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		got := c.Walls()
		for _, list := range [][]string{got.Folders, got.Write} {
			for i, path := range list {
				list[i] = strings.Replace(path, c.dir, "HOME", 1)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
		if stand := tt.want.Posture != "" && tt.want.Mode != "off"; got.Stand() != stand {
			t.Errorf("%q: stand %t", tt.text, !stand)
		}
	}
}

// Each mistake is one line with its line in the file and what to write.
func TestSandboxErrors(t *testing.T) {
	const careful = "posture: careful\nsandbox:\n  mode: auto\n  "
	for _, tt := range []struct{ text, want string }{
		{"posture: brave\n", `rouse.yaml: line 1: posture "brave": use open, careful or strict`},
		{"# a\nsandbox: {}\n", "rouse.yaml: line 2: sandbox: holds only beside a posture; add the line posture: careful"},
		{"sandbox:\n  network: none\n", "rouse.yaml: line 1: sandbox: holds only"},
		{"posture: careful\nsandbox: {mode: on}\n", `sandbox.mode "on": use auto, require or off`},
		{careful + "network: some\n", `line 4: sandbox.network "some": use open, listed or none`},
		{careful + "network: open\n  hosts: [a.example]\n", "line 5: sandbox.hosts: the network is open, which asks no list; write network: listed"},
		{"posture: strict\nsandbox:\n  hosts: [a.example]\n", "line 3: sandbox.hosts: the network is none"},
		{"posture: open\nsandbox: {write: [a]}\n", "with posture: open tools write where the user can"},
		{careful + "read: some\n", `line 4: sandbox.read "some": use all, system, or a list of folders`},
		{careful + "read: any\n", `line 4: sandbox.read "any"`},
		{careful + "read: [all, system]\n", "keep one of them"},
		{careful + "read:\n    - a\n    - $HOME/b\n", `line 6: sandbox.read[1] "$HOME/b": variables are not replaced`},
		{careful + "write: a\n", "line 4: `a` where a list is wanted"},
		{careful + "write:\n    - ~\n", "line 5: an entry of a list is empty; write it, in quotes if it is ~"},
		{careful + "write: [~me/x]\n", `sandbox.write[0] "~me/x": only ~/ is known`},
		{careful + "write: [~/x]\n", `sandbox.write[0] "~/x": HOME is not set`},
		{careful + "write: ['/srv/*']\n", "a pattern is not replaced"},
		{careful + "write: ['']\n", "is empty"},
		{careful + "hosts:\n    - a.example\n    - https://b.example/x\n", `line 6: sandbox.hosts[1] "https://b.example/x": name the host alone`},
		{careful + "memory: 4\n", "line 4: sandbox.memory: use at least 64MiB, with its unit, or 0 for no limit"},
		{careful + "processes: -1\n", "sandbox.processes: use at least 8"},
		{careful + "open_files: 3\n", "sandbox.open_files: use at least 32"},
		{careful + "file_size: 100\n", "sandbox.file_size: use at least 1MiB"},
		{careful + "cpu: 5ms\n", "sandbox.cpu: use at least 1s"},
		{careful + "net: none\n", `unknown key "net"`},
	} {
		_, err := load(t, tt.text, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
		}
	}
	if _, err := load(t, "# sandbox: {}\nsecrets: [sandbox]\n", nil); err != nil {
		t.Errorf("no sandbox and no posture: %v", err)
	}
}

// The configuration that held shows what the posture gave.
func TestHeldWalls(t *testing.T) {
	c, err := load(t, "posture: careful\nsandbox: {processes: 0}\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(c.Held()), "\n")
	for _, line := range []string{
		`posture: "careful"`, `sandbox.mode: "auto"`, `sandbox.read: ["all"]`, `sandbox.network: "listed"`, "sandbox.unix_sockets: false",
		"sandbox.memory: 4294967296", "sandbox.processes: 0", "sandbox.cpu: 0s",
	} {
		if !slices.Contains(lines, line) {
			t.Errorf("no line %s in\n%s", line, c.Held())
		}
	}
}

// What passes the checks has walls that can be made.
func FuzzSandbox(f *testing.F) {
	f.Add("posture: careful\nsandbox: {read: [~/a, all], write: [b], hosts: ['*.a.example:80']}\n")
	f.Add("posture: strict\nsandbox: {memory: 1GiB, cpu: 1s, unix_sockets: true}\n")
	f.Fuzz(func(t *testing.T, text string) {
		c := Default()
		c.dir, c.user, c.text = "/h", "/u", []byte(text)
		if err := decode(c.text, &c); err != nil {
			return
		}
		c.Sandbox.fill(c.Posture)
		if c.checkSandbox() != nil {
			return
		}
		w := c.Walls()
		if w.Posture == NoPosture && (w.Network != "" || len(w.Write) > 0 || w.Limits != sandbox.Limits{}) {
			t.Errorf("%q: walls without a posture: %+v", text, w)
		}
		for _, path := range slices.Concat(w.Folders, w.Write) {
			if !filepath.IsAbs(path) || filepath.Clean(path) != path {
				t.Errorf("%q: path %q", text, path)
			}
		}
		if l := w.Limits; l.Memory < 0 || l.Processes < 0 || l.OpenFiles < 0 || l.FileSize < 0 || l.CPU < 0 {
			t.Errorf("%q: limits %+v", text, l)
		}
	})
}
