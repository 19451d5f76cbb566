package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"rouse/agent/model/modeltest"
	"rouse/scratchpad"
)

// mountHome puts the home on a file system of its own, of so many bytes.
func (r *rig) mountHome(size int) {
	r.t.Helper()
	err := unix.Mount("rouse-test", r.home, "tmpfs", 0, fmt.Sprintf("size=%d", size))
	if errors.Is(err, unix.EPERM) {
		r.t.Skip("mounting needs root")
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := unix.Unmount(r.home, unix.MNT_DETACH); err != nil {
			r.t.Error(err)
		}
	})
	r.write("rules.md", "You are Rouse.\n")
}

// fill leaves so many bytes of the home's file system free.
func (r *rig) fill(free int) {
	r.t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(r.home, &st); err != nil {
		r.t.Fatal(err)
	}
	r.write("filler", strings.Repeat("x", max(0, int(st.Bavail)*int(st.Bsize)-free)))
}

func (r *rig) remove(name string) {
	r.t.Helper()
	if err := os.Remove(r.path(name)); err != nil {
		r.t.Fatal(err)
	}
}

const memory = "goals: [a]\ncurrent_task: look\nmine: kept\n"

// whole wants active.yaml as it was or with what the cycle found.
func (r *rig) whole() *scratchpad.State {
	r.t.Helper()
	s, err := scratchpad.Load(r.path("scratchpad/active.yaml"))
	if err != nil {
		r.t.Fatal(err)
	}
	if v, ok := s.Value("mine"); !ok || v != "kept" {
		r.t.Errorf("active.yaml: %q", r.read("scratchpad/active.yaml"))
	}
	return s
}

// goesOn wants the next run to settle what is to be settled, and to be done.
func (r *rig) goesOn() {
	r.t.Helper()
	r.serve(done())
	if got := r.rouse("run"); got.code != 0 {
		r.t.Errorf("the next run: exit %d with %q", got.code, got.stderr)
	}
	if got := r.rouse("cycles"); strings.Contains(got.stdout, "interrupted  ") {
		r.t.Errorf("not settled:\n%s", got.stdout)
	}
	if task := r.whole().CurrentTask(); task != nil {
		r.t.Errorf("current_task %v", task)
	}
	if left := r.glob("scratchpad/*.tmp*"); len(left) > 0 {
		r.t.Errorf("left: %q", left)
	}
}

// A home on a disk with room for nothing, or for a part of a cycle.
func TestFullDisk(t *testing.T) {
	tried, failed := 0, 0
	for free := 0; free <= 16<<12; free += 4 << 10 {
		t.Run(fmt.Sprint(free), func(t *testing.T) {
			r := newRig(t)
			r.mountHome(256 << 10)
			tried++
			r.write("scratchpad/active.yaml", memory)
			r.serve(call("update_scratchpad", `{"found": `+quote(strings.Repeat("1234567 ", 1024))+`}`), done())
			r.fill(free)
			got := r.rouse("run")
			r.whole()
			if got.code == 0 {
				return
			}
			failed++
			got.oneLine(t, "no space left on device", r.home)
			r.remove("filler")
			r.goesOn()
		})
	}
	t.Logf("%d of %d disks were too small", failed, tried)
	if tried > 0 && failed == 0 {
		t.Error("no disk was too small")
	}
}

// The disk is filled by a tool, in the middle of a cycle.
func TestDiskFullDuringACycle(t *testing.T) {
	r := newRig(t)
	r.mountHome(256 << 10)
	r.write("scratchpad/active.yaml", memory)
	r.serve(inShell("cat /dev/zero >fill"), call("update_scratchpad", `{"found": 1}`), done())
	got := r.rouse("run")
	if got.code == 0 {
		t.Error("exit 0")
	}
	got.oneLine(t, "no space left on device")
	r.whole()
	r.remove("workspace/fill")
	r.goesOn()
}

