package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rouse/internal/sandbox"
)

// TestBoxOpen: who may write everything still does not get at the files of the agent,
// nor puts others in their place.
func TestBoxOpen(t *testing.T) {
	if !asBoth(t) {
		return
	}
	r := newRoom(t)
	r.policy = sandbox.Policy{Write: []string{"/"}, ReadOnly: r.paths("home/rules", "home/readonly"), Hidden: r.paths("home/hidden", "home/secret", "home/STOP", "home/inbox"),
		Temp: r.dir + "/home/temp", Network: sandbox.Open}
	for script, want := range map[string]string{
		"touch elsewhere/new; echo more >> elsewhere/f; mv elsewhere/f elsewhere/g; cat elsewhere/g":          "held\nmore\n",
		"echo more >> home/workspace/f; rm home/workspace/f; touch home/workspace/g; echo $?":                 "0\n",
		"cat home/hidden/f home/secret; ls home/hidden; cat home/rules home/readonly/f":                       "held\nheld\n",
		"touch home/STOP || mkdir home/inbox || touch home/new || echo refused":                               "refused\n",
		"echo x >> home/rules || rm -rf home/readonly/f || rm home/secret || echo refused":                    "refused\n",
		"mv home away || mv home/hidden home/h || rmdir home/hidden || ln -sf /x home/secret || echo refused": "refused\n",
		"mv ../" + filepath.Base(r.dir) + " ../away || echo refused":                                          "refused\n",
		"mv home/link home/l || rm home/link || echo refused":                                                 "refused\n",
		"mv elsewhere e && mv e elsewhere && echo moved":                                                      "moved\n",
		"test -w /sys/kernel || test -w /proc/sys/kernel/core_pattern || echo not those of the machine":       "not those of the machine\n",
		"ls /run": "",
	} {
		if got := r.sh("exec 2>/dev/null; "+script, Command{Dir: r.dir}); got.out != want {
			t.Errorf("%s: got %q, want %q", script, got.out, want)
		}
	}
	var missing []string
	for _, name := range r.paths("home/STOP", "home/inbox", "home/new", "away", "home/h") {
		if _, err := os.Lstat(name); err == nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		t.Errorf("made %v", missing)
	}
}

// TestBoxLater: what is hidden stays so for a process that runs while somebody puts
// another file in its place, as editors do, or makes one that was not there.
func TestBoxLater(t *testing.T) {
	if !asBoth(t) {
		return
	}
	for _, write := range []string{"home/workspace", "/"} {
		r := newRoom(t)
		if r.policy.Write = r.paths(write); write == "/" {
			r.policy.Write = []string{write}
		}
		dir := r.dir + "/home/workspace"
		var out strings.Builder
		script := `cat ../secret; : > ready; while [ ! -e go ]; do sleep 0.01; done; cat ../secret ../gone ../new ../rules below/later; readlink ../into; ls -A .. | grep -c .`
		p, err := newRunner().Start(t.Context(), Command{Argv: []string{"sh", "-c", script}, Dir: dir, Box: r.box(), Stdout: &out})
		if err != nil {
			t.Fatal(err)
		}
		exists(t, dir, "ready")
		for _, name := range []string{"home/secret", "home/gone", "home/new", "home/workspace/below/later", "home/workspace/go"} {
			file := filepath.Join(r.dir, name)
			if err := errors.Join(os.WriteFile(file+"~", []byte(name+"\n"), 0o600), os.Rename(file+"~", file)); err != nil {
				t.Fatal(err)
			}
		}
		if e := p.Wait(); out.String() != "held\nhome/workspace/below/later\nworkspace\n6\n" {
			t.Errorf("write %s: %v: %q", write, e, out.String())
		}
	}
}

