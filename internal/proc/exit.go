package proc

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Cause says why a process ended.
type Cause string

// The five ways to end. Not to start is none of them, it is [Runner.Start]'s error.
const (
	Exited   Cause = "exited"   // by itself, with an exit code
	Signaled Cause = "signaled" // by a signal that we did not send
	TimedOut Cause = "timeout"  // by us, at [Command.Timeout]
	Flooded  Cause = "flooded"  // by us, past [Command.MaxOutput]
	Canceled Cause = "canceled" // by us: the context ended, [Process.End], or a writer failed
)

// Exit is how a process ended.
type Exit struct {
	Cause Cause
	// Code is the exit code of a leader that exited, whatever the Cause; -1 if
	// a signal ended it.
	Code int
	// Signal names the signal that ended the leader, such as "SIGKILL"; empty
	// if it exited.
	Signal string
	// Bytes of output were passed on.
	Bytes int64
	// Duration is the time from start to the end of the leader.
	Duration time.Duration
	// Left are the PIDs of descendants that could not be ended, such as those
	// of another user or stuck in the kernel. Mostly none.
	Left []int
	// Err says that a writer failed.
	Err error
}

// OK reports whether the process exited by itself, with code 0.
func (e Exit) OK() bool { return e.Cause == Exited && e.Code == 0 }

// String says in a few words how the process ended.
func (e Exit) String() string {
	s := e.cause()
	if len(e.Left) > 0 {
		s += fmt.Sprintf("; could not end process %s", strings.Trim(fmt.Sprint(e.Left), "[]"))
	}
	return s
}

func (e Exit) cause() string {
	spent := e.Duration.Round(time.Millisecond)
	switch {
	case e.Err != nil:
		return fmt.Sprintf("ended after %v: its output could not be kept: %v", spent, e.Err)
	case e.Cause == TimedOut:
		return fmt.Sprintf("timeout: ended after %v", spent)
	case e.Cause == Flooded:
		return fmt.Sprintf("output limit: ended after %d bytes", e.Bytes)
	case e.Cause == Canceled:
		return fmt.Sprintf("canceled: ended after %v", spent)
	case e.Cause == Signaled:
		return "killed by " + e.Signal + outOfMemory(e.Signal)
	}
	return fmt.Sprintf("exit code %d", e.Code) + fromShell(e.Code)
}

// outOfMemory explains the one signal that the kernel sends without a word.
func outOfMemory(signal string) string {
	if signal != "SIGKILL" {
		return ""
	}
	return ", which Rouse did not send: often the kernel's out-of-memory killer"
}

// fromShell explains the codes by which a shell reports a program that a
// signal ended.
func fromShell(code int) string {
	name := unix.SignalName(syscall.Signal(code - 128))
	if code <= 128 || name == "" {
		return ""
	}
	return " (as a shell reports it: a program was killed by " + name + outOfMemory(name) + ")"
}

// read takes the way in which the leader ended from the kernel's report.
func (e *Exit) read(state *os.ProcessState) {
	e.Cause, e.Code = Exited, state.ExitCode()
	if state == nil {
		return // killed while it was started, and reaped by who traced that
	}
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		e.Cause = Signaled
		if e.Signal = unix.SignalName(w.Signal()); e.Signal == "" {
			e.Signal = fmt.Sprintf("signal %d", int(w.Signal()))
		}
	}
}
