package setup

import (
	"os"
	"strings"
	"testing"
	"time"

	"rouse/home"
)

// No sandbox lets tools at the agent's own files, whoever asks for it.
func TestSandboxOfOwnFiles(t *testing.T) {
	h := home.Home{Dir: t.TempDir()}
	for list, want := range map[string]string{
		"write: [data, workspace/x, /srv]": "",
		"read: [data, rules.md]":           "",
		"write: [data, /]":                 "rouse.yaml: line 2: sandbox.write[1] / holds the home itself",
		"write: [.]":                       "holds the home itself",
		"write: ['" + h.Dir + "/..']":      "holds the home itself",
		"write: [bin]":                     "is among the agent's own files; name another folder",
		"write: [scratchpad/x]":            "is among the agent's own files",
		"read: [data, .env]":               "rouse.yaml: line 2: sandbox.read[1] ",
	} {
		if err := os.WriteFile(h.Config(), []byte("posture: careful\nsandbox: {"+list+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(h, Process{Now: time.Now})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", list, err, want)
		}
	}
	servers := `{"mcpServers": {"x": {"command": "a", "sandbox": {"write": ["logs"]}}, "y": {"command": "a", "sandbox": {"on": true}}}}`
	for posture, want := range map[string][2]string{"": {}, "posture: careful\n": {"sandbox: write ", `sandbox: unknown field "on"`}} {
		s := open(t, map[string]string{".mcp.json": servers, "rouse.yaml": posture})
		c, err := s.Servers()
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range want {
			if got := c.Servers[i].Problem; !strings.Contains(got, want) || (got == "") != (want == "") {
				t.Errorf("%q, server %d: %q, want %q", posture, i, got, want)
			}
		}
	}
}

// Temporary files go where the home has walls, and not those that somebody keeps.
func TestTemp(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                      false,
		"posture: careful\n":                    true,
		"posture: open\nsandbox: {mode: 'off'}": false,
		"posture: careful\nworkspace: tmp/w\n":  false,
		"posture: careful\nsandbox: {write: [data, tmp/keep]}\n": false,
	} {
		s := open(t, map[string]string{"rouse.yaml": text})
		if got := s.Retention().Temp; got != "" != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
