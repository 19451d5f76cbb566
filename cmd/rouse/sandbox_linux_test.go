package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse/internal/sandbox"
)

// The walls are the same for root and for an ordinary user, with bubblewrap and, where
// the kernel has Landlock, without.
func TestSandboxOfEverybody(t *testing.T) {
	if ok, err := conditions(t)("sandbox"); err != nil || !ok {
		t.Skip("nothing can confine a process here", err)
	}
	bare := t.TempDir() // a PATH without bubblewrap
	for _, program := range []string{"sh", "cat", "true"} {
		if err := os.Symlink("/bin/"+program, filepath.Join(bare, program)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Dir(bare), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", bare} {
		for _, nobody := range []bool{false, true} {
			t.Run(fmt.Sprintf("bare %v, nobody %v", path != "", nobody), func(t *testing.T) {
				r := newRig(t)
				if path != "" {
					if sandbox.Look().Landlock < 2 {
						t.Skip("no Landlock")
					}
					r.env = append(r.env, "PATH="+path)
				}
				r.write("rouse.yaml", "model: {provider: offline}\nposture: careful\n")
				r.write(".env", "A=B\n")
				if nobody {
					r.asNobody()
				}
				r.walled()
			})
		}
	}
}

// walled runs commands that a sandbox refuses, and one that it does not.
func (r *rig) walled() {
	for command, refused := range map[string]string{
		"echo fine >made; cat made": "", "cat ../.env": "read " + r.path(".env"), "echo x >>../rules.md": "write " + r.path("rules.md"),
	} {
		o := r.rouse("run", "--task", "shell command="+fmt.Sprintf("%q", command))
		logs := r.glob("logs/cycle_*.jsonl")
		said := r.read(filepath.Join("logs", filepath.Base(logs[len(logs)-1])))
		switch {
		case refused == "" && (o.code != 0 || strings.Contains(said, `"event":"refused"`)), refused != "" && (o.code != 1 || !strings.Contains(said, `"what":"`+refused+`"`)):
			r.t.Errorf("%s: %+v\n%s", command, o, said)
		}
		if o := r.rouse("reset"); o.code != 0 {
			r.t.Fatal(o.stderr)
		}
	}
}
