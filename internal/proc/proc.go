// Package proc starts every child process of Rouse and leaves none behind.
//
// A child gets its own session, no terminal, no stdin unless it is given one,
// no inherited file descriptor, and an environment from an allow-list. Its
// output is streamed, never held in memory, and counted. When its leader ends,
// for whatever reason, the whole tree of its descendants is ended too, daemons
// that made their own session included, before [Process.Wait] returns.
//
// How descendants are found: Rouse makes itself the subreaper of its tree, so
// that the kernel hands it every orphan below it (prctl(2),
// PR_SET_CHILD_SUBREAPER), and each child's environment carries a mark that its
// descendants inherit. The same mark lets a later Rouse end what a killed one
// left: see [EndLeftovers]. So does a brand that no descendant sheds by accident.
//
// Linux only. Elsewhere just the process group is ended; [Enforced] says so.
package proc

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"rouse/internal/sandbox"
)

// Runner starts processes and knows which of them live. The zero value is
// ready for use; a Runner must not be copied after the first one is started.
type Runner struct {
	// Mark tells this Runner's processes from all others, so nobody may be able
	// to guess it: one for each cycle, written to the journal before the first
	// child. Letters and digits only. Default: a random one.
	Mark string
	// Env is the environment of every child, as [Environ] makes it. Nothing
	// else of Rouse's own environment reaches a child. Default: empty, which
	// [Command] completes with a PATH.
	Env []string

	once sync.Once
	mark string // Mark, or the random one
	boot string // which boot of the machine this is

	// reaping is held while children are looked over and while one is reaped:
	// a PID that is reaped is no longer ours to kill, and a list of children
	// that shrinks while it is read may skip some.
	reaping sync.Mutex

	mu     sync.Mutex
	last   int         // number of the process that was started last
	living map[int]int // number of each process that lives → PID of its leader, 0 at first
}

// Command says what to start and within which limits.
type Command struct {
	// Argv is the program and its arguments. A program without a slash is
	// looked for in the child's PATH.
	Argv []string
	// Dir is where it starts; empty means where Rouse is.
	Dir string
	// Env is added to the Runner's, and wins.
	Env []string
	// Stdin is fed to the child; nil is the null device, an [*os.File] is
	// handed over as it is. If it is an [io.Closer], though no file, it is
	// closed when the process has ended, so that nobody goes on waiting for it.
	Stdin io.Reader
	// Stdout and Stderr take the output as it comes; nil is the null device. If
	// they are the same writer, both streams share one pipe, in the order in
	// which they were written. A writer that fails ends the child.
	Stdout, Stderr io.Writer
	// ExtraFiles are the child's descriptors 3 and up.
	ExtraFiles []*os.File
	// Timeout ends the child; 0 is no limit.
	Timeout time.Duration
	// MaxOutput is how many bytes of output, both streams together, are passed
	// on; the child that writes more is ended. 0 is no limit.
	MaxOutput int64
	// Grace is the time between SIGTERM and SIGKILL when we end the child;
	// default 500 ms. With no more than that, the whole tree is gone two
	// seconds after its deadline.
	Grace time.Duration
	// Box confines the process and its descendants; nil lets it do what Rouse can.
	Box *sandbox.Box
}

// Run starts c and waits for its end. An error means that it could not be started.
func (r *Runner) Run(ctx context.Context, c Command) (Exit, error) {
	p, err := r.Start(ctx, c)
	if err != nil {
		return Exit{}, err
	}
	return p.Wait(), nil
}

// prepare is done once, before the first child.
func (r *Runner) prepare() {
	r.mark = r.Mark
	if r.mark == "" {
		r.mark = rand.Text()
	}
	r.living = map[int]int{}
	r.boot = Self().Boot
	prepareSystem()
}

// number gives the next process its number. It counts as living from here on,
// before it exists, so that no sweep takes it for an orphan.
func (r *Runner) number() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	r.living[r.last] = 0
	return r.last
}

func (r *Runner) setLeader(number, pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.living[number] = pid
}

func (r *Runner) forget(number int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.living, number)
}

func (r *Runner) lives(number int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.living[number]
	return ok
}

func (r *Runner) leads(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, leader := range r.living {
		if leader == pid {
			return true
		}
	}
	return false
}

// check finds what the kernel would refuse with a vaguer word, or not at all.
func (c Command) check(ctx context.Context) error {
	for i, arg := range c.Argv {
		if strings.ContainsRune(arg, 0) {
			return fmt.Errorf("argument %d contains a NUL character", i)
		}
	}
	if c.Dir != "" {
		if fi, err := os.Stat(c.Dir); err != nil {
			return err
		} else if !fi.IsDir() {
			return fmt.Errorf("%s is not a folder", c.Dir)
		}
	}
	return ctx.Err()
}
