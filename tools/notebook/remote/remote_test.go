package remote_test

import (
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rouse/internal/disk/disktest"
	"rouse/internal/proc"
	"rouse/tools/notebook"
	"rouse/tools/notebook/local"
	"rouse/tools/notebook/notebooktest"
	"rouse/tools/notebook/remote"
	"rouse/tools/notebook/serve"
)

// shared is one environment for all tests: making one takes seconds.
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

func (s *shared) venv(t testing.TB) string {
	t.Helper()
	notebooktest.NeedPython(t)
	s.once.Do(func() {
		if s.dir, s.err = os.MkdirTemp("", "rouse-venv-"); s.err != nil {
			return
		}
		var r *local.Runtime
		env := append(proc.Environ(os.Environ()), "PATH="+notebooktest.UV(t))
		if r, s.err = (local.Config{Runner: &proc.Runner{Env: env}, Workspace: s.dir}).Open(s.dir); s.err == nil {
			s.err = r.Start(t.Context())
			r.Reset(t.Context())
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return filepath.Join(s.dir, "venv")
}

func token(of string) string { return strings.Repeat(of+"-", 10) }

// rig is a server with Python, and the address of it.
type rig struct {
	*serve.Server
	url string
}

// newRig makes a server whose notebooks use the shared environment.
func newRig(t testing.TB, o notebooktest.Options) *rig {
	t.Helper()
	venv := environment.venv(t)
	s := &serve.Server{
		Dir: t.TempDir(), Version: "test", Tokens: map[string]string{"ann": token("ann"), "bob": token("bob")},
		Open: func(p serve.Place) (notebook.Runtime, error) {
			os.Symlink(venv, filepath.Join(p.Dir, "venv")) // unless it is there
			os.Symlink(filepath.Join(venv, "..", "boot"), filepath.Join(p.Dir, "boot"))
			c := local.Config{
				Runner: &proc.Runner{Env: proc.Environ(os.Environ())}, Workspace: filepath.Join(p.Dir, "workspace"),
				Limits: o.Limits, MaxOutput: o.MaxOutput, LLM: p.LLM, Env: p.Env, Secret: p.Secret,
			}
			return c.Open(p.Dir)
		},
	}
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close(t.Context())
		web.Close()
	})
	return &rig{s, web.URL}
}

// client is one of a tenant.
func (r *rig) client(tenant string) *remote.Client {
	return &remote.Client{Endpoint: r.url, Token: token(tenant), Patience: 5 * time.Second}
}

func open(t testing.TB, c *remote.Client, name string) *remote.Runtime {
	t.Helper()
	r, err := c.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestConformance(t *testing.T) {
	t.Parallel()
	notebooktest.Run(t, func(t *testing.T, o notebooktest.Options) func() notebook.Runtime {
		c := newRig(t, o).client("ann")
		c.LLM = o.LLM
		return func() notebook.Runtime { return open(t, c, "main") }
	})
}
