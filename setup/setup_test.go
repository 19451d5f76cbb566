package setup

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/agent"
	"rouse/dispatcher"
	"rouse/home"
	"rouse/tools"
)

// open makes a home of files and opens it.
func open(t *testing.T, files map[string]string) *Setup {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(home.Home{Dir: dir}, Process{Environ: []string{"PATH=" + os.Getenv("PATH")}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What was read stays hidden, in whatever order it is read and whoever has none.
func TestHidden(t *testing.T) {
	s := open(t, map[string]string{
		".env": "DS_POSTGRES_PROD__PASSWORD=very-secret-1\n", ".mcp.json": `{"mcpServers": {}}`,
	})
	if _, err := s.credentials(); err != nil {
		t.Fatal(err)
	}
	if got := s.Hidden().String("is very-secret-1"); strings.Contains(got, "very-secret") {
		t.Errorf("shown: %s", got)
	}
}

// A model recalls once something has left its memory, unless its operator has a command
// of that name.
func TestRecallBox(t *testing.T) {
	s := open(t, nil)
	for _, tt := range []struct {
		left, taken bool
		want        int
	}{{false, false, 0}, {true, false, 1}, {true, true, 0}} {
		host := agent.Host{Left: tt.left, Tool: func(context.Context, string) (tools.Tool, func(), error) {
			if tt.taken {
				return tools.Tool{}, func() {}, nil
			}
			return tools.Tool{}, nil, os.ErrNotExist
		}}
		if got := s.recallBox(context.Background(), host).Tools; len(got) != tt.want {
			t.Errorf("%+v: %d tools", tt, len(got))
		}
	}
}

// Models are shown all that the schemas of our tools say, but that they are closed.
func TestParameters(t *testing.T) {
	s := open(t, nil)
	set, err := s.Tools()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range append(append(set.All(), s.foreseen(&agent.Agent{})...), new(dispatcher.Shelf).Reader()) {
		tool.Schema.AdditionalProperties = nil
		want, err := json.Marshal(tool.Schema)
		if got := tool.Parameters(); err != nil || string(got) != string(want) {
			t.Errorf("%s: %v\n got %s\nwant %s", tool.Name, err, got, want)
		}
	}
}

func TestBuildInfo(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, err := buildinfo.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	got, err := buildInfo(self)
	if err != nil || origin(got) != origin(want) || len(got.Deps) != len(want.Deps) || len(got.Settings) != len(want.Settings) {
		t.Errorf("%v\n got %v\nwant %v", err, got, want)
	}
	if got, err := buildInfo("setup.go"); err == nil {
		t.Errorf("of a text: %v", got)
	}
}
