package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"rouse/fleet/store"
	"rouse/internal/clock"
	"rouse/internal/mirror"
	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/setup"
)

// hangs is what a cycle may take beyond its own limit, to begin and to save, and grace what it
// may to save once it is told to end.
const hangs, grace = 5 * time.Minute, 30 * time.Second

// environ is what programs get of the worker's own environment: no key, and no way into
// the fleet; and what of the worker's the home's tools see nothing of.
func (w *Worker) environ() []string {
	w.once.Do(func() {
		w.env = proc.Environ(os.Environ(), setup.HidesVariable+"="+strings.Join(w.hidden(), string(os.PathListSeparator)))
	})
	return w.env
}

func (w *Worker) hidden() []string {
	return slices.DeleteFunc(append(slices.Clone(w.Hides), w.Dir, w.Keys), func(dir string) bool { return dir == "" })
}

// command is rouse with arguments, in the folder.
func (v *visit) command(args ...string) (proc.Command, *text.Ends) {
	out := &text.Ends{Head: 1 << 10, Tail: 3 << 10}
	return proc.Command{Argv: append([]string{v.Rouse}, args...), Dir: v.folder.Dir, Env: v.environ(), Stdout: out, Stderr: out}, out
}

// said is what a program said, as text that can be kept.
func said(out *text.Ends) string {
	head, tail, left := out.Kept()
	all := string(head)
	if left > 0 {
		all += fmt.Sprintf("\n[%d bytes]\n", left)
	}
	return strings.TrimSpace(text.Block(strings.ToValidUTF8(all+string(tail), "?")))
}

// cycle runs the slot that is due. It fails where it could not be run, and when the lease
// ends; how it went is in the home.
func (v *visit) cycle(drain context.Context) error {
	limit, err := v.reserve()
	if err != nil {
		return err
	}
	ours, theirs, err := pair()
	if err != nil {
		return err
	}
	defer theirs.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = mirror.Serve(ours, v.mirror) // what fails ends the cycle, and that says it
		ours.Close()
	}()
	defer func() { ours.Close(); <-served }()
	if err := v.folder.Begin(v.lease); err != nil {
		return err
	}
	c, out := v.command("run", "--due", "--home", v.folder.Dir)
	c.Env, c.ExtraFiles = append(c.Env[:len(c.Env):len(c.Env)], mirror.Variable+"=3"), []*os.File{theirs}
	c.Grace = 1 // when the lease ends nobody waits
	p, err := v.runs.Start(v.ctx, c)
	if err != nil {
		return err
	}
	theirs.Close()
	v.ran = true
	exit := v.await(drain, p, limit)
	if v.ctx.Err() == nil {
		v.tell(exit, said(out))
	}
	return context.Cause(v.ctx)
}

// reserve takes what the cycle may cost out of the limits of the fleet, and says how long it
// may take.
func (v *visit) reserve() (time.Duration, error) {
	s, err := v.open()
	if err != nil {
		return hangs, nil // it says so itself
	}
	l, err := v.Store.Limits(v.ctx)
	if err == nil {
		err = v.Store.Reserve(v.ctx, v.lease, store.Most(s.Config.Limits, l.Each))
	}
	return time.Duration(s.Config.Cycle.Timeout) + hangs, err
}

// await waits for a cycle, which is told to end when the worker is, or it hangs.
func (v *visit) await(drain context.Context, p *proc.Process, limit time.Duration) proc.Exit {
	end := func() {
		p.Signal(syscall.SIGTERM)
		time.AfterFunc(grace, p.End)
	}
	defer context.AfterFunc(drain, end)()
	defer time.AfterFunc(limit, end).Stop()
	return p.Wait()
}

// tell tells what a cycle said that went wrong; what it could not begin with is a problem.
func (v *visit) tell(exit proc.Exit, out string) {
	if out != "" {
		v.log("%s: %s", v.home.Name, text.Line(out, 2000))
	}
	const unusable, awake = 2, 75
	v.stuck = true
	switch {
	case exit.Code == awake:
		v.problem = "somebody runs a cycle in " + v.folder.Dir + " by hand"
	case exit.Code == unusable:
		v.problem = text.Line(out, 500)
	case exit.Code < 0 || exit.Signal != "":
		v.problem = text.Line(fmt.Sprintf("rouse %s: %s", exit, out), 500)
	default:
		v.stuck = false
	}
}

// pair are the two ends of a mirror. Of the first reads end when it is closed.
func pair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	err = unix.SetNonblock(fds[0], true)
	return os.NewFile(uintptr(fds[0]), "mirror"), os.NewFile(uintptr(fds[1]), "cycle"), err
}

// mirror keeps a line in the store. While that cannot be reached the cycle waits, until the
// lease ends.
func (v *visit) mirror(l mirror.Line) error {
	v.heard.Store(true)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		ctx, cancel := context.WithTimeout(v.ctx, v.ttl()/3)
		err := v.Store.Mirror(ctx, v.lease, l)
		cancel()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, store.ErrLost):
			v.lose(err)
		case wait > 500*time.Millisecond && wait < time.Second: // once
			v.log("%s: a line of its cycle waits: %v", v.home.Name, err)
		}
		if !clock.Pause(v.ctx, wait) {
			return context.Cause(v.ctx)
		}
	}
}
