// Package local runs notebooks on this machine: a venv and a Python process
// each.
//
// A notebook's folder holds venv, the environment; requirements.txt, what was
// installed into it; variables.pickle, the globals that were saved last; and
// boot, the Python of ours that runs in the process. That one is embedded here,
// in the folder python, and needs only Python 3.8 and its standard library. Where
// processes are confined they write in the folders of [Writable] alone: what they
// put beside those, such as a link, we would follow.
//
// How a cell is kept from forging its own result: what the process reports
// comes over a descriptor of its own, which no child of the process inherits,
// in messages that carry a nonce of the cell. Printing, writing to every
// descriptor, closing them, forking and rebinding names forge nothing and
// wedge nothing. But the cell runs in the same process: one that searches its
// memory can find both.
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/internal/redact"
	"rouse/internal/sandbox"
	"rouse/tools/notebook"
)

// Config is what the notebooks of a home have in common.
type Config struct {
	Runner *proc.Runner
	// Boxes gives what confines the processes of the notebook in a folder: cells, and
	// what makes its environment and installs packages; "" is no notebook, whose
	// interpreter is asked. Nil confines nothing.
	Boxes func(dir string) (cells, install *sandbox.Box)
	// FS is how files are written; default the machine's.
	FS disk.FS
	// Workspace is the folder in which cells run, made on first use.
	Workspace string
	// Python is the interpreter of new environments; default python3.
	Python string
	// Isolated hides the packages of the system from new environments.
	Isolated bool
	Limits   notebook.Limits
	// Memory is how many bytes of address space a process may have; 0 is no
	// limit. A process that cannot be limited is not started.
	Memory int64
	// MaxOutput is how many bytes a cell may print; past them it is ended. 0 is
	// no limit.
	MaxOutput int64
	// InstallTimeout is how long an installation may take; default 10 minutes.
	InstallTimeout time.Duration
	// SaveTimeout is how long the saving or the restoring of variables may take;
	// default 30 seconds.
	SaveTimeout time.Duration
	// Env is given to cells beside the Runner's: the credentials that they may
	// see. Secret are the names of those whose values are never saved.
	Env    []string
	Secret []string
	// InstallEnv is given to installers; see [InstallEnviron].
	InstallEnv []string
	// LLM answers cells that ask a model; nil refuses.
	LLM notebook.LLM
	// Redact takes the secrets out of what processes say of their own end, before
	// that is cut.
	Redact *redact.Redactor
}

const (
	// interruptGrace is how long an interrupted cell may take to come back;
	// cancelGrace the same of a canceled one, whose variables are then kept;
	// killGrace how long a process has between SIGTERM and SIGKILL.
	interruptGrace = 700 * time.Millisecond
	cancelGrace    = 2 * time.Second
	killGrace      = 150 * time.Millisecond
	// maxVariables is how many bytes the pickles of a notebook may have.
	maxVariables = 100_000_000
)

// Runtime is one notebook on this machine; it is a [notebook.Runtime].
type Runtime struct {
	c   Config
	dir string // of the notebook, absolute

	cells, installs *sandbox.Box

	kernel *kernel  // nil if no process runs
	notes  []string // to be told to the next cell
	lost   bool     // a process of ours was ended, so do not restore

	turns      notebook.Turns
	installing sync.Mutex // one installation at a time, however many a cell asks for
}

// Open makes the Runtime of the notebook in the folder dir. Nothing is started.
func (c Config) Open(dir string) (*Runtime, error) {
	c.FS, c.Python = disk.Or(c.FS), cmp.Or(c.Python, "python3")
	c.InstallTimeout = cmp.Or(max(c.InstallTimeout, 0), 10*time.Minute)
	c.SaveTimeout = cmp.Or(max(c.SaveTimeout, 0), 30*time.Second)
	c.Limits = c.Limits.WithDefaults()
	var err error
	if c.Workspace, err = filepath.Abs(c.Workspace); err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("notebook folder: %w", err)
	}
	r := &Runtime{c: c, dir: dir}
	r.cells, r.installs = c.boxes(dir)
	return r, nil
}

