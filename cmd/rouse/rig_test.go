package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rouse/agent/model/modeltest"
)

// rig is a home and the real program, run as a process of its own.
type rig struct {
	t    *testing.T
	home string
	env  []string            // beside PATH, HOME and TMPDIR
	user *syscall.Credential // nil is the user of the test
}

// outcome is what a run of the program left.
type outcome struct {
	code           int // -1 after a signal
	stdout, stderr string
}

// newRig makes a home of rules alone.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, home: filepath.Join(t.TempDir(), "home")}
	r.write("rules.md", "You are Rouse.\n")
	return r
}

// serve lets the home's model answer with the replies.
func (r *rig) serve(replies ...modeltest.Reply) *modeltest.Server {
	s := modeltest.New(replies...)
	r.t.Cleanup(s.Close)
	r.env = append(r.env, "OPENAI_BASE_URL="+s.URL())
	return s
}

func (r *rig) path(name string) string { return filepath.Join(r.home, name) }

func (r *rig) write(name, text string) {
	r.t.Helper()
	err := os.MkdirAll(filepath.Dir(r.path(name)), 0o700)
	if err := errors.Join(err, os.WriteFile(r.path(name), []byte(text), 0o600)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) read(name string) string {
	r.t.Helper()
	data, err := os.ReadFile(r.path(name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

func (r *rig) glob(pattern string) []string {
	names, err := filepath.Glob(r.path(pattern))
	if err != nil {
		r.t.Fatal(err)
	}
	return names
}

// noRest lets a program with the race detector end at once, not after a second.
const noRest = "GORACE=atexit_sleep_ms=0"

// patience is how long a program that hangs is waited for.
const patience = 4 * time.Minute

// command is the program with its environment, to be started.
func (r *rig) command(args ...string) (*exec.Cmd, func()) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	cmd := exec.CommandContext(ctx, "rouse", args...)
	cmd.Dir = os.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(r.home), "TMPDIR=" + filepath.Dir(r.home), "ROUSE_HOME=" + r.home, noRest}, r.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: r.user}
	return cmd, cancel
}

// rouse runs the program to its end.
func (r *rig) rouse(args ...string) outcome {
	r.t.Helper()
	cmd, cancel := r.command(args...)
	defer cancel()
	return r.finish(cmd, cmd.Start)
}

// finish starts a program, or does what follows its start, and waits for its end.
func (r *rig) finish(cmd *exec.Cmd, start func() error) outcome {
	r.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := start(); err != nil {
		r.t.Fatal(err)
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatalf("%q: %v", cmd.Args, err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// signalled runs a cycle and sends it a signal once the file is there.
func (r *rig) signalled(s syscall.Signal, file string) outcome {
	r.t.Helper()
	cmd, cancel := r.command("run")
	defer cancel()
	return r.finish(cmd, func() error {
		if err := cmd.Start(); err != nil {
			return err
		}
		r.await(file)
		return cmd.Process.Signal(s)
	})
}

// await waits for a file of the home.
func (r *rig) await(name string) {
	r.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for range int(patience / (2 * time.Millisecond)) {
		if _, err := os.Stat(r.path(name)); err == nil {
			return
		}
		<-tick.C
	}
	r.t.Fatalf("%s does not come", name)
}

// oneLine wants an error of the program to be one line that says all of what.
func (o outcome) oneLine(t *testing.T, what ...string) {
	t.Helper()
	text, ok := strings.CutSuffix(o.stderr, "\n")
	if !ok || strings.Contains(text, "\n") || !strings.HasPrefix(text, "rouse: ") {
		t.Errorf("exit %d with %q, want one line", o.code, o.stderr)
	}
	for _, w := range what {
		if !strings.Contains(text, w) {
			t.Errorf("exit %d with %q, want %q in it", o.code, o.stderr, w)
		}
	}
}

// call is a reply of the model that asks for a tool.
func call(tool, args string) modeltest.Reply {
	return modeltest.Reply{Action: json.RawMessage(`{"tool": "` + tool + `", "args": ` + args + `}`)}
}

func done() modeltest.Reply { return call("done", `{"summary": "went on"}`) }
