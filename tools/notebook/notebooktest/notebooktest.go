// Package notebooktest holds what every [notebook.Runtime] must do, whatever
// runs its Python: Run is the suite that each of them passes.
package notebooktest

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rouse/internal/sweep"
	"rouse/tools/notebook"
)

// Options are what a test asks of the runtime that it gets.
type Options struct {
	Limits    notebook.Limits
	MaxOutput int64
	LLM       notebook.LLM
}

// Rig opens the notebook of one test: each call of what it returns opens the
// same one, as another cycle would. The rig closes what is still open when the
// test ends.
type Rig func(t *testing.T, o Options) func() notebook.Runtime

// python is the program that python3 means, which may be a script of a version manager.
var python = sync.OnceValues(exec.Command("python3", "-c", "import sys, venv, ensurepip; print(sys.executable, end='')").Output)

// NeedPython skips the test where there is no Python that can make environments.
func NeedPython(t testing.TB) {
	t.Helper()
	if _, err := python(); err != nil {
		t.Skipf("python3 with venv and ensurepip is not installed: %v", err)
	}
}

// UV is a PATH with a program that makes environments as uv does, but without pip,
// which takes seconds, and without what is installed beside Python, unless options
// say otherwise: each start would pay for it.
func UV(t testing.TB, options ...string) string {
	t.Helper()
	bin := t.TempDir()
	found, _ := python()
	script := "#!/bin/sh\nfor last; do :; done\np=$4; [ $p != python3 ] || p='" + string(found) + "'\nexec \"$p\" -m venv --without-pip " + strings.Join(options, " ") + " \"$last\"\n"
	if err := os.WriteFile(filepath.Join(bin, "uv"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return bin + ":" + os.Getenv("PATH")
}

// Full skips the test unless ROUSE_SWEEP=full asks for the long ones.
func Full(t testing.TB) {
	t.Helper()
	if !sweep.Full() {
		t.Skip("long: set ROUSE_SWEEP=full")
	}
}

// Cell is what came of one cell.
type Cell struct {
	notebook.Outcome
	Stdout, Stderr, Log string
}

// Note reports whether one of the notes contains the text.
func (c Cell) Note(text string) bool { return strings.Contains(strings.Join(c.Notes, "\n"), text) }

// Exec runs code and fails the test if it could not be run.
func Exec(t testing.TB, r notebook.Runtime, code string) Cell {
	t.Helper()
	return ExecJob(t.Context(), t, r, notebook.Job{ID: "x", Number: 1, Code: code})
}

// ExecJob is Exec for a job that says more than its code.
func ExecJob(ctx context.Context, t testing.TB, r notebook.Runtime, job notebook.Job) Cell {
	t.Helper()
	var mu sync.Mutex
	got := map[notebook.Stream]*strings.Builder{notebook.Stdout: {}, notebook.Stderr: {}, notebook.Log: {}}
	out, err := r.Execute(ctx, job, func(e notebook.Event) {
		if !mu.TryLock() {
			t.Error("two events at one time")
			return
		}
		defer mu.Unlock()
		got[e.Stream].Write(e.Data)
	})
	if err != nil {
		t.Fatalf("execute: %v", err)
	}
	return Cell{out, got[notebook.Stdout].String(), got[notebook.Stderr].String(), got[notebook.Log].String()}
}

// Want fails the test unless the cell ended well with that value.
func Want(t testing.TB, c Cell, value string) {
	t.Helper()
	if c.Ended != notebook.OK || c.Value != value {
		t.Fatalf("ended %q with value %q, want %q\nerror: %s\nstderr: %s", c.Ended, c.Value, value, c.Error, c.Stderr)
	}
}

// Model answers by a function and keeps what it was asked; its Ask is an LLM.
type Model struct {
	Answer func(notebook.Prompt) (notebook.Completion, error)

	mu    sync.Mutex
	asked []notebook.Prompt
}

// Ask asks Answer to complete a prompt; without one, it repeats the last message. It
// does not search, as most models do not.
func (m *Model) Ask(_ context.Context, q notebook.Question) (notebook.Completion, error) {
	if q.Prompt == nil {
		return notebook.Completion{}, notebook.ErrNoSearch
	}
	p := *q.Prompt
	m.mu.Lock()
	m.asked = append(m.asked, p)
	m.mu.Unlock()
	if m.Answer == nil {
		return notebook.Completion{Text: "echo: " + p.Messages[len(p.Messages)-1].Content, Input: 3, Output: 4}, nil
	}
	return m.Answer(p)
}

// Asked is all that it was asked, in order.
func (m *Model) Asked() []notebook.Prompt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]notebook.Prompt(nil), m.asked...)
}

// Called is a completion that calls one function.
func Called(name string, args any) notebook.Completion {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return notebook.Completion{Calls: []notebook.Call{{ID: "c1", Name: name, Args: b}}}
}

// Quick are limits that end cells soon enough for a test.
func Quick() notebook.Limits {
	return notebook.Limits{Default: 20 * time.Second, Idle: 20 * time.Second, Floor: 100 * time.Millisecond}
}
