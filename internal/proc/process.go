package proc

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"rouse/internal/sandbox"
)

const (
	defaultGrace = 500 * time.Millisecond
	// killTime is how long after SIGKILL we go on ending a tree before we give
	// up and report what is left. With the grace it makes less than two seconds.
	killTime = 1400 * time.Millisecond
	// sweepTime is the same where no deadline presses.
	sweepTime = 5 * time.Second
)

// Process is a child that was started, and its descendants.
type Process struct {
	runner   *Runner
	number   int
	grace    time.Duration
	cmd      *exec.Cmd
	box      *sandbox.Box
	confined *sandbox.Confined
	group    int // to which signals are sent
	identity Identity
	begun    time.Time
	streams  *streams

	done   chan struct{}
	finish sync.Once
	exit   Exit // set before done is closed

	mu     sync.Mutex
	cause  Cause     // why we end it; empty as long as we do not
	ending time.Time // when we began to end it
	exited bool      // the leader has ended: its PID is no longer ours to signal
}

// Start starts c. An error means that it could not be started and that nothing
// of it is left. The process is ended, with its whole tree, when ctx ends.
func (r *Runner) Start(ctx context.Context, c Command) (*Process, error) {
	r.once.Do(r.prepare)
	if len(c.Argv) == 0 {
		return nil, errors.New("start: no program")
	}
	if err := c.check(ctx); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	p := &Process{runner: r, number: r.number(), grace: c.Grace, box: c.Box, done: make(chan struct{})}
	if p.grace <= 0 {
		p.grace = defaultGrace
	}
	if err := p.start(ctx, c); err != nil {
		r.forget(p.number)
		if p.group > 0 { // it was begun
			r.sweep(killTime)
		}
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	return p, nil
}

func (p *Process) start(ctx context.Context, c Command) error {
	env := p.runner.environ(c, p.number)
	program, err := LookPath(c.Argv[0], Lookup(env, "PATH"))
	if err != nil {
		return err
	}
	p.cmd = &exec.Cmd{Path: program, Args: c.Argv, Env: env, Dir: c.Dir, ExtraFiles: c.ExtraFiles, SysProcAttr: attributes()}
	p.streams = &streams{max: c.MaxOutput, end: p.end}
	if err := p.streams.open(c, p.cmd); err != nil {
		p.streams.abandon()
		return err
	}
	if err := p.confine(c.Box); err != nil {
		p.streams.abandon()
		return err
	}
	started := make(chan error, 1)
	go p.live(ctx, c.Timeout, started)
	return <-started
}

// confine says how the child is started in a box, if there is one.
func (p *Process) confine(b *sandbox.Box) (err error) {
	p.confined = &sandbox.Confined{Child: sandbox.Child{
		Path: p.cmd.Path, Argv: p.cmd.Args, Env: p.cmd.Env, Dir: p.cmd.Dir, Files: p.cmd.ExtraFiles, Attr: p.cmd.SysProcAttr,
	}}
	if b == nil {
		return nil
	}
	if p.confined, err = b.Confine(p.confined.Child); err != nil {
		return err
	}
	c := p.confined.Child
	p.cmd.Path, p.cmd.Args, p.cmd.Env, p.cmd.Dir, p.cmd.ExtraFiles, p.cmd.SysProcAttr = c.Path, c.Argv, c.Env, c.Dir, c.Files, c.Attr
	return nil
}

// live is the life of a process, on one thread from start to end: the kernel
// sends the child SIGKILL when the thread that started it ends, which is to
// mean the end of Rouse and nothing else. The thread would be waiting anyway.
func (p *Process) live(ctx context.Context, timeout time.Duration, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p.begun = time.Now()
	defer func() { p.confined.Forget() }() // when nobody waits any more
	if err := p.launch(); err != nil {
		p.confined.Close()
		p.streams.abandon()
		started <- err
		return
	}
	p.identity = identify(p.cmd.Process.Pid, p.runner.boot)
	p.streams.run()
	started <- nil
	p.await(ctx, timeout)
	state := p.reap()
	p.confined.Close()
	p.close(state)
}

// launch starts the child and confines it as it is to be.
func (p *Process) launch() (err error) {
	if err := p.cmd.Start(); err != nil {
		return err
	}
	pid := p.cmd.Process.Pid
	p.runner.setLeader(p.number, pid)
	if p.group, err = p.confined.Started(pid); err != nil {
		p.group = pid
		p.reap()
		return fmt.Errorf("sandbox: %w", p.confined.Failed(err, p.streams.said()))
	}
	return nil
}

// await returns when the leader has ended, by itself or because we ended it.
// It is not reaped yet, so nobody else can have its PID.
func (p *Process) await(ctx context.Context, timeout time.Duration) {
	stop := context.AfterFunc(ctx, func() { p.end(Canceled) })
	defer stop()
	if timeout > 0 {
		t := time.AfterFunc(timeout, func() { p.end(TimedOut) })
		defer t.Stop()
	}
	awaitExit(p.cmd.Process.Pid)
}

// reap ends the leader's group while the leader's PID still is its own, then
// takes its exit status.
func (p *Process) reap() Exit {
	p.mu.Lock()
	p.exited = true
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	p.mu.Unlock()
	p.runner.reaping.Lock()
	p.cmd.Wait() // whatever it reports is in ProcessState
	p.runner.reaping.Unlock()
	e := Exit{Duration: time.Since(p.begun)}
	e.read(p.cmd.ProcessState)
	return e
}

// close ends what is left of the tree, reads what is left in the pipes, and
// lets Wait return.
func (p *Process) close(e Exit) {
	p.runner.forget(p.number)
	e.Left = p.runner.sweep(p.patience())
	p.streams.finish()
	p.conclude(e)
}

// patience is how long the sweep may take.
func (p *Process) patience() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cause == "" {
		return sweepTime
	}
	return p.grace + killTime - time.Since(p.ending)
}

