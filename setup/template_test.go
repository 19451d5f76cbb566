package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse"
	"rouse/agent/config"
	"rouse/internal/sandbox"
)

// The template with its walls put up says what it means, and what is not kept.
func TestWalled(t *testing.T) {
	template, err := rouse.Template.ReadFile("rouse.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for network, lacks := range map[sandbox.Network][]string{sandbox.Listed: nil, sandbox.None: {"hosts: no list", "count: not bounded"}} {
		path, text := filepath.Join(t.TempDir(), "rouse.yaml"), walled(string(template), network, lacks)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(path, os.Getenv)
		if w := c.Walls(); err != nil || w.Posture != config.Careful || w.Network != network || w.Mode != "auto" || w.Read != config.ReadAll {
			t.Errorf("%v: %+v\n%s", err, w, text)
		}
		if said := strings.Contains(text, "\n# Not kept on this machine, see rouse doctor:\n# - hosts: no list\n# - count: not bounded\nposture: careful "); said != (lacks != nil) {
			t.Errorf("what is not kept: %t\n%s", said, text)
		}
		if strings.Count(text, "\n") != strings.Count(string(template), "\n")+map[bool]int{true: 3}[lacks != nil] {
			t.Errorf("other lines changed:\n%s", text)
		}
	}
	path := filepath.Join(t.TempDir(), "rouse.yaml")
	if err := os.WriteFile(path, []byte(unwalled(string(template), "no kernel")), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := config.Load(path, os.Getenv); err != nil || c.Walls().Stand() {
		t.Errorf("nothing to wall with: %+v, %v", c.Walls(), err)
	}
}
