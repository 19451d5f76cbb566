package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse"
	"rouse/agent/config"
	"rouse/bench/o200k"
	"rouse/home"
	"rouse/internal/sandbox"
)

// The first request of a home as `rouse init` makes it stays small: it is paid for
// in each iteration of each cycle. `go run ./bench` prints it as a table.
func TestFirstRequest(t *testing.T) {
	s, server := limited(t, "{}", false)
	s.Home = home.Home{Dir: filepath.Join(t.TempDir(), "home")}
	s.Environ = append(s.Environ, "OPENAI_BASE_URL="+server.URL())
	if _, _, err := WriteTemplate(s.Home.Dir, nil, s.Process); err != nil {
		t.Fatal(err)
	}
	s, err := Open(s.Home, s.Process)
	if err != nil {
		t.Fatal(err)
	}
	if r := cycle(t, s); r.Err != nil || r.Exit != 0 {
		t.Fatalf("%+v", r)
	}
	parts, err := o200k.Of(server.Requests()[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	if all := parts[len(parts)-1]; all.Tokens > 1500 || len(parts) < 11 {
		t.Errorf("%d tokens in %d parts: %v", all.Tokens, len(parts)-1, parts)
	}
	t.Log(parts)
}

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
