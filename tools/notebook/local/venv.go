package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/tools"
)

const (
	venvName = "venv"
	// recordName is written when an environment is complete, so one without it
	// was only half made.
	recordName    = "rouse.json"
	maxRecord     = 64 << 10 // bytes
	createTries   = 3
	createTimeout = 5 * time.Minute
	probeTimeout  = 30 * time.Second
)

// record says what an environment was made from.
type record struct {
	Python      string `json:"python"` // its version
	Interpreter string `json:"interpreter"`
	Isolated    bool   `json:"isolated"`
}

// environment sees to it that there is a complete environment, made as the
// configuration says. Whether it works shows when it is used.
func (r *Runtime) environment(ctx context.Context) error {
	if err := os.MkdirAll(r.c.Workspace, 0o700); err != nil {
		return fmt.Errorf("workspace: %w", err)
	}
	have, err := r.record()
	if err == nil && have.Interpreter == r.c.Python && have.Isolated == r.c.Isolated {
		return nil
	}
	return r.rebuild(ctx)
}

func (r *Runtime) record() (record, error) {
	var rec record
	b, err := disk.ReadSmall(r.path(venvName, recordName), maxRecord)
	if err == nil {
		err = json.Unmarshal(b, &rec)
	}
	return rec, err
}

// rebuild makes the environment anew and installs what was recorded.
func (r *Runtime) rebuild(ctx context.Context) error {
	var err error
	for range createTries {
		if err = r.create(ctx); err == nil {
			return r.restorePackages(ctx)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return fmt.Errorf("make the notebook's Python environment with %s: %w", r.c.Python, err)
}

func (r *Runtime) create(ctx context.Context) error {
	if err := r.clear(); err != nil {
		return err
	}
	if _, err := r.command(ctx, proc.Command{Argv: r.creator(), Timeout: createTimeout, Env: r.c.InstallEnv}); err != nil {
		return err
	}
	version, err := r.version(ctx)
	if err != nil {
		return fmt.Errorf("it does not run: %w", err)
	}
	b, err := json.Marshal(record{version, r.c.Python, r.c.Isolated})
	if err != nil {
		return err
	}
	return disk.Replace(r.c.FS, r.path(venvName, recordName), append(b, '\n'), 0o600)
}

// clear empties the folder of the environment. It stays the one that processes may write.
func (r *Runtime) clear() error {
	dir := r.path(venvName)
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return cmp.Or(os.RemoveAll(dir), r.c.FS.MkdirAll(dir, 0o700))
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// version is that of the environment's Python, which runs for it.
func (r *Runtime) version(ctx context.Context) (string, error) {
	said, err := r.command(ctx, proc.Command{Argv: []string{r.interpreter(), "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"}, Timeout: probeTimeout})
	return strings.TrimSpace(said), err
}

// runs reports whether the environment's Python runs and is the one that it was
// made with: then a new environment is no help, and would cost its packages.
func (r *Runtime) runs(ctx context.Context) bool {
	have, err := r.record()
	if err != nil {
		return false
	}
	version, err := r.version(ctx)
	return err == nil && version == have.Python
}

// creator is the command line that makes an environment.
func (r *Runtime) creator() []string {
	argv := []string{r.c.Python, "-m", "venv"}
	if uv := r.uv(); uv != "" {
		argv = []string{uv, "venv", "--seed", "--python", r.c.Python}
	}
	if !r.c.Isolated {
		argv = append(argv, "--system-site-packages")
	}
	return append(argv, r.path(venvName))
}

// interpreter is the Python of the environment.
func (r *Runtime) interpreter() string { return Interpreter(r.dir) }

// Interpreter is the Python of the notebook in a folder, where it has one.
func Interpreter(dir string) string { return filepath.Join(dir, venvName, "bin", "python") }

// uv is the path of uv in the children's PATH; empty if it is not installed.
func (r *Runtime) uv() string {
	if file, err := proc.LookPath("uv", proc.Lookup(r.c.Runner.Env, "PATH")); err == nil {
		return file
	}
	return ""
}

// environ is what processes of the environment get beside the Runner's.
func (r *Runtime) environ() []string {
	path := cmp.Or(proc.Lookup(r.c.Runner.Env, "PATH"), "/usr/local/bin:/usr/bin:/bin")
	return []string{
		"PATH=" + r.path(venvName, "bin") + ":" + path,
		"VIRTUAL_ENV=" + r.path(venvName),
		"PYTHONUTF8=1", // for the Pythons that a cell starts
		"MPLBACKEND=Agg",
		"PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1",
	}
}

// command runs a program in the workspace and gives what it wrote on both
// streams, which goes to c.Stdout as well; of much, the end. That is in the error
// too, if it does not succeed.
func (r *Runtime) command(ctx context.Context, c proc.Command) (string, error) {
	said := r.c.Redact.NewTail(4000)
	c.Dir, c.Env, c.Box = r.c.Workspace, append(r.environ(), c.Env...), r.installs
	ear := c.Box.Listen(c.Dir)
	out := ear.Beside(said)
	if c.Stdout != nil {
		out = io.MultiWriter(out, c.Stdout)
	}
	c.Stdout, c.Stderr = out, out
	p, err := r.c.Runner.Start(ctx, c)
	if err != nil {
		return "", err
	}
	if exit := p.Wait(); !exit.OK() {
		failed := tools.Fail("%s", strings.TrimSpace(exit.String()+"\n"+said.String()))
		failed.Refuse(ear.Refusals(true, p.Refused(), p.Ended(exit)...))
		return "", errors.New(failed.Error)
	}
	return said.String(), nil
}
