package proc

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Apart starts a program that goes on when this one ends, in a session of its own and with
// the environment as it is given. What it prints goes to a file, which is closed here.
// ended, unless nil, is called at its end, if this one still runs then.
func Apart(c Command, environ []string, out *os.File, ended func(*os.ProcessState)) (pid int, err error) {
	cmd := &exec.Cmd{Path: c.Argv[0], Args: c.Argv, Dir: c.Dir, Env: environ, Stdout: out, Stderr: out, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	defer out.Close()
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	go func() {
		_ = cmd.Wait() // whatever it reports is in ProcessState
		if ended != nil {
			ended(cmd.ProcessState)
		}
	}()
	return cmd.Process.Pid, nil
}