// A home that can only be read.
func TestReadOnlyHome(t *testing.T) {
	r := newRig(t)
	r.mountHome(1 << 20)
	r.write("scratchpad/active.yaml", memory)
	r.serve(done())
	remount := func(flags uintptr) {
		t.Helper()
		if err := unix.Mount("", r.home, "", unix.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	remount(unix.MS_RDONLY)
	got := r.rouse("run")
	if got.code != 1 {
		t.Errorf("exit %d", got.code)
	}
	got.oneLine(t, "read-only file system", r.home)
	if got := r.rouse("doctor"); got.code != 1 || !strings.Contains(got.stdout, "FAIL  folders") {
		t.Errorf("doctor: exit %d\n%s", got.code, got.stdout)
	}
	if got := r.rouse("status"); got.code != 0 {
		t.Errorf("status: exit %d, %s", got.code, got.stderr)
	}
	if text := r.read("scratchpad/active.yaml"); text != memory {
		t.Errorf("%q", text)
	}
	remount(0)
	r.goesOn()
}

// limited is the program under a limit of the shell's ulimit, without descriptors
// that the test was started with.
func (r *rig) limited(limit string) outcome {
	r.t.Helper()
	cmd, cancel := r.command("run")
	defer cancel()
	path, err := exec.LookPath("rouse")
	if err != nil {
		r.t.Fatal(err)
	}
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit " + limit + " && exec " + path + " run"}
	return r.finish(cmd, cmd.Start)
}

// Limits of the system: size of a file, open files. Whatever happens, there is
// one line, and the memory is whole. (With fewer than six descriptors Go itself
// gives up.)
func TestLimits(t *testing.T) {
	ok, failed := 0, 0
	for _, limit := range []string{"-f 0", "-f 1", "-f 2", "-f 4", "-f 8", "-f 16", "-n 7", "-n 9", "-n 11", "-n 13", "-n 15", "-n 20", "-n 30"} {
		t.Run(limit, func(t *testing.T) {
			r := newRig(t)
			r.write("scratchpad/active.yaml", memory)
			r.serve(call("shell", `{"command": "echo x >>effects"}`), call("update_scratchpad", `{"found": `+quote(strings.Repeat("1234567 ", 256))+`}`), done())
			got := r.limited(limit)
			r.whole()
			if got.code == 0 {
				ok++
				return
			}
			failed++
			got.oneLine(t)
			if !strings.Contains(got.stderr, "file too large") && !strings.Contains(got.stderr, "too many open files") {
				t.Errorf("exit %d with %q", got.code, got.stderr)
			}
			r.goesOn()
		})
	}
	t.Logf("%d limits were too low and said so, %d were not; torn 0", failed, ok)
}

// asNobody lets a user without rights run the program, who can reach it and the home.
func (r *rig) asNobody() {
	r.t.Helper()
	if os.Getuid() != 0 {
		r.t.Skip("changing the user needs root")
	}
	path, err := exec.LookPath("rouse")
	if err != nil {
		r.t.Fatal(err)
	}
	for dir := filepath.Dir(path); len(dir) > 1; dir = filepath.Dir(dir) {
		r.reachable(dir)
	}
	for dir := r.home; len(dir) > 1; dir = filepath.Dir(dir) {
		r.reachable(dir)
	}
	err = filepath.WalkDir(r.home, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, 65534, 65534))
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.user = &syscall.Credential{Uid: 65534, Gid: 65534}
}

// reachable lets everybody pass through a folder of this test.
func (r *rig) reachable(dir string) {
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o001 == 0 {
		err = os.Chmod(dir, info.Mode().Perm()|0o111)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// A user without rights: what cannot be read or written is named.
func TestNoPermission(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path string
		mode os.FileMode
		code int
		want string
	}{
		{"scratchpad/active.yaml", 0, 2, "read scratchpad/active.yaml: permission denied"},
		{"scratchpad", 0, 1, "scratchpad"},
		{"scratchpad", 0o500, 1, "scratchpad/"},
		{"logs", 0o500, 1, "logs/"},
		{"rules.md", 0, 1, "rules.md: permission denied"},
		{"rouse.yaml", 0, 2, "rouse.yaml: permission denied"},
		{"workspace", 0, 0, ""}, // the model is told
	} {
		t.Run(fmt.Sprintf("%s %o", tt.path, tt.mode), func(t *testing.T) {
			r := newRig(t)
			r.write("scratchpad/active.yaml", memory)
			r.write("rouse.yaml", "")
			r.write("logs/mine.txt", "")
			r.write("workspace/mine.txt", "")
			r.asNobody()
			r.serve(call("list_files", `{}`), done())
			if err := os.Chmod(r.path(tt.path), tt.mode); err != nil {
				t.Fatal(err)
			}
			got := r.rouse("run")
			if got.code != tt.code {
				t.Errorf("exit %d with %q, want %d", got.code, got.stderr, tt.code)
			}
			if tt.code != 0 {
				got.oneLine(t, tt.want, "permission denied")
			}
			if err := os.Chmod(r.path(tt.path), 0o700); err != nil {
				t.Fatal(err)
			}
			r.goesOn()
		})
	}
}

// A tool of the same user reads neither the environment nor the memory of rouse.
func TestToolCannotReadRouse(t *testing.T) {
	r := newRig(t)
	r.write("scratchpad/active.yaml", memory)
	r.asNobody()
	r.env = append(r.env, "OPENAI_API_KEY=the-key-of-the-test")
	r.serve(inShell("cat /proc/$PPID/environ /proc/$PPID/auxv >found 2>error; dd if=/proc/$PPID/mem of=found2 count=1 2>>error; ls -l /proc/$PPID/fd >>found 2>>error"), done())
	if got := r.rouse("run"); got.code != 0 {
		t.Fatal(got.stderr)
	}
	if found := r.read("workspace/found"); found != "" || strings.Count(strings.ToLower(r.read("workspace/error")), "permission denied") != 4 {
		t.Errorf("found %q, errors %q", found, r.read("workspace/error"))
	}
}

// A child without memory, or killed as the kernel does when memory runs out, is
// told to the model as what it is.
func TestChildWithoutMemory(t *testing.T) {
	r := newRig(t)
	r.write("scratchpad/active.yaml", memory)
	s := r.serve(inShell("ulimit -v 20000; exec dd if=/dev/zero of=/dev/null bs=512M count=1"), inShell("kill -KILL $$"), done())
	if got := r.rouse("run"); got.code != 0 {
		t.Fatal(got.stderr)
	}
	last := lastRequest(s)
	for _, want := range []string{"memory", "SIGKILL", "out-of-memory"} {
		if !strings.Contains(last, want) {
			t.Errorf("the model does not read %q: %s", want, last)
		}
	}
}

func lastRequest(s *modeltest.Server) string {
	all := s.Requests()
	return string(all[len(all)-1].Body)
}
