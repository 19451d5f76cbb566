package proc

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rouse/internal/sandbox"
)

// TestRestrictMany: fifty at once from one box, none of which leaves a confined
// thread, a descriptor or a zombie behind.
func TestRestrictMany(t *testing.T) {
	s := newSite(t)
	s.policy.Limits = sandbox.Limits{OpenFiles: 50}
	box, r := sandbox.New(s.policy, landlocked(t)), newRunner()
	sh(t, r, "true", Command{Box: box})
	before := len(numbers("/proc/self/fd"))
	var all sync.WaitGroup
	for n := range 50 {
		all.Go(func() {
			var out bytes.Buffer
			e, err := r.Run(t.Context(), Command{Argv: []string{"sh", "-c", `echo $0 $(ulimit -n); cat home/key || exit 3`, fmt.Sprint(n)}, Dir: s.dir, Box: box, Stdout: &out})
			if err != nil || e.Code != 3 || out.String() != fmt.Sprintln(n, 50) {
				t.Errorf("%d: %v, %v: %q", n, e, err, out.String())
			}
		})
	}
	all.Wait()
	eventually(t, "confined threads end", func() bool { return confinedThreads() == 0 })
	eventually(t, "descriptors are closed", func() bool { return len(numbers("/proc/self/fd")) <= before })
}

// confinedThreads counts the threads of this process that a filter restricts.
func confinedThreads() (n int) {
	for _, task := range numbers("/proc/self/task") {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", task))
		if bytes.Contains(status, []byte("\nSeccomp:\t2")) {
			n++
		}
	}
	return n
}

// TestRestrictRefusedStart: a program that a box does not let be read is not
// started, and the thread that tried is gone.
func TestRestrictRefusedStart(t *testing.T) {
	s := newSite(t)
	s.policy.Read = []string{"/usr/lib"}
	_, err := newRunner().Run(t.Context(), Command{Argv: []string{"true"}, Box: sandbox.New(s.policy, landlocked(t))})
	if err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Error(err)
	}
	eventually(t, "confined threads end", func() bool { return confinedThreads() == 0 })
}

// TestRestrictSignals: a restricted process is interrupted, asked to end and ended.
func TestRestrictSignals(t *testing.T) {
	s := newSite(t)
	box := sandbox.New(s.policy, landlocked(t))
	r := newRunner()
	for _, row := range []struct {
		script string
		stop   func(*Process)
		want   string
	}{
		{`trap 'exit 5' INT; : >ready; while :; do sleep 0.01; done`, func(p *Process) { p.Signal(syscall.SIGINT) }, "exit code 5"},
		{`trap 'exit 6' TERM; : >ready; while :; do sleep 0.01; done`, (*Process).End, "canceled"},
		{`trap '' TERM; (setsid sleep 1000 &); : >ready; exec sleep 1000`, (*Process).End, "canceled"},
	} {
		dir := s.at("home/desk/kept")
		os.Remove(filepath.Join(dir, "ready"))
		p, err := r.Start(t.Context(), Command{Argv: []string{"sh", "-c", row.script}, Dir: dir, Box: box, Grace: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		exists(t, dir, "ready")
		row.stop(p)
		if e := p.Wait(); !strings.HasPrefix(e.String(), row.want) {
			t.Errorf("%s: %v", row.script, e)
		}
		if left := inFolder(dir); len(left) > 0 {
			t.Errorf("%s: survivors %v", row.script, left)
		}
	}
}

// TestRestrictSetuid: a program that is root's for everybody is the user's in a box.
func TestRestrictSetuid(t *testing.T) {
	const given = "HELPER_SETUID"
	if os.Getuid() == 0 {
		program := filepath.Join(open(t), "id")
		id, err := exec.LookPath("id")
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("install", "-m", "4755", id, program).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		t.Setenv(given, program)
		asUser(t)
		return
	}
	program := os.Getenv(given)
	if program == "" {
		t.Skip("takes root to make one")
	}
	s := newSite(t)
	if got := sh(t, newRunner(), program+" -u", Command{}); got.out != "0\n" {
		t.Skipf("no setuid programs here: %q", got.out)
	}
	if got := sh(t, newRunner(), program+" -u", Command{Box: sandbox.New(s.policy, landlocked(t))}); got.out == "0\n" || !got.OK() {
		t.Errorf("%v: %q", got.Exit, got.out)
	}
}