// conclude lets Wait return e, completed with what we did to the process.
func (p *Process) conclude(e Exit) {
	p.finish.Do(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.cause != "" {
			e.Cause = p.cause
		}
		e.Bytes, e.Err = p.streams.result()
		p.exit = e
		close(p.done)
	})
}

// Identity is who the leader is. It leads its own session.
func (p *Process) Identity() Identity { return p.identity }

// Mark is what the environment of this process and its descendants carries, and
// no other's: for [EndLeftovers].
func (p *Process) Mark() string { return p.runner.markOf(p.number) }

// Refused are the hosts that its sandbox has kept the process from until now, the
// latest last.
func (p *Process) Refused() []string { return p.confined.Refused() }

// Reached are the hosts that it was let through to until now.
func (p *Process) Reached() []string { return p.confined.Reached() }

// Ended says which limits of its sandbox the process met, by how it ended.
func (p *Process) Ended(e Exit) []sandbox.Refusal {
	return append(p.box.Ended(e.Signal, e.Code), p.confined.Met()...)
}

// Wait returns when the whole tree is gone and its output has been passed on.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

// End ends the process early: SIGTERM to its group, SIGKILL to its whole tree
// after the grace. It does not wait.
func (p *Process) End() { p.end(Canceled) }

// Signal sends a signal to the process's group, such as SIGINT to interrupt
// what it does. It does nothing once the leader has ended.
func (p *Process) Signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.exited {
		syscall.Kill(-p.group, s)
	}
}

// end is the ladder. Only the first cause counts. Output past the limit counts
// also when the leader ended before we read it.
func (p *Process) end(cause Cause) {
	p.mu.Lock()
	first := p.cause == "" && (!p.exited || cause == Flooded)
	if first {
		p.cause, p.ending = cause, time.Now()
	}
	p.mu.Unlock()
	if !first {
		return
	}
	p.Signal(syscall.SIGTERM)
	p.Signal(syscall.SIGCONT) // a stopped process takes no SIGTERM
	time.AfterFunc(p.grace, func() {
		p.Signal(syscall.SIGKILL)
		time.AfterFunc(killTime, p.giveUp)
	})
}

// giveUp lets Wait return although the leader does not die: it is stuck in the
// kernel, as on a dead network disk.
func (p *Process) giveUp() {
	p.mu.Lock()
	stuck := !p.exited
	p.mu.Unlock()
	if stuck {
		p.streams.finish()
		p.conclude(Exit{Code: -1, Duration: time.Since(p.begun), Left: []int{p.identity.PID}})
	}
}
