package local

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"rouse/internal/disk/disktest"
	"rouse/internal/proc"
	"rouse/tools/notebook"
	"rouse/tools/notebook/notebooktest"
)

// shared is one environment for all tests, without pip: that takes seconds.
type shared struct {
	once sync.Once
	dir  string
	err  error
}

var environment shared

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "6") // they mostly wait; on the command line -parallel beats this
	disktest.Main(m)
	if environment.dir != "" {
		os.RemoveAll(environment.dir)
	}
}

func environ() []string { return proc.Environ(os.Environ()) }

// venv is the folder of a complete environment.
func (s *shared) venv(t testing.TB) string {
	t.Helper()
	notebooktest.NeedPython(t)
	s.once.Do(func() {
		if s.dir, s.err = os.MkdirTemp("", "rouse-venv-"); s.err != nil {
			return
		}
		var r *Runtime
		runner := &proc.Runner{Env: append(environ(), "PATH="+notebooktest.UV(t))}
		if r, s.err = (Config{Runner: runner, Workspace: s.dir}).Open(s.dir); s.err == nil {
			s.err = cmp.Or(r.environment(t.Context()), r.unpack())
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return filepath.Join(s.dir, venvName)
}

// config is one of its own for a test.
func config(t testing.TB) Config {
	t.Helper()
	return Config{Runner: &proc.Runner{Env: environ()}, Workspace: t.TempDir(), Limits: notebooktest.Quick()}
}

// open opens a notebook that uses the shared environment, and what Python has
// compiled of ours.
func open(t testing.TB, c Config) *Runtime {
	t.Helper()
	dir, venv := t.TempDir(), environment.venv(t)
	if err := cmp.Or(os.Symlink(venv, filepath.Join(dir, venvName)), os.Symlink(filepath.Join(venv, "..", bootName), filepath.Join(dir, bootName))); err != nil {
		t.Fatal(err)
	}
	return reopen(t, c, dir)
}

func reopen(t testing.TB, c Config, dir string) *Runtime {
	t.Helper()
	r, err := c.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Reset(t.Context()) })
	return r
}

func TestConformance(t *testing.T) {
	t.Parallel()
	notebooktest.Run(t, func(t *testing.T, o notebooktest.Options) func() notebook.Runtime {
		c := config(t)
		c.Limits, c.MaxOutput, c.LLM = o.Limits, o.MaxOutput, o.LLM
		first := open(t, c)
		return func() notebook.Runtime { return reopen(t, c, first.dir) }
	})
}
