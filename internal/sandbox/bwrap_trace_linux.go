package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long bubblewrap may take: a mount may hang.
const patience = 30 * time.Second

// traced are the options for bubblewrap's processes: they tell of each other, and the
// kernel ends them with Rouse before they have asked for that themselves.
const traced = unix.PTRACE_O_EXITKILL | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEEXEC

// trace follows the start of one sandbox: bubblewrap's monitor starts the first
// process inside, and that the command, which is held before its exec.
type trace struct {
	monitor, inner, command int

	mu   sync.Mutex
	late bool
}

// accompany goes with bubblewrap from its exec to that of the command, which is limited
// in between, while describe tells it what to make: without all of that there is no
// command. The first process inside is left when it dies with the monitor. The
// command's signals go to the group of that process, which is the command's too and
// which minds none of them but SIGKILL: that ends all that is inside.
func (b *Box) accompany(c *Confined, pid int, describe func() error) (group int, err error) {
	t := &trace{monitor: pid}
	timer := time.AfterFunc(patience, t.expire)
	defer timer.Stop()
	told := make(chan error, 1)
	go func() { told <- describe() }()
	err = t.enter()
	if wrong := <-told; wrong != nil {
		err = wrong
	}
	if err == nil {
		err = b.let(t, c)
	}
	if err != nil {
		err = errors.Join(err, t.abandon())
	}
	return t.inner, err
}

// let lets the command go, limited, once it is itself, and opens the gate of a listed
// network for it.
func (b *Box) let(t *trace, c *Confined) (err error) {
	if err := b.bounded(t.command); err != nil {
		return err
	}
	if err := t.become(); err != nil {
		return err
	}
	if b.policy.Network == Listed && b.policy.Gate != nil {
		if c.door, err = b.open(t.command); err != nil {
			return err
		}
	}
	c.mounts, _ = os.Open("/proc/" + strconv.Itoa(t.command) + "/ns/mnt")
	if err := unix.PtraceDetach(t.command); err != nil { // it was killed, of which we alone can take note: see abandon
		return fmt.Errorf("%w: %w", errNotRun, err)
	}
	return leave(t.inner)
}

// open has the gate served for a command that is about to begin.
func (b *Box) open(command int) (Door, error) {
	if err := unix.PtraceSyscall(command, 0); err != nil { // to the end of its exec
		return nil, fmt.Errorf("%w: %w", ErrBubblewrap, err)
	}
	if _, err := await(command); err != nil {
		return nil, err
	}
	listener, err := listen(command)
	if err != nil {
		return nil, err
	}
	return b.policy.Gate(listener)
}

// enter goes on until the command is there.
func (t *trace) enter() error {
	if _, err := await(t.monitor); err != nil {
		return err
	}
	if err := unix.PtraceSetOptions(t.monitor, traced); err != nil {
		return fmt.Errorf("trace bubblewrap: %w", err)
	}
	inner, err := forked(t.monitor)
	if err != nil {
		return err
	}
	t.set(&t.inner, inner)
	if err := detach(t.monitor); err != nil {
		return err
	}
	if _, err := await(t.inner); err != nil {
		return err
	}
	if t.command, err = forked(t.inner); err != nil {
		return err
	}
	if err := shield(t.inner); err != nil {
		return err
	}
	if err := unix.PtraceCont(t.inner, 0); err != nil {
		return fmt.Errorf("%w: %w", ErrBubblewrap, err)
	}
	_, err = await(t.command)
	return err
}

// shield closes the first process inside to the command, which was just started and does
// nothing yet: it is the same user's, and could have it take back its wish to die with
// the monitor, by ptrace(2) or /proc/1/mem, and so outlive Rouse.
func shield(pid int) error {
	if auditArch == 0 {
		return nil
	}
	if err := unix.PtraceSyscall(pid, 0); err != nil { // to the end of the call that started it
		return fmt.Errorf("%w: %w", ErrBubblewrap, err)
	}
	if _, err := await(pid); err != nil {
		return err
	}
	return repeat(pid, unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0)
}

// become lets the command go on until it is itself.
func (t *trace) become() error {
	if err := goOn(t.command, func(s unix.WaitStatus) bool { return s.TrapCause() == unix.PTRACE_EVENT_EXEC }); err != nil {
		return fmt.Errorf("%w: %w", errNotRun, err)
	}
	return nil
}

// forked lets a process go on until it has started another, and gives that one's PID.
func forked(pid int) (int, error) {
	err := goOn(pid, func(s unix.WaitStatus) bool { return s.TrapCause() == unix.PTRACE_EVENT_FORK })
	if err != nil {
		return 0, err
	}
	child, err := unix.PtraceGetEventMsg(pid)
	return int(child), err
}

// goOn lets a process go on until it stops as it is waited for.
func goOn(pid int, here func(unix.WaitStatus) bool) error {
	for signal := 0; ; {
		if err := unix.PtraceCont(pid, signal); err != nil {
			return fmt.Errorf("%w: %w", ErrBubblewrap, err)
		}
		s, err := await(pid)
		if err != nil || here(s) {
			return err
		}
		signal = int(s.StopSignal())
	}
}

// await waits until a process stops. That it ends is an error, and is left to be known.
func await(pid int) (s unix.WaitStatus, err error) {
	var info unix.Siginfo
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT|unix.WALL, nil)
	}
	if err != nil {
		return s, fmt.Errorf("await bubblewrap: %w", err)
	}
	if trapped, stopped := int32(4), int32(5); info.Code != trapped && info.Code != stopped { // see sigaction(2), CLD_TRAPPED
		return s, ErrBubblewrap
	}
	_, err = unix.Wait4(pid, &s, unix.WALL, nil)
	return s, err
}

// leave leaves the first process inside once it waits for the others, and so has asked
// the kernel to end it with the monitor. The signal, which is never delivered, is there
// to stop it: only then can it be left. It may have ended already, and been reaped.
func leave(pid int) error {
	for pause := 20 * time.Microsecond; !sleeps(pid); pause = min(2*pause, time.Millisecond) {
		time.Sleep(pause)
		_ = unix.PtraceCont(pid, 0) // if a signal to the command's group has stopped it
	}
	syscall.Kill(pid, syscall.SIGWINCH)
	if _, err := await(pid); err != nil && !errors.Is(err, ErrBubblewrap) && !errors.Is(err, unix.ECHILD) {
		return err
	}
	return detach(pid)
}

// sleeps says whether a process waits, or is gone.
func sleeps(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	return err != nil || ok && len(state) > 0 && (state[0] == 'S' || state[0] == 'Z' || state[0] == 'X')
}

func (t *trace) set(field *int, pid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*field = pid
}

// expire ends what takes too long, so that whoever waits for it goes on.
func (t *trace) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.late = true
	t.kill()
}

func (t *trace) kill() {
	syscall.Kill(t.monitor, syscall.SIGKILL)
	if t.inner > 0 {
		syscall.Kill(t.inner, syscall.SIGKILL)
	}
}

// abandon ends what was started, all but the monitor's last moment, which its parent
// awaits. Who traces has to take note of each end, else it never is one.
func (t *trace) abandon() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kill()
	for _, pid := range []int{t.command, t.inner} {
		var s unix.WaitStatus
		for pid > 0 {
			if _, err := unix.Wait4(pid, &s, unix.WALL, nil); err != nil && err != unix.EINTR || s.Exited() || s.Signaled() {
				break
			}
		}
	}
	if t.late {
		return fmt.Errorf("it took more than %v", patience)
	}
	return nil
}
