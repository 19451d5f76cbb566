package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rouse/agent/model/modeltest"
	"rouse/home"
	"rouse/internal/sweep"
	"rouse/journal"
)

// starts is how many there are at once.
var starts = sweep.Of(20, 50, 50)

// Of many starts at once one runs; the others exit with 75 and touch nothing.
// When the one is killed, the next start runs at once.
func TestParallelStarts(t *testing.T) {
	rounds := sweep.Of(1, 3, 200)
	for round := range rounds {
		s := newSite(t, filepath.Join(t.TempDir(), "home"))
		server := modeltest.New(modeltest.Reply{Stall: true, Repeat: true})
		kill := s.race(t, server)
		if got := s.files(); len(got) != 8 || s.active() != oldState { // journal, log, active.yaml, _before, version, logs/retention, made, journal.key
			t.Fatalf("round %d: files %q", round, got)
		}
		if n := len(server.Requests()); n != 1 {
			t.Fatalf("round %d: %d cycles asked the model", round, n)
		}
		kill()
		server.Close()
		s.wakeAgain("after the holder was killed")
		s.checkSettled("after the holder was killed")
	}
	t.Logf("double runs 0, stuck 0 / %d rounds of %d starts", rounds, starts)
}

// race starts the program many times, waits for all but one to exit with 75, and
// gives a function that kills the one that goes on.
func (s *site) race(t *testing.T, server *modeltest.Server) (kill func()) {
	t.Helper()
	type ended struct {
		cmd  *exec.Cmd
		text string
	}
	ends := make(chan ended, starts)
	living := map[*exec.Cmd]bool{}
	for range starts {
		cmd, stderr := s.command(server, "run"), new(strings.Builder)
		cmd.Stderr = stderr
		s.must(cmd.Start())
		living[cmd] = true
		go func() {
			cmd.Wait()
			ends <- ended{cmd, stderr.String()}
		}()
	}
	for range starts - 1 {
		e := <-ends
		if code := e.cmd.ProcessState.ExitCode(); code != 75 || e.text != "rouse: another cycle is awake\n" {
			t.Fatalf("exit %d: %s", code, e.text)
		}
		delete(living, e.cmd)
	}
	waitUntil(t, "a request", func() bool { return len(server.Requests()) > 0 })
	return func() {
		for cmd := range living {
			s.must(cmd.Process.Kill())
			<-ends
		}
	}
}

// files lists the files of the memory and the logs.
func (s *site) files() (names []string) {
	for _, dir := range []string{s.home.Memory(), s.home.Logs()} {
		found, err := filepath.Glob(filepath.Join(dir, "*"))
		s.must(err)
		names = append(names, found...)
	}
	return names
}

// Of many starts at once, with cycles that end at once, no two overlap.
func TestCyclesDoNotOverlap(t *testing.T) {
	s := newSite(t, filepath.Join(t.TempDir(), "home"))
	server := modeltest.New(modeltest.Reply{Action: json.RawMessage(act("done", `{"summary":"seen"}`)), Repeat: true})
	defer server.Close()
	var all []*exec.Cmd
	for range starts {
		cmd := s.command(server, "run")
		s.must(cmd.Start())
		all = append(all, cmd)
	}
	ran := map[int]int{}
	for _, cmd := range all {
		cmd.Wait() // how it ended is in its state
		ran[cmd.ProcessState.ExitCode()]++
	}
	s.checkSettled("all have ended")
	ids := s.cycles()
	if ran[0] != len(ids) || ran[0]+ran[75] != starts || ran[0] == 0 {
		t.Errorf("exits %v, cycles %q", ran, ids)
	}
	for i := 1; i < len(ids); i++ {
		before, after := s.events(ids[i-1]), s.events(ids[i])
		if end := before[len(before)-1].Time; after[0].Time.Before(end) {
			t.Errorf("cycle %s began before %s had ended", ids[i], ids[i-1])
		}
		if s.state(s.home.Before(ids[i])).LastUpdated() == "" {
			t.Errorf("cycle %s did not see what %s saved", ids[i], ids[i-1])
		}
	}
	t.Logf("%d of %d starts ran, one after the other", ran[0], starts)
}