// Writable are the folders of a notebook, in the folder dir, in which its processes
// write: its environment, what is to be saved, and what Python compiles of our code. One
// that is a link is not given.
func Writable(dir string) (list []string) {
	for _, name := range []string{venvName, savedName, compiledName} {
		path := filepath.Join(dir, name)
		if info, err := os.Lstat(path); err != nil || info.IsDir() {
			list = append(list, path)
		}
	}
	return list
}

func (c Config) boxes(dir string) (cells, install *sandbox.Box) {
	if c.Boxes == nil {
		return nil, nil
	}
	return c.Boxes(dir)
}

// Cancel is as [notebook.Runtime] says.
func (r *Runtime) Cancel() { r.turns.Cancel() }

// Start is as [notebook.Runtime] says.
func (r *Runtime) Start(ctx context.Context) error {
	ctx, done := r.turns.Begin(ctx)
	defer done()
	return r.ready(ctx, nil)
}

// Execute is as [notebook.Runtime] says.
func (r *Runtime) Execute(ctx context.Context, job notebook.Job, emit func(notebook.Event)) (notebook.Outcome, error) {
	ctx, done := r.turns.Begin(ctx)
	defer done()
	if err := r.ready(ctx, job.Started); err != nil {
		return notebook.Outcome{}, err
	}
	notes := r.notes
	r.notes = nil
	out := r.run(ctx, job, emit)
	out.Notes = append(notes, out.Notes...)
	if out.Lost {
		r.end(true)
	}
	return out, nil
}

// Install is as [notebook.Runtime] says.
func (r *Runtime) Install(ctx context.Context, packages []string, log io.Writer) error {
	ctx, done := r.turns.Begin(ctx)
	defer done()
	if err := r.environment(ctx); err != nil {
		return err
	}
	return r.install(ctx, packages, log)
}

// Reset is as [notebook.Runtime] says.
func (r *Runtime) Reset(ctx context.Context) error {
	_, done := r.turns.Begin(ctx)
	defer done()
	r.end(false)
	r.notes, r.lost = nil, false
	return errors.Join(r.endLeftovers(), r.forget())
}

// Close is as [notebook.Runtime] says.
func (r *Runtime) Close(ctx context.Context) error {
	ctx, done := r.turns.Begin(ctx)
	defer done()
	if r.kernel == nil {
		return nil
	}
	err := r.save(ctx)
	r.end(false)
	r.lost = false // whoever opens it again gets what was saved
	return errors.Join(err, r.c.FS.Remove(r.path(processName)))
}

// Remove is as [notebook.Runtime] says. Of the notebook's folder only what this
// package made is deleted.
func (r *Runtime) Remove(ctx context.Context) error {
	_, done := r.turns.Begin(ctx)
	defer done()
	r.end(false)
	r.notes, r.lost = nil, false
	errs := []error{r.endLeftovers()}
	for _, name := range []string{venvName, bootName, savedName, variablesName, variablesName + newSuffix, triedName, requirementsName} {
		errs = append(errs, os.RemoveAll(r.path(name)))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove notebook: %w", err)
	}
	return nil
}

// end ends the process, if there is one, and says whether its loss is to be
// told to the next cell.
func (r *Runtime) end(lost bool) {
	if r.kernel == nil {
		return
	}
	r.kernel.end()
	r.kernel = nil
	if lost {
		r.lose("its process was ended")
	}
}

func (r *Runtime) lose(why string) {
	r.lost = true
	r.notes = []string{"state lost: " + why + ", so all variables and imports are gone; installed packages and files are kept"}
}

// path is that of a file in the notebook's folder.
func (r *Runtime) path(name ...string) string {
	return filepath.Join(append([]string{r.dir}, name...)...)
}
