package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"rouse/internal/proc"
)

// A process that only a forged line names is nobody's to end; what carries the
// mark of the cycle is found all the same.
func TestForgedStartedEndsNobody(t *testing.T) {
	r, id, lines := interrupted(t)
	other, ours := sleeper(t, nil), sleeper(t, append(os.Environ(), "ROUSE_CHILD=mark of TestForgedStarted.1"))
	lines[0] = strings.Replace(lines[0], `"mark":"mark"`, `"mark":"mark of TestForgedStarted"`, 1)
	forged := append(lines, fmt.Sprintf(`{"v":1,"seq":99,"time":"2026-04-01T15:01:54.203+02:00","cycle":%q,"event":"started","step":3,"process":%s}`+"\n",
		id, identity(t, other.Process.Pid)))
	r.must(os.WriteFile(r.home.Journal(id), []byte(strings.Join(forged, "")), 0o600))
	r.wakeAgain("a forged started")
	if dead(t, other.Process.Pid) {
		t.Error("the process that a forged line named was ended")
	}
	if !dead(t, ours.Process.Pid) {
		t.Error("what carries the mark was not ended")
	}
}

func sleeper(t *testing.T, env []string) *exec.Cmd {
	t.Helper()
	c := exec.Command("sleep", "300")
	c.Env, c.SysProcAttr = env, &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return c
}

// stat are the fields of /proc/PID/stat from the third on.
func stat(t *testing.T, pid int) []string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}

func dead(t *testing.T, pid int) bool { return stat(t, pid)[0] == "Z" }

func identity(t *testing.T, pid int) []byte {
	t.Helper()
	start, err := strconv.ParseUint(stat(t, pid)[19], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	i := proc.Self()
	i.PID, i.Session, i.Start = pid, pid, start
	text, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