// TestBoxBelowTemp: of a home that lies in /tmp nothing is made in the folder for
// temporary files, and no link there leads mounts astray.
func TestBoxBelowTemp(t *testing.T) {
	if !asBoth(t) {
		return
	}
	dir, err := os.MkdirTemp("/tmp", "rouse-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &room{t: t, dir: dir}
	home, outside := dir+"/home", roomFor(t, os.Geteuid())
	for _, name := range []string{"/workspace", "/temp"} {
		if err := os.MkdirAll(home+name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(home+"/key", []byte("held\n"), 0o600), os.Symlink("/oldroot"+outside, home+"/temp/"+filepath.Base(dir))); err != nil {
		t.Fatal(err)
	}
	r.policy = sandbox.Policy{Read: []string{"/", home}, Write: []string{home + "/workspace"}, Hidden: []string{home + "/key", home + "/STOP"}, Temp: home + "/temp", Network: sandbox.None}
	got := r.sh(`exec 2>/dev/null; touch ../STOP; cat ../key; echo x > $TMPDIR/kept; echo x > /tmp/gone; cat /tmp/gone; echo y > made; ls ..; echo $TMPDIR`, Command{})
	if want := "x\ntemp\nworkspace\n" + home + "/temp\n"; got.out != want {
		t.Errorf("got %q, want %q", got.out, want)
	}
	var left []string
	for _, d := range []string{home, home + "/temp", home + "/workspace", outside} {
		entries, _ := os.ReadDir(d)
		for _, e := range entries {
			left = append(left, e.Name())
		}
	}
	slices.Sort(left)
	if want := []string{"kept", "key", "made", filepath.Base(dir), "temp", "workspace"}; !slices.Equal(left, want) {
		t.Errorf("there are %v, want %v", left, want)
	}
}

// TestBoxFolders: who may read only some folders finds no others, and these by their links.
func TestBoxFolders(t *testing.T) {
	if !asBoth(t) {
		return
	}
	r := newRoom(t)
	for target, link := range map[string]string{"elsewhere": "by", r.dir + "/by": "again"} {
		if err := os.Symlink(target, filepath.Join(r.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	r.policy.Read = append(r.paths("again/f", "home/readonly"), "/usr", "/bin", "/lib", "/lib64", "/etc", "/no/such")
	got := r.sh(`cd ../..; ls; ls home; cat again/f by/f elsewhere/f; ls /home /root /var /srv; ls -d /bin/sh /etc/resolv.conf; echo x > /new; echo x > again/f; cat /etc/resolv.conf > /dev/null; exit 0`, Command{})
	want := "again\nby\nelsewhere\nhome\n" + "hidden\nreadonly\nrules\ntemp\nworkspace\n" + "held\nheld\nheld\n"
	if !strings.HasPrefix(got.out, want) || strings.Contains(got.out, "root:\n") || strings.Count(got.out, "Read-only file system") != 2 {
		t.Errorf("got %s", got.out)
	}
}

// TestBoxMany: a policy may name many things, and many processes be started at once; no
// descriptor stays open.
func TestBoxMany(t *testing.T) {
	if !asBoth(t) {
		return
	}
	r := newRoom(t)
	noGoroutineLeft(t)
	r.policy.Hidden = nil
	for i := range 200 {
		file := fmt.Sprintf("%s/elsewhere/%s%d", r.dir, strings.Repeat("x", 200), i)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		r.policy.Hidden = append(r.policy.Hidden, file)
	}
	if got := r.sh(`cat ../../elsewhere/x* 2>&1 | grep -c denied; echo ${#B}`, Command{Env: []string{"B=" + strings.Repeat("b", 1e5)}}); got.out != "200\n100000\n" {
		t.Errorf("got %s", got.out)
	}
	r.policy.Hidden = r.paths("home/hidden")
	before, others := numbers("/proc/self/fd"), childrenOf(os.Getpid()) // which another test left dead
	runner, box := newRunner(), r.box()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			e, err := runner.Run(t.Context(), Command{Argv: []string{"sh", "-c", "(setsid sleep 1000 &); exit 3"}, Dir: r.dir + "/home/workspace", Box: box})
			if err != nil || e.Code != 3 || len(e.Left) > 0 {
				t.Errorf("got %+v, %v", e, err)
			}
		})
	}
	all.Wait()
	if _, err := runner.Run(t.Context(), Command{Argv: []string{"/no/such"}, Dir: r.dir, Box: box}); err == nil {
		t.Error("it was started")
	}
	eventually(t, "descriptors are closed", func() bool { return len(numbers("/proc/self/fd")) <= len(before) })
	for _, pid := range childrenOf(os.Getpid()) {
		if s, _ := readStat(pid); !slices.Contains(others, pid) {
			t.Errorf("left %+v", s)
		}
	}
}

// TestBoxInside: a box within another one works, where mounts are nested and a folder is
// mounted twice; and a probe says what is in the way where it does not work.
func TestBoxInside(t *testing.T) {
	if !asBoth(t) {
		return
	}
	r, self := newRoom(t), executable(t)
	within := func(args ...string) string {
		args = append(args, "--bind", r.dir+"/real", r.dir+"/elsewhere", "--dev", "/dev", "--proc", "/proc",
			"--setenv", "HELPER", "room", "--setenv", "HELPER_ROOM", r.dir)
		c := exec.Command(bubblewrap(), append(slices.Concat([]string{"--unshare-user", "--unshare-pid", "--bind", "/", "/"}, args), self)...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return string(out)
	}
	if got := within(); got != "denied\nf\nwrites\n" {
		t.Errorf("within another one: got %s", got)
	}
	if os.Geteuid() != 0 {
		return
	}
	if got := within("--cap-add", "ALL"); got != "denied\nf\nwrites\n" {
		t.Errorf("with all capabilities: got %s", got)
	}
}

// TestBoxProbe: a probe says what is in the way where bubblewrap does not work.
func TestBoxProbe(t *testing.T) {
	if !asBoth(t) {
		return
	}
	r, self := newRoom(t), executable(t)
	// No other /proc of the machine may be seen there: it would let one be mounted.
	within := []string{bubblewrap(), "--unshare-user", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", r.dir, r.dir, "--bind", filepath.Dir(self), filepath.Dir(self)}
	for _, dir := range []string{"/usr", "/bin", "/lib", "/lib64", "/etc"} {
		within = append(within, "--ro-bind-try", dir, dir)
	}
	for want, argv := range map[string][]string{
		"processes cannot be traced here": {"strace", "-f", "-o", "/dev/null", self},
		"no /proc can be mounted here":    slices.Concat(within, []string{"--unshare-pid", "--proc", "/proc", "--tmpfs", "/proc/bus", self}),
		"namespaces are forbidden here":   slices.Concat(within, []string{"--bind", "/proc", "/proc", "--disable-userns", self}),
	} {
		if _, err := exec.LookPath(argv[0]); err != nil || os.Geteuid() == 0 && argv[0] == within[0] {
			continue // root needs no user namespace
		}
		c := exec.Command(argv[0], argv[1:]...)
		c.Env = append(os.Environ(), "HELPER=room", "HELPER_ROOM="+r.dir)
		if out, err := c.CombinedOutput(); !strings.Contains(string(out), want) {
			t.Errorf("%q: got %v, %s, want %s", argv, err, out, want)
		}
	}
}

// TestBoxLimits: the limits are the command's and that of nobody else.
func TestBoxLimits(t *testing.T) {
	if !asBoth(t) {
		return
	}
	r := newRoom(t)
	r.policy.Limits = sandbox.Limits{Memory: 64 << 20, Processes: 20, OpenFiles: 50, FileSize: 1 << 20, CPU: time.Hour}
	for _, network := range []sandbox.Network{sandbox.None, sandbox.Open} {
		r.policy.Network = network
		got := r.sh(`exec 2>/dev/null; ulimit -n; ulimit -t; (head -c 2000000 /dev/zero > big); stat -c %s big; head -c 200000000 /dev/zero | tail -n 1 2>&1 | head -c 1000 | grep -c memory; exec 2>&1; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do sleep 1000 & done`, Command{})
		if !strings.HasPrefix(got.out, "50\n3600\n1048576\n1\n") {
			t.Errorf("%s: got %s", network, got.out)
		}
		if s := sandbox.Look(); strings.Contains(got.out, "fork") != s.Counts {
			t.Errorf("%s: processes counted: %v, got %s", network, s.Counts, got.out)
		}
	}
}
