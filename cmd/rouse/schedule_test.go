package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rouse/agent/model/modeltest"
	"rouse/agent/schedule"
	"rouse/home"
	"rouse/journal"
	"rouse/setup"
)

// safe is a buffer for several goroutines.
type safe struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safe) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// until waits for something.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for range int(patience / (2 * time.Millisecond)) {
		if ok() {
			return
		}
		<-tick.C
	}
	t.Fatalf("%s does not come", what)
}

// ends counts how the home's slots ended.
func ends(t *testing.T, dir string) map[schedule.Status]int {
	t.Helper()
	n := map[schedule.Status]int{}
	slots, err := setup.Ledger(home.Home{Dir: dir}, time.Now).Slots()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range slots {
		n[r.Status] += r.N()
	}
	return n
}

// awake waits until a cycle of the home asks the model for the nth time, and gives its process.
func awake(t *testing.T, dir string, server *modeltest.Server, n int) (pid int) {
	t.Helper()
	until(t, "a request", func() bool { return len(server.Requests()) >= n })
	ids, err := home.Home{Dir: dir}.Cycles(1)
	if err != nil || len(ids) == 0 {
		t.Fatal(ids, err)
	}
	for e, err := range journal.Read(home.Home{Dir: dir}.Journal(ids[0])) {
		if err != nil {
			t.Fatal(err)
		}
		return e.Data.(*journal.Wake).Owner.PID
	}
	t.Fatal("the journal is empty")
	return 0
}

// Of the children of rouse schedule one hangs and one is killed. The first is
// ended, and can save its memory; the second leaves a slot whose end is unknown. The
// home is woken again, and so is another one that had to wait for a place.
func TestScheduleChildren(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	sick, well := filepath.Join(root, "sick"), filepath.Join(root, "well")
	stall := modeltest.Reply{Stall: true}
	done := done()
	done.Repeat = true
	server := modeltest.New(stall, stall, done)
	t.Cleanup(server.Close)
	for home, model := range map[string]string{sick: "{base_url: " + server.URL() + "}", well: "{provider: offline}"} {
		r := &rig{t: t, home: home}
		r.write("rules.md", "You are Rouse.\n")
		r.write("scratchpad/active.yaml", "goals: [look]\n")
		r.write("rouse.yaml", "model: "+model+"\ncycle: {timeout: 6s}\nschedule: '@every 1s'\n")
	}
	program, err := exec.LookPath("rouse")
	if err != nil {
		t.Fatal(err)
	}
	said := &safe{}
	w := &setup.Waker{
		Process: setup.Process{Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, noRest}, Now: time.Now},
		Program: program, Say: func(dir, text string) { fmt.Fprintln(said, dir, text) }, Hangs: time.Second, Grace: 100 * time.Millisecond,
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.Scheduler([]string{root}, 1).Run(ctx) }()

	stopped := awake(t, sick, server, 1)
	if err := syscall.Kill(stopped, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began, others := time.Now(), ends(t, well)[schedule.Ran]
	until(t, "the end of the hung child", func() bool { return syscall.Kill(stopped, 0) != nil })
	hung := time.Since(began)
	until(t, "a cycle of the other home", func() bool { return ends(t, well)[schedule.Ran] > others })
	killed, lost := awake(t, sick, server, 2), ends(t, sick)[schedule.Unknown] // the hung one may be among them
	if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "a cycle after both", func() bool {
		n := ends(t, sick)
		return n[schedule.Unknown] == lost+1 && n[schedule.Ran]+n[schedule.Late] > 1
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !strings.Contains(said.String(), "the cycle hung and was ended after 7s") {
		t.Errorf("said %s", said)
	}
	t.Logf("a hung child was ended after %s, %v; the killed one was followed at once: slots of the home %v, of the other %v",
		hung.Round(time.Millisecond), 7*time.Second, ends(t, sick), ends(t, well))
}

// Promise: told to end again and again, as by systemd and by the Rouse that started it, a
// cycle saves all the same.
func TestToldTwice(t *testing.T) {
	r := newRig(t)
	server := r.serve(modeltest.Reply{Stall: true})
	r.write("scratchpad/active.yaml", "goals: [look]\n")
	cmd, cancel := r.command("run")
	defer cancel()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awake(t, r.home, server, 1)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(100 * time.Microsecond)
	defer tick.Stop()
	for gone := false; !gone; {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
			gone = true
		case <-tick.C:
		}
	}
	if code := cmd.ProcessState.ExitCode(); code != 143 || len(r.glob("scratchpad/*_after.yaml")) != 1 {
		t.Errorf("exit code %d, %v", code, r.glob("scratchpad/*"))
	}
}
