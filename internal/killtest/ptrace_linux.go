//go:build linux && (amd64 || arm64)

package killtest

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Run starts cmd, counts the stops of all its threads, and at the nth kills the
// process with SIGKILL; with n = 0 it only counts. It returns once the process
// has ended. Processes that it starts are not followed, and not killed. Signals
// reach it as ever, except that none makes it halt.
//
// Run sets the process group of cmd, and cmd.Wait has been called when it
// returns; cmd.ProcessState stays nil. Where tracing is not permitted, the error
// is [io/fs.ErrPermission].
func Run(cmd *exec.Cmd, n int, counts Counts) (Result, error) {
	type answer struct {
		r   Result
		err error
	}
	done := make(chan answer)
	go func() { // only the thread that starts a process may trace it
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		r, err := run(cmd, n, counts)
		done <- answer{r, err}
	}()
	a := <-done
	return a.r, a.err
}

func run(cmd *exec.Cmd, n int, counts Counts) (Result, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Ptrace = true
	cmd.SysProcAttr.Setpgid = !cmd.SysProcAttr.Setsid
	if err := cmd.Start(); err != nil {
		return Result{}, fmt.Errorf("start %s traced: %w", cmd.Path, err)
	}
	t := &tracer{pid: cmd.Process.Pid, n: n, counts: counts, threads: make(map[int]*thread)}
	err := t.trace()
	if err != nil {
		syscall.Kill(t.pid, syscall.SIGKILL)
	}
	cmd.Wait() // ends the copying of its output; trace has its status
	return t.result, err
}

type tracer struct {
	pid     int
	n       int
	counts  Counts
	threads map[int]*thread
	result  Result
}

// thread is what we know of a thread between two of its stops: the call that it
// is in or was in last, if that is an effect.
type thread struct{ call string }

const options = unix.PTRACE_O_TRACESYSGOOD | // a system call stops with sysTrap
	unix.PTRACE_O_TRACECLONE | // follow threads; other processes are forks to ptrace
	unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL

const sysTrap = syscall.SIGTRAP | 0x80

// trace follows the process from its first stop, after exec, to its end. A
// process group of its own makes sure that we wait for no other child.
func (t *tracer) trace() error {
	var ws syscall.WaitStatus
	if _, err := wait(t.pid, &ws); err != nil {
		return err
	}
	if !ws.Stopped() {
		return fmt.Errorf("trace: %s ended before its first stop", t)
	}
	if err := syscall.PtraceSetOptions(t.pid, options); err != nil {
		return fmt.Errorf("trace: set options: %w", err)
	}
	t.threads[t.pid] = &thread{}
	t.resume(t.pid, 0)
	for {
		tid, err := wait(-t.pid, &ws)
		switch {
		case err != nil:
			return err
		case ws.Stopped():
			t.resume(tid, t.stopped(tid, ws))
		case tid == t.pid: // the last of its threads
			t.result.Status = ws
			return nil
		default:
			delete(t.threads, tid)
		}
	}
}

func (t *tracer) String() string { return fmt.Sprintf("process %d", t.pid) }

func wait(pid int, ws *syscall.WaitStatus) (int, error) {
	for {
		tid, err := syscall.Wait4(pid, ws, syscall.WALL, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("trace: wait: %w", err)
		}
		return tid, nil
	}
}

// resume lets a thread run to its next stop; one that was just killed is gone.
func (t *tracer) resume(tid int, sig syscall.Signal) { syscall.PtraceSyscall(tid, int(sig)) }

// stopped deals with a stop, and returns the signal to go on with.
func (t *tracer) stopped(tid int, ws syscall.WaitStatus) syscall.Signal {
	sig := ws.StopSignal()
	th, known := t.threads[tid]
	if !known {
		th = &thread{}
		t.threads[tid] = th
	}
	switch {
	case sig == sysTrap:
		t.count(tid, th)
		return 0
	case sig == syscall.SIGTRAP && ws.TrapCause() > 0: // a new thread, or exec
		return 0
	case sig == syscall.SIGSTOP && !known: // the birth of a thread
		return 0
	case halts(sig) && !hasSigInfo(tid): // the whole process halts: go on instead
		return 0
	}
	return sig
}

func halts(sig syscall.Signal) bool {
	return sig == syscall.SIGSTOP || sig == syscall.SIGTSTP || sig == syscall.SIGTTIN || sig == syscall.SIGTTOU
}

// hasSigInfo tells a signal about to be delivered from the halt that follows.
func hasSigInfo(tid int) bool {
	var info unix.Siginfo
	return ptrace(unix.PTRACE_GETSIGINFO, tid, 0, unsafe.Pointer(&info)) == nil
}

// count counts a stop at a system call, and kills at the nth.
func (t *tracer) count(tid int, th *thread) {
	when := "after "
	if t.counts == Effects {
		if info := callInfo(tid); info.op == unix.PTRACE_SYSCALL_INFO_ENTRY {
			*th = thread{call: effect(t.pid, tid, info)}
			when = "before "
		}
		if th.call == "" {
			return
		}
	}
	if t.result.Killed {
		return
	}
	t.result.Stops++
	if t.result.Stops != t.n {
		return
	}
	t.result.Killed = true
	if th.call != "" {
		t.result.At = when + th.call
	}
	syscall.Kill(t.pid, syscall.SIGKILL)
}

func ptrace(request, tid int, addr uintptr, data unsafe.Pointer) error {
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, uintptr(request), uintptr(tid), addr, uintptr(data), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
