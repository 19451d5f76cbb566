package files

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse/internal/sweep"
	"rouse/tools"
)

// walled is a home with a workspace, whose roots these are.
func walled(t *testing.T, roots ...string) (string, map[string]tools.Tool) {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	for _, dir := range []string{"workspace", "scratchpad", "logs", "notebooks/main", "bin", ".git", "own"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		putOwn(t, filepath.Join(home, dir, "f"), "PRIVATE")
	}
	putOwn(t, filepath.Join(home, ".env"), "PRIVATE")
	putOwn(t, filepath.Join(home, "rules.md"), "rules")
	putOwn(t, filepath.Join(home, "own", "f"), "mine")
	f := Folder{Workspace: filepath.Join(home, "workspace"), Wall: Wall{
		Home: home, Hidden: []string{"scratchpad", "logs", "notebooks", ".env", "STOP"}, ReadOnly: []string{"rules.md", "bin", ".git"},
	}}
	for _, root := range roots {
		f.Roots = append(f.Roots, filepath.Join(home, root))
	}
	byName := map[string]tools.Tool{}
	for _, tool := range f.Tools() {
		byName[tool.Name] = tool
	}
	return home, byName
}

func putOwn(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// callOwn gives all that a tool said.
func callOwn(t *testing.T, tool tools.Tool, args map[string]any) (bool, string) {
	t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r := tool.Run(context.Background(), tools.Call{Args: b, Output: &out})
	content, _ := r.Content.(string)
	return r.OK, out.String() + content + r.Error
}

// The agent's own files are reached through no root, by no spelling and no link.
func TestWall(t *testing.T) {
	for _, root := range []string{".", "..", "../..", "scratchpad", "logs", "notebooks", ".git", "bin", "workspace/..", "own"} {
		home, do := walled(t, root)
		os.Symlink("../scratchpad", filepath.Join(home, "own", "memory"))
		os.Symlink("../.env", filepath.Join(home, "own", "e"))
		os.Link(filepath.Join(home, "logs", "f"), filepath.Join(home, "workspace", "hard"))
		for _, name := range []string{
			"scratchpad/f", "scratchpad//f", "./scratchpad/./f", "own/../scratchpad/f", "logs/f", "notebooks/main/f", ".env",
			"own/memory/f", "own/e", "workspace/hard", "workspace/../logs/f",
		} {
			for _, path := range []string{home + "/" + name, "/proc/self/root" + home + "/" + name} {
				if ok, text := callOwn(t, do["read_file"], map[string]any{"path": path}); ok || strings.Contains(text, "PRIVATE") {
					t.Errorf("root %q: read %s: %s", root, path, text)
				}
				if !strings.Contains(name, "hard") {
					callOwn(t, do["write_file"], map[string]any{"path": path, "content": "x"})
				}
			}
			callOwn(t, do["write_file"], map[string]any{"path": filepath.Join(home, filepath.Dir(name), "new", "g"), "content": "x"})
		}
		for _, name := range []string{"rules.md", "bin/f", ".git/f", "STOP", "stop", "bin/new/g", "scratchpad/new/g"} {
			if ok, text := callOwn(t, do["write_file"], map[string]any{"path": filepath.Join(home, name), "content": "x"}); ok {
				t.Errorf("root %q: wrote %s: %s", root, name, text)
			}
		}
		for _, dir := range []string{"scratchpad", "logs", "notebooks", "own/memory"} {
			if ok, text := callOwn(t, do["list_files"], map[string]any{"path": filepath.Join(home, dir)}); ok {
				t.Errorf("root %q: listed %s: %s", root, dir, text)
			}
			if _, err := os.Stat(filepath.Join(home, dir, "new")); err == nil {
				t.Errorf("root %q: made a folder in %s", root, dir)
			}
		}
		for _, name := range []string{"scratchpad/f", "logs/f", "notebooks/main/f", ".env", "bin/f", ".git/f"} {
			if text, err := os.ReadFile(filepath.Join(home, name)); string(text) != "PRIVATE" {
				t.Errorf("root %q: %s is %q, %v", root, name, text, err)
			}
		}
	}
}

// What is beside the own files is reached as before, also through a root that
// holds the home.
func TestBesideTheWall(t *testing.T) {
	for _, root := range []string{".", "..", "../.."} {
		home, do := walled(t, root)
		for _, name := range []string{"own/f", "rules.md", "bin/f"} {
			if ok, text := callOwn(t, do["read_file"], map[string]any{"path": filepath.Join(home, name)}); !ok {
				t.Errorf("root %q: read %s: %s", root, name, text)
			}
		}
		for _, name := range []string{"own/new/f", "workspace/logs/f", "workspace/.env", "other/STOP"} {
			if ok, text := callOwn(t, do["write_file"], map[string]any{"path": filepath.Join(home, name), "content": "x"}); !ok {
				t.Errorf("root %q: write %s: %s", root, name, text)
			}
		}
		ok, text := callOwn(t, do["list_files"], map[string]any{"path": home, "recursive": true})
		if !ok || strings.Contains(text, " scratchpad") || strings.Contains(text, "main/f") || !strings.Contains(text, "own/f") || !strings.Contains(text, "workspace/logs/f") {
			t.Errorf("root %q: listed %s", root, text)
		}
	}
}

// A workspace that has become a link to the memory is not the workspace.
func TestWorkspaceBecomesALink(t *testing.T) {
	home, do := walled(t)
	os.RemoveAll(filepath.Join(home, "workspace"))
	os.Symlink("scratchpad", filepath.Join(home, "workspace"))
	for tool, args := range map[string]map[string]any{"read_file": {"path": "f"}, "write_file": {"path": "g", "content": "x"}, "list_files": {}} {
		if ok, text := callOwn(t, do[tool], args); ok || !strings.Contains(text, "the agent's own files") {
			t.Errorf("%s: %s", tool, text)
		}
	}
}

// A folder that is swapped for a link to the memory while calls go on leads there
// at no moment.
func TestWallWhileLinksAreSwapped(t *testing.T) {
	home, do := walled(t, "..")
	own, swap := filepath.Join(home, "own"), filepath.Join(home, "swap")
	if err := os.Symlink("scratchpad", swap); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default: // own is a folder, a link to the memory, and a folder again
				os.Rename(own, own+"2")
				os.Rename(swap, own)
				os.Rename(own, swap)
				os.Rename(own+"2", own)
			}
		}
	}()
	for range sweep.Of(100, 3000, 3000) {
		if _, text := callOwn(t, do["read_file"], map[string]any{"path": own + "/f"}); strings.Contains(text, "PRIVATE") {
			t.Fatalf("read %s", text)
		}
		callOwn(t, do["write_file"], map[string]any{"path": own + "/g", "content": "x"})
	}
	close(stop)
	<-done
	if _, err := os.Stat(filepath.Join(home, "scratchpad", "g")); err == nil {
		t.Error("wrote into the memory")
	}
}
