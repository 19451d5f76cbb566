// Package command makes tools of programs: those that a home declares in its
// configuration, see [Tool], and the shell, which stands in the folder beside.
//
// No text from a model ever reaches a shell here: each value lands inside one
// argument of the program.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"rouse/internal/proc"
	"rouse/internal/redact"
	"rouse/internal/sandbox"
	"rouse/tools"
)

// Exec runs programs for tools, all in one folder and within the same limits.
type Exec struct {
	Runner *proc.Runner
	// Dir is the folder, made on first use.
	Dir string
	// Timeout of one call, unless the call says another one; 0 is no limit.
	Timeout time.Duration
	// MaxOutput is how many bytes one call may write; 0 is no limit.
	MaxOutput int64
	// Box confines the programs; nil lets them do what Rouse can.
	Box *sandbox.Box
}

// Run carries out one call: what c writes, on both streams, is the call's
// output, and the result is OK if its exit code is 0. It is from the hosts that were
// reached. c.Dir is relative to
// Exec's. Exec's limits hold where c has none.
func (e Exec) Run(ctx context.Context, call tools.Call, c proc.Command) tools.Result {
	if err := os.MkdirAll(e.Dir, 0o700); err != nil {
		return tools.Fail("workspace: %v", err)
	}
	dir, err := e.folder(c.Dir)
	if err != nil {
		return tools.Fail("cwd: %v", err)
	}
	ear := e.Box.Listen(dir)
	out := ear.Beside(call.Output)
	c.Dir, c.Stdout, c.Stderr, c.MaxOutput = dir, out, out, e.MaxOutput
	c.Timeout, c.Box = cmp.Or(c.Timeout, e.Timeout), e.Box
	p, err := e.Runner.Start(ctx, c)
	if err != nil {
		return notStarted(err)
	}
	if call.Started != nil {
		call.Started(p.Identity())
	}
	exit := p.Wait()
	if exit.Cause != proc.Exited {
		redact.Cut(call.Output)
	}
	r := result(exit, c)
	r.From = p.Reached()
	met := p.Ended(exit)
	if !r.OK && len(met) == 0 {
		r.Error += ear.Hint()
	}
	r.Refuse(ear.Refusals(!r.OK, p.Refused(), met...))
	return r
}

// folder is a folder of the workspace, which must exist.
func (e Exec) folder(name string) (string, error) {
	if name == "" {
		return e.Dir, nil
	}
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("%q is outside the workspace; use a relative path, or cd in the command", name)
	}
	dir := filepath.Join(e.Dir, name)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("there is no folder %q in the workspace", name)
	}
	return dir, nil
}

func notStarted(err error) tools.Result {
	if errors.Is(err, syscall.E2BIG) {
		return tools.Fail("not started: %v; pass long text by stdin or in a file", err)
	}
	return tools.Fail("not started: %v", err)
}

// result is what a model is told of an exit: five ways to end, five results.
func result(e proc.Exit, c proc.Command) tools.Result {
	r := tools.Result{OK: e.OK() && len(e.Left) == 0, Metadata: map[string]any{
		"duration_ms": e.Duration.Milliseconds(),
		"bytes":       e.Bytes,
		"ended":       string(e.Cause),
	}}
	if e.Signal != "" {
		r.Metadata["signal"] = e.Signal
	} else {
		r.Metadata["exit_code"] = e.Code
	}
	if !r.OK {
		r.Error = e.String() + advice(e, c)
	}
	return r
}

// advice is how to mend it.
func advice(e proc.Exit, c proc.Command) string {
	switch e.Cause {
	case proc.TimedOut:
		return fmt.Sprintf("; the limit was %v and what had been started is gone", c.Timeout)
	case proc.Flooded:
		return fmt.Sprintf("; the limit is %d bytes, write less or into a file", c.MaxOutput)
	}
	return ""
}