// A daemon that escapes the program, as one does that clears its environment
// before its cycle is killed, does not hold the lock.
func TestDaemonDoesNotInheritTheLock(t *testing.T) {
	s := newSite(t, filepath.Join(t.TempDir(), "home"))
	pidFile := s.ledger + ".pid"
	server := replying(shellReply("setsid env -i sh -c 'cd /; echo $$ > " + pidFile + ".new; mv " + pidFile + ".new " + pidFile + "; exec sleep 300' & sleep 300"))
	defer server.Close()
	cmd := s.command(server, "run")
	s.must(cmd.Start())
	waitUntil(t, "the daemon", func() bool { return s.read(pidFile) != "" })
	s.must(cmd.Process.Kill())
	cmd.Wait() // it was killed
	var pid int
	_, err := fmt.Sscan(s.read(pidFile), &pid)
	s.must(err)
	defer syscall.Kill(pid, syscall.SIGKILL)
	s.must(syscall.Kill(pid, 0)) // it lives
	s.wakeAgain("with a daemon left")
	s.checkSettled("with a daemon left")
}

// A home that cannot be written is said in one line that names the file.
func TestHomeThatCannotBeWritten(t *testing.T) {
	tests := []struct {
		dir, want string
		mode      os.FileMode
	}{
		{"logs", "logs/.journal.key", 0o555},
		{"scratchpad", "scratchpad/", 0o555},
		{"scratchpad", "lock scratchpad", 0o000},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		s := newSite(t, filepath.Join(dir, "home"))
		s.must(os.MkdirAll(s.home.Logs(), 0o700))
		s.readable(dir)
		s.must(os.Chmod(filepath.Join(s.home.Dir, tt.dir), tt.mode))
		server := replying(act("done", `{"summary":"seen"}`))
		defer server.Close()
		cmd := s.command(server, "run")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if os.Getuid() == 0 { // whom no permission stops
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		err := cmd.Run()
		s.must(os.Chmod(filepath.Join(s.home.Dir, tt.dir), 0o700))
		text := stderr.String()
		if cmd.ProcessState.ExitCode() != 1 || strings.Count(text, "\n") != 1 || !strings.Contains(text, tt.want) || !strings.Contains(text, "permission denied") {
			t.Errorf("%s %v: %v: %s", tt.dir, tt.mode, err, text)
		}
		if len(server.Requests()) > 0 || s.active() != oldState {
			t.Errorf("%s %v: the cycle ran", tt.dir, tt.mode)
		}
		s.wakeAgain(tt.dir)
	}
}

// readable gives the home to nobody, if the test is root.
func (s *site) readable(dir string) {
	if os.Getuid() != 0 {
		return
	}
	s.must(os.Chmod(dir, 0o755))
	s.must(os.Chmod(filepath.Dir(dir), 0o755))
	s.must(filepath.Walk(s.home.Dir, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, 65534, 65534)
	}))
}

// The lock is the folder of the memory, so a second agent in the same process is
// kept out too, and a reset.
func TestAwake(t *testing.T) {
	r := newRig(t, "", oldState)
	a, m := r.agent(nil, act("done", `{"summary":"seen"}`))
	b, _ := r.agent(nil, act("done", `{"summary":"seen"}`))
	m.during = func(int) {
		if _, err := b.RunOnce(t.Context()); err != home.ErrAwake {
			t.Errorf("a second cycle: %v", err)
		}
		if _, err := b.Reset(true); err != home.ErrAwake {
			t.Errorf("a reset: %v", err)
		}
	}
	if report, err := a.RunOnce(t.Context()); err != nil || report.Outcome != journal.Done {
		t.Errorf("%+v, %v", report, err)
	}
	if n := len(r.cycles()); n != 1 {
		t.Errorf("%d cycles", n)
	}
}
