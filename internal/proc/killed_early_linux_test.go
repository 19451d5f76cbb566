package proc_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"rouse/internal/proc"
	"rouse/internal/sandbox"
)

// closed is the door of a network that nobody enters.
type closed struct{}

func (closed) Refused() []string { return nil }
func (closed) Reached() []string { return nil }
func (closed) Close() error      { return nil }

// A command that is killed while it is held before its exec is taken note of, though who is
// to wait for it cannot: the first process inside would never end, and Rouse wait for it.
func TestKilledBeforeItRuns(t *testing.T) {
	bubblewrap, err := proc.LookPath("bwrap", os.Getenv("PATH"))
	if err != nil {
		t.Skip("bubblewrap is not here")
	}
	system := sandbox.Look()
	system.Bubblewrap = bubblewrap
	const mark = "rouse-killed-before-it-runs"
	killed := 0
	box := sandbox.New(sandbox.Policy{Read: []string{"/"}, Network: sandbox.Listed, Gate: func(sandbox.Listener) (sandbox.Door, error) {
		killed = kill(mark)
		return closed{}, nil
	}}, system)
	began := time.Now()
	run := &proc.Runner{Env: os.Environ()}
	exit, err := run.Run(t.Context(), proc.Command{Argv: []string{"sleep", "0." + mark}, Box: box, Dir: "/"})
	if killed == 0 {
		t.Skipf("bubblewrap does not work here: %v", err)
	}
	if err == nil && exit.OK() || time.Since(began) > 25*time.Second {
		t.Errorf("%v after %v: %v", exit, time.Since(began), err)
	}
}

// kill kills the processes that were told mark, and waits until they are dead.
func kill(mark string) (n int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, _ := os.ReadFile(file)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if bytes.Count(line, []byte{0}) != 2 || !bytes.Contains(line, []byte(mark)) || syscall.Kill(pid, syscall.SIGKILL) != nil {
			continue
		}
		n++
		for stat := []byte{}; !bytes.Contains(stat, []byte(") Z ")); {
			stat, _ = os.ReadFile(filepath.Join(filepath.Dir(file), "stat"))
		}
	}
	return n
}
