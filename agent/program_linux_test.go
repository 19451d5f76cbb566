package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rouse/agent/model/modeltest"
	"rouse/internal/disk/disktest"
	"rouse/scratchpad"
)

// programDir is where the program is built, if a test needs it.
var programDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "rouse")
	if err == nil {
		err = os.Chmod(dir, 0o755) // also for a test that runs it as nobody
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programDir = dir
	disktest.Main(m)
	os.RemoveAll(dir)
}

// program builds the program once, and gives its path.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programDir, "rouse")
	cmd := exec.Command("go", "run", "-buildvcs=false", "-exec", "cp", "rouse/cmd/rouse", path) // what is run is kept by Go, linked
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return path, nil
})

// site is a home for the real program. Calls append to the file ledger, which
// is the truth about what ran.
type site struct {
	*rig
	ledger string
}

func newSite(t testing.TB, dir string) *site {
	t.Helper()
	s := &site{newRig(t, dir, oldState), dir + ".ledger"}
	s.must(os.Remove(s.home.Logs())) // to be made again
	return s
}

// command is the program with a model that gives these replies.
func (s *site) command(server *modeltest.Server, args ...string) *exec.Cmd {
	s.t.Helper()
	path, err := program()
	s.must(err)
	cmd := exec.Command(path, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home.Dir, "ROUSE_HOME=" + s.home.Dir, "OPENAI_BASE_URL=" + server.URL()}
	return cmd
}

// run runs the program to its end, and gives its exit code and what it wrote on
// standard error.
func (s *site) run(server *modeltest.Server, args ...string) (int, string) {
	s.t.Helper()
	var stderr bytes.Buffer
	cmd := s.command(server, args...)
	cmd.Stderr = &stderr
	err := cmd.Run()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		s.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stderr.String()
}

// wakeAgain runs a cycle whose model says done, which must go well.
func (s *site) wakeAgain(context string) {
	s.t.Helper()
	server := replying(act("done", `{"summary":"went on"}`))
	defer server.Close()
	if code, text := s.run(server, "run"); code != 0 {
		s.t.Fatalf("%s: the next wake: exit %d: %s", context, code, text)
	}
}

func replying(texts ...string) *modeltest.Server {
	replies := make([]modeltest.Reply, len(texts))
	for i, text := range texts {
		replies[i].Action = json.RawMessage(text)
	}
	return modeltest.New(replies...)
}

// shellReply is a reply that runs a command.
func shellReply(command string) string { return act("shell", fmt.Sprintf(`{"command":%q}`, command)) }

// leftovers lists the living processes that work in the home.
func (s *site) leftovers() (left []string) {
	dirs, err := filepath.Glob("/proc/[0-9]*/cwd")
	s.must(err)
	for _, dir := range dirs {
		if cwd, err := os.Readlink(dir); err == nil && strings.HasPrefix(cwd, s.home.Dir+"/") {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(dir), "cmdline"))
			if len(line) > 0 { // else it is on its way out, and has given its memory back
				left = append(left, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
			}
		}
	}
	return left
}

// checkSettled wants what [rig.checkSettled] wants, and no process left, every
// id once and every journal without a gap.
func (s *site) checkSettled(context string) *scratchpad.State {
	s.t.Helper()
	s.rig.checkSettled(context)
	if left := s.leftovers(); len(left) > 0 {
		s.t.Fatalf("%s: left running: %q", context, left)
	}
	for _, id := range s.cycles() {
		for i, e := range s.events(id) {
			if e.Seq != i+1 || e.Cycle != id {
				s.t.Fatalf("%s: event %d of cycle %s is %+v", context, i+1, id, e.Header)
			}
		}
	}
	return s.state(s.home.Active())
}

// waitUntil polls until ok holds.
func waitUntil(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never happened: %s", what)
		}
	}
}
