package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What root does in the home of somebody else locks them out of nothing; and root
// gives away nothing that is elsewhere, or was root's before.
func TestRootInAnothersHome(t *testing.T) {
	r := newRig(t)
	r.write("rouse.yaml", "model: {provider: offline}\nschedule: '@every 1s'\n")
	r.write("scratchpad/active.yaml", "goals: []\npending_actions:\n  - shell command=\"mkdir made; echo hi >made/file\"\n  - echo message=two\n")
	r.asNobody()
	user := r.user
	mine, beside := filepath.Join(filepath.Dir(r.home), "mine"), filepath.Join(filepath.Dir(r.home), "beside")
	err := errors.Join(os.MkdirAll(filepath.Join(beside, "below"), 0o755),
		os.Chown(r.path("rules.md"), 0, 0), os.Chmod(r.path("rules.md"), 0o644), os.WriteFile(mine, []byte("root's\n"), 0o600),
		os.Symlink(mine, r.path("scratchpad/link")), os.Symlink(beside, r.path("notebooks")), os.Link(mine, r.path("scratchpad/hard")),
	)
	if err != nil {
		t.Fatal(err)
	}
	r.user = nil
	time.Sleep(20 * time.Millisecond) // what was root's before is told by the times of files, which have ticks
	for _, args := range [][]string{{"run"}, {"run", "--due"}, {"pause"}, {"resume"}, {"doctor"}} {
		if o := r.rouse(args...); o.code != 0 {
			t.Fatalf("%q as root: %+v", args, o)
		}
	}
	kept := []string{"rules.md", "scratchpad/link", "scratchpad/hard", "notebooks"}
	err = filepath.WalkDir(r.home, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(r.home, path)
		roots := info.Sys().(*syscall.Stat_t).Uid == 0
		for _, k := range kept {
			if name == k {
				roots = !roots
			}
		}
		if roots {
			t.Errorf("%s is not whose it should be", name)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, path := range []string{mine, beside, filepath.Join(beside, "below")} {
		if info, err := os.Stat(path); err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
			t.Errorf("root gave %s away, which is not in the home", path)
		}
	}
	r.user = user
	for _, args := range [][]string{{"run"}, {"run", "--due"}, {"status"}, {"reset"}} {
		if o := r.rouse(args...); o.code != 0 {
			t.Errorf("%q as the owner: %+v", args, o)
		}
	}
}
