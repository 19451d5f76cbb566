package proc

import (
	"errors"
	"os/exec"
	"testing"
	"time"
)

func TestExitString(t *testing.T) {
	for _, row := range []struct {
		exit Exit
		want string
	}{
		{Exit{Cause: Exited}, "exit code 0"},
		{Exit{Cause: Exited, Code: 2}, "exit code 2"},
		{Exit{Cause: Exited, Code: 143}, "exit code 143 (as a shell reports it: a program was killed by SIGTERM)"},
		{Exit{Cause: Exited, Code: 255}, "exit code 255"},
		{Exit{Cause: Signaled, Signal: "SIGSEGV"}, "killed by SIGSEGV"},
		{Exit{Cause: Signaled, Signal: "SIGKILL"}, "killed by SIGKILL, which Rouse did not send: often the kernel's out-of-memory killer"},
		{Exit{Cause: TimedOut, Signal: "SIGKILL", Duration: 1500400 * time.Microsecond}, "timeout: ended after 1.5s"},
		{Exit{Cause: Flooded, Bytes: 7}, "output limit: ended after 7 bytes"},
		{Exit{Cause: Canceled, Duration: time.Second}, "canceled: ended after 1s"},
		{Exit{Cause: Canceled, Duration: time.Second, Err: errors.New("disk full")}, "ended after 1s: its output could not be kept: disk full"},
		{Exit{Cause: TimedOut, Duration: time.Second, Left: []int{7, 8}}, "timeout: ended after 1s; could not end process 7 8"},
	} {
		if got := row.exit.String(); got != row.want {
			t.Errorf("got %q, want %q", got, row.want)
		}
	}
}

func TestNamelessSignal(t *testing.T) {
	c := exec.Command("sh", "-c", "kill -40 $$")
	c.Run()
	var e Exit
	if e.read(c.ProcessState); e.Signal != "signal 40" || e.Cause != Signaled {
		t.Errorf("got %+v", e)
	}
	if e.read(nil); e.OK() {
		t.Errorf("nothing is known of it: got %+v", e)
	}
}
