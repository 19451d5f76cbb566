package proc

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestEndLeftovers: a Rouse is killed while tools run; a later one finds all
// that is left of them by mark or by identity, and ends it.
func TestEndLeftovers(t *testing.T) {
	inSession := []string{ // needs the identity
		`env -i sh -c 'sleep 1000 & sleep 1001' & : > ready0; sleep 1002`,
	}
	either := []string{
		`sleep 1000 & sleep 1001 & : > ready1; sleep 1002`,
		`b() { [ $1 -gt 0 ] && { b $(($1-1)) & b $(($1-1)) & }; sleep 1000; }; : > ready2; b 5`,
		`trap '' TERM INT HUP; : > ready3; while :; do sleep 1000; done`,
	}
	daemons := []string{ // needs the mark
		`(setsid sleep 1000 &) ; setsid sh -c 'sleep 1001 & env -i setsid sleep 1002 & wait' & : > ready4; sleep 1003`,
	}
	for by, scripts := range map[string][]string{
		"mark":     slices.Concat(either, daemons),
		"identity": slices.Concat(inSession, either),
		"both":     slices.Concat(inSession, either, daemons),
	} {
		dir, mark := t.TempDir(), rand.Text()
		kill := `while [ ! -e kill ]; do sleep 0.01; done; kill -9 $PPID; sleep 1000` // a tool kills its parent
		helper := exec.Command(os.Args[0], append(scripts, kill)...)
		helper.Env = append(os.Environ(), "HELPER=crash", "HELPER_MARK="+mark)
		helper.Dir = dir
		out, err := helper.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := helper.Start(); err != nil {
			t.Fatal(err)
		}
		var ids []Identity
		if err := json.NewDecoder(out).Decode(&ids); err != nil {
			t.Fatal(err)
		}
		eventually(t, "all run", func() bool {
			ready, _ := filepath.Glob(dir + "/ready*")
			return len(ready) == len(scripts)
		})
		if err := os.WriteFile(dir+"/kill", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := helper.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("helper: %v", err)
		}
		before := inFolder(dir)
		switch by {
		case "mark":
			ids = nil
		case "identity":
			mark = ""
		}
		ended, err := EndLeftovers(mark, ids, Identity{})
		if left := inFolder(dir); err != nil || len(left) > 0 || len(ended) == 0 {
			t.Errorf("%s: ended %v, %v; left %v", by, ended, err, left)
		}
		t.Logf("by %s: %d were left, 0 survive", by, len(before))
		if again, err := EndLeftovers(mark, ids, Identity{}); len(again) > 0 || err != nil {
			t.Errorf("%s: a second time: %v, %v", by, again, err)
		}
	}
	(&Runner{}).Run(t.Context(), Command{Argv: []string{"true"}}) // reaps them
}

// TestInnocentIsSpared: a process that got the PID or session of one that was
// recorded is not touched.
func TestInnocentIsSpared(t *testing.T) {
	c := exec.Command("sh", "-c", `sleep 1000 & echo; wait`)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.Env = []string{"ROUSE_CHILD=other.1/mark.2x", "X=ROUSE_CHILD=mark.1"}
	c.Dir = t.TempDir()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { syscall.Kill(-c.Process.Pid, syscall.SIGKILL); c.Wait() }()
	out.Read(make([]byte, 1))
	real := identify(c.Process.Pid, bootID())
	earlier, rebooted, unknown := real, real, real
	earlier.Start--
	rebooted.Boot = "another"
	unknown.Start = 0
	for name, id := range map[string]Identity{"an earlier process": earlier, "before a reboot": rebooted, "start not known": unknown} {
		ended, err := EndLeftovers("mark", []Identity{id}, Identity{})
		if len(ended) > 0 || err != nil || !real.Alive() || len(inFolder(c.Dir)) != 2 {
			t.Errorf("%s: ended %v, %v", name, ended, err)
		}
		if id.Alive() {
			t.Errorf("%s: %+v is alive", name, id)
		}
	}
	if ended, err := EndLeftovers("", []Identity{real}, Identity{}); len(ended) != 2 || err != nil {
		t.Errorf("the real one: ended %v, %v, want 2", ended, err)
	}
}

// TestSelfIsSpared: a Rouse that a tool of the killed one had started settles
// and ends neither itself nor the shell above it.
func TestSelfIsSpared(t *testing.T) {
	mark := rand.Text()
	sibling := exec.Command("sleep", "1000")
	settle := exec.Command("sh", "-c", os.Args[0]+"; echo shell lives")
	settle.Env = append(os.Environ(), "HELPER=settle", "HELPER_MARK="+mark, "ROUSE_CHILD="+mark+".1")
	sibling.Env = settle.Env
	if err := sibling.Start(); err != nil {
		t.Fatal(err)
	}
	out, err := settle.Output()
	if want := fmt.Sprintf("[%d] <nil>\nshell lives\n", sibling.Process.Pid); err != nil || string(out) != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
	sibling.Process.Kill()
	sibling.Wait()
}

func TestSelf(t *testing.T) {
	self := Self()
	if self.PID != os.Getpid() || self.Start == 0 || self.Boot == "" || !self.Alive() {
		t.Errorf("got %+v", self)
	}
}

func TestEnforced(t *testing.T) {
	for _, g := range Enforced() {
		if !g.Enforced || g.Detail != "" {
			t.Errorf("not enforced on Linux: %+v", g)
		}
	}
}

func TestNumberIn(t *testing.T) {
	for _, row := range []struct {
		marks string
		want  int
	}{
		{"", 0}, {"m.1", 1}, {"m.12", 12}, {"x.3/m.2", 2}, {"m.2/x.3", 2}, {"xm.1", 0}, {"m", 0}, {"m.", 0}, {"m.x", 0}, {"m.2x", 0}, {"mm.1", 0},
	} {
		if got := numberIn(row.marks, "m"); got != row.want {
			t.Errorf("%q: got %d, want %d", row.marks, got, row.want)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	b, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, "sh")
	f.Add(b, "a) R 1 2 (b")
	f.Fuzz(func(t *testing.T, b []byte, name string) {
		parseStat(1, b)
		line := slices.Concat([]byte("7 ("), []byte(name), []byte(") S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"))
		want := stat{pid: 7, state: 'S', parent: 1, group: 2, session: 3, start: 19}
		if got, ok := parseStat(7, line); !ok || got != want {
			t.Errorf("%q: got %+v, %v", line, got, ok)
		}
		if _, ok := parseStat(7, bytes.ReplaceAll(line, []byte(" 19 "), []byte(" x "))); ok && !strings.Contains(name, ")") && !strings.Contains(name, " 19 ") {
			t.Errorf("%q: no start time, but parsed", line)
		}
	})
}
