package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// tree is a folder that looks like a cgroup, with these files.
func tree(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestGranted: a cgroup counts where systemd has marked it, with both controllers, also
// for a Rouse that is in the leaf already, and where only a part of the tree is mounted.
func TestGranted(t *testing.T) {
	top := t.TempDir()
	mark := func(name, value, controllers string) {
		dir := tree(t, filepath.Join(top, name), map[string]string{"cgroup.controllers": controllers, "cgroup.kill": ""})
		if err := unix.Setxattr(dir, "user.delegate", []byte(value), 0); err != nil {
			t.Skip("no extended attributes here: ", err)
		}
	}
	mark("ours", "1", "cpu memory pids\n")
	mark("not ours", "0", "cpu memory pids\n")
	mark("few", "1", "pids\n")
	tree(t, filepath.Join(top, "unmarked"), map[string]string{"cgroup.controllers": "memory pids\n", "cgroup.kill": ""})
	all := mountTable{{point: "/", root: "/", kind: "ext4"}, {point: top, root: "/", kind: "cgroup2"}}
	part := mountTable{{point: top, root: "/above", kind: "cgroup2"}}
	for own, want := range map[string]string{"/ours": "ours", "/ours/rouse": "ours", "/ours/call-1-2": "", "/not ours": "", "/few": "", "/unmarked": "", "/": ""} {
		for at, m := range map[string]mountTable{"": all, "/above": part} {
			got := ""
			if g := m.granted(at + own); g != nil {
				got = strings.TrimPrefix(g.dir, top+"/")
			}
			if got != want {
				t.Errorf("%s%s: %q is granted, not %q", at, own, got, want)
			}
		}
	}
	tree(t, filepath.Join(top, "a.service"), map[string]string{"cgroup.controllers": "memory pids\n", "cgroup.kill": ""})
	for _, own := range []string{"", "1"} { // what the unit of a user's service says
		t.Setenv(ownUnit, own)
		if got := all.granted("/a.service/rouse") != nil; got != (own == "1") || all.granted("/unmarked") != nil {
			t.Errorf("%s=%s: granted %v", ownUnit, own, got)
		}
	}
	if g := (mountTable{{point: top, root: "/", kind: "tmpfs"}}).granted("/ours"); g != nil {
		t.Error("another file system counts")
	}
}

// TestGroupFails: where a cgroup cannot be made ready, what is promised is what rlimits
// keep, and where it can, processes cannot write in it.
func TestGroupFails(t *testing.T) {
	s := System{Landlock: 7, Seccomp: true, Tracing: true, Cgroup: &Group{top: "/", dir: filepath.Join(t.TempDir(), "none")}}
	p := Policy{Read: []string{"/"}, Write: []string{"/"}, Limits: Limits{Memory: 1 << 30, Processes: 10}}
	if b := New(p, s); b.keeps(Memory).By != "rlimit" || b.keeps(Count).By != "" || b.Policy().Writes("/sys") {
		t.Errorf("%+v", b.Holds())
	}
	s.Cgroup = &Group{top: "/", dir: tree(t, t.TempDir(), map[string]string{"cgroup.procs": "", "cgroup.subtree_control": ""})}
	for _, machine := range []System{s, {Bubblewrap: "/bin/true", Tracing: true, Cgroup: s.Cgroup}} {
		if b := New(p, machine); b.keeps(Memory) != (Hold{Memory, "cgroup", ""}) || b.keeps(Count) != (Hold{Count, "cgroup", ""}) {
			t.Errorf("%+v", b.Holds())
		}
	}
	if b := New(Policy{}, s); b.grouped() {
		t.Error("a policy without limits takes a cgroup")
	}
	if control, _ := os.ReadFile(filepath.Join(s.Cgroup.dir, "cgroup.subtree_control")); string(control) != "+memory +pids" {
		t.Errorf("controllers: %q", control)
	}
}

// TestCell: what a call is bounded by, and which limits it is known to have met.
func TestCell(t *testing.T) {
	c := &cell{dir: tree(t, t.TempDir(), map[string]string{
		"memory.max": "", "memory.oom.group": "", "memory.swap.max": "", "pids.max": "", "cgroup.kill": "",
		"memory.events": "low 0\noom 3\noom_kill 2\noom_group_kill 1\n", "pids.events": "max 7\n",
	})}
	if err := c.bound(Limits{Memory: 256 << 20, Processes: 64}, 2); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"memory.max": "268435456", "memory.oom.group": "1", "memory.swap.max": "0", "pids.max": "66"} {
		if got, _ := os.ReadFile(filepath.Join(c.dir, file)); string(got) != want {
			t.Errorf("%s: %q", file, got)
		}
	}
	c.close()
	if got := c.limits(); len(got) != 2 || got[0] != (Refusal{Bound, "memory"}) || got[1] != (Refusal{Bound, "processes"}) {
		t.Errorf("met: %v", got)
	}
	if err := (&cell{dir: t.TempDir()}).bound(Limits{Memory: 1}, 0); err == nil {
		t.Error("a limit that cannot be set is none")
	}
}
