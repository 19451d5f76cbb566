package home

import (
	"os"
	"path/filepath"
	"testing"
)

// A workspace neither holds the home nor is one of the agent's own files, whichever
// way links lead there, and what is not there yet counts too.
func TestCheckWorkspace(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := Home{Dir: filepath.Join(top, "by", "link")}
	for _, dir := range []string{"real/logs", "real/jobs/deep", "kept/memory", "by"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"by/link": "../real", "real/scratchpad": "../kept/memory", "out": "real/logs"} {
		if err := os.Symlink(to, filepath.Join(top, from)); err != nil {
			t.Fatal(err)
		}
	}
	for dir, fine := range map[string]bool{
		"real/workspace": true, "by/link/jobs/deep": true, "real/jobs/none/yet": true, "elsewhere": true, "kept/other": true,
		".": false, "real": false, "by/link": false, "by/link/jobs/..": false, "real/logs": false, "by/link/logs/a/b": false, "out": false,
		"real/served": false, "real/notebooks/none": false, "real/scratchpad": false, "kept/memory/deep": false,
	} {
		if err := h.CheckWorkspace(filepath.Join(top, dir)); (err == nil) != fine {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// Tools are let read what is theirs, and what is beside the agent's own files.
func TestCheckRead(t *testing.T) {
	h := Home{Dir: t.TempDir()}
	for dir, fine := range map[string]bool{
		"": true, "..": true, "workspace": true, "rules.md": true, "skills/x": true, "data": true,
		"logs": false, "scratchpad/active.yaml": false, ".env": false, "notebooks/a": false,
	} {
		if err := h.CheckRead("sandbox.read[0]", filepath.Join(h.Dir, dir)); (err == nil) != fine {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// What is open in a closed home is open to nobody else.
func TestExposed(t *testing.T) {
	h := Home{Dir: t.TempDir()}
	if err := os.WriteFile(h.Env(), []byte("A=b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for perm, want := range map[os.FileMode]int{0o700: 0, 0o711: 2, 0o755: 2} {
		if err := os.Chmod(h.Dir, perm); err != nil {
			t.Fatal(err)
		}
		if paths, err := h.Exposed(); err != nil || len(paths) != want {
			t.Errorf("home %v: %q, %v; want %d", perm, paths, err, want)
		}
	}
}
