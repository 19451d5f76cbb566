package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/setup"
)

// conditions says what scripts ask of this machine.
func conditions(t *testing.T) func(string) (bool, error) {
	dir := t.TempDir()
	walls := sync.OnceValues(func() (*setup.Walls, error) {
		h := home.Home{Dir: dir}
		if err := os.WriteFile(h.Config(), []byte("posture: careful\n"), 0o600); err != nil {
			return nil, err
		}
		s, err := setup.Open(h, setup.Process{Environ: os.Environ(), Now: later})
		if err != nil {
			return nil, err
		}
		return s.Walls()
	})
	return func(what string) (bool, error) {
		w, err := walls()
		switch {
		case err != nil:
			return false, err
		case what == "npm":
			return disk.Exists(filepath.Join(npm(), "@modelcontextprotocol", "conformance")), nil
		case what == "sandbox":
			return w.System.Confines(), nil
		case what == "bubblewrap":
			return w.System.Mounts(), nil
		}
		return false, fmt.Errorf("unknown condition %s", what)
	}
}

// npm is where .ci/run installs the programs of others.
func npm() string {
	dir, _ := filepath.Abs(filepath.Join("..", "..", "tools", "mcp", "testdata", "npm", "node_modules")) // where tests run
	return dir
}
