package proc

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestEndLeftoversBranded: a daemon that has shed its environment, its session and
// its open files is ended once the Rouse that started it is dead, and no sooner. A
// stranger that looks the same is not touched.
func TestEndLeftoversBranded(t *testing.T) {
	dir, mark := t.TempDir(), rand.Text()
	stranger := exec.Command("env", "-i", "setsid", "-w", "sleep", "1007")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer stranger.Process.Kill()
	scripts := []string{
		`env -i setsid sh -c 'cd /; exec 0<&- 1>&- 2>&-; setsid sleep 1008 & cd "$0"; : > ready; while [ ! -e kill ]; do sleep 0.01; done; sleep 1009' "$PWD" & sleep 1010`,
		`while [ ! -e kill ]; do sleep 0.01; done; kill -9 $PPID; sleep 1000`,
	}
	helper := exec.Command(os.Args[0], scripts...)
	helper.Env, helper.Dir = append(os.Environ(), "HELPER=crash", "HELPER_MARK="+mark), dir
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	owner := identify(helper.Process.Pid, bootID())
	eventually(t, "the daemon runs", func() bool {
		_, err := os.Stat(filepath.Join(dir, "ready"))
		return err == nil
	})
	if ended, err := EndLeftovers("", nil, owner); len(ended) > 0 || err != nil {
		t.Errorf("while its owner lives: ended %v, %v", ended, err)
	}
	if err := os.WriteFile(dir+"/kill", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := helper.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("helper: %v", err)
	}
	eventually(t, "the shell dies with its parent", func() bool {
		return !strings.Contains(strings.Join(inFolder(dir), " "), "& sleep 1010")
	})
	if ended, err := EndLeftovers(mark, nil, Identity{PID: owner.PID, Start: owner.Start + 1, Boot: owner.Boot}); err != nil || len(inFolder(dir)) == 0 {
		t.Errorf("by another owner: ended %v, %v", ended, err)
	}
	ended, err := EndLeftovers(mark, nil, owner)
	if left := inFolder(dir); err != nil || len(left) > 0 || len(ended) < 2 {
		t.Errorf("ended %v, %v; left %v", ended, err, left)
	}
	if stranger.Process.Signal(syscall.Signal(0)) != nil {
		t.Error("the stranger was ended")
	}
	(&Runner{}).Run(t.Context(), Command{Argv: []string{"true"}}) // reaps them
}
