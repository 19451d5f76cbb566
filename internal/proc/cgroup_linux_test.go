package proc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rouse/internal/sandbox"
)

// TestCgroup: what the processes of a call do together is bounded and told, and nothing
// of its cgroup is left. None of them meets a limit of its own.
func TestCgroup(t *testing.T) {
	s := sandbox.Look()
	s.Bubblewrap = bubblewrap()
	switch {
	case s.Cgroup == nil:
		t.Skip("no cgroup is left to this process: systemd-run --user --pipe --wait -p Delegate='memory pids' -E ROUSE_DELEGATED=1 would")
	case !s.Confines():
		t.Skip("nothing confines a process here")
	}
	box := sandbox.New(sandbox.Policy{Read: []string{"/"}, Network: sandbox.Open, Limits: sandbox.Limits{Memory: 256 << 20, Processes: 64}}, s)
	holds := func(p sandbox.Promise) bool {
		return slices.Contains(box.Holds(), sandbox.Hold{Promise: p, By: "cgroup"})
	}
	if !holds(sandbox.Memory) || !holds(sandbox.Count) {
		t.Fatalf("not by cgroups: %v", box.Holds())
	}
	for script, want := range map[string]string{
		`for i in 1 2 3 4; do { head -c 100000000 /dev/zero; sleep 1000; } | tail -c 100000000 & done; wait`: "limit memory",
		`i=0; while [ $i -lt 100 ]; do sleep 1000 & i=$((i+1)); done; exit 0`:                                "limit processes",
		`setsid sleep 1000 & cat /proc/self/cgroup`:                                                          "",
	} {
		p, err := newRunner().Start(t.Context(), Command{Argv: []string{"sh", "-c", script}, Dir: "/", Box: box})
		if err != nil {
			t.Fatal(err)
		}
		e, got := p.Wait(), ""
		for _, r := range p.Ended(e) {
			got += r.String()
		}
		if got != want || e.OK() != (want == "") || want == "limit memory" && e.Signal != "SIGKILL" {
			t.Errorf("%s: %s, %q", script, e, got)
		}
	}
	own, _ := os.ReadFile("/proc/self/cgroup")
	_, path, _ := strings.Cut(strings.TrimSpace(string(own)), "0::")
	if left, _ := filepath.Glob(filepath.Join("/sys/fs/cgroup", filepath.Dir(path), "call-*")); filepath.Base(path) != "rouse" || len(left) > 0 {
		t.Errorf("in %s are left: %v", path, left)
	}
}
