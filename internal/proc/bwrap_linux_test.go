package proc

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"rouse/internal/sandbox"
	"rouse/internal/sweep"
)

// nobody is the user as whom tests run again where root runs them.
const nobody = 65534

// asBoth runs the test as it is called, and where that is root as an ordinary user too.
// It says that it is to go on. Where bubblewrap does not work the test is passed over.
func asBoth(t *testing.T) bool {
	t.Helper()
	if lacks := sandbox.Probe(bubblewrap(), sandbox.Look(), probe(t)); lacks != "" {
		t.Skip(lacks)
	}
	if os.Geteuid() != 0 {
		return true
	}
	t.Run("nobody", func(t *testing.T) {
		home := roomFor(t, nobody)
		program, err := os.ReadFile("/proc/self/exe")
		if err == nil {
			err = os.WriteFile(home+"/proc.test", program, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(home+"/proc.test", "-test.v", "-test.run", "^"+strings.Split(t.Name(), "/")[0]+"$")
		c.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home)
		c.Dir = home
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("as an ordinary user: %v\n%s", err, out)
		}
		if bytes.Contains(out, []byte("--- SKIP")) {
			t.Logf("%s", out)
		}
	})
	return true
}

func bubblewrap() string {
	path, _ := LookPath("bwrap", defaultPath)
	return path
}

func probe(t *testing.T) func(*sandbox.Box) error {
	return func(b *sandbox.Box) error {
		e, err := newRunner().Run(t.Context(), Command{Argv: []string{"true"}, Dir: "/", Box: b})
		if err == nil && !e.OK() {
			err = fmt.Errorf("%s", e)
		}
		return err
	}
}

// roomFor is a folder outside of /tmp.
func roomFor(t *testing.T, user int) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "rouse-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, user, user); err != nil {
		t.Fatal(err)
	}
	return dir
}

// room is a folder with what a home has, and a box around it.
type room struct {
	t      *testing.T
	dir    string
	policy sandbox.Policy
}

func newRoom(t *testing.T) *room {
	t.Helper()
	dir := roomFor(t, os.Geteuid())
	for _, name := range []string{"home/hidden/notes", "home/hidden/own", "home/readonly", "home/workspace/below", "elsewhere", "real"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"home/hidden/f", "home/hidden/own/f", "home/secret", "home/rules", "home/readonly/f", "home/workspace/f", "elsewhere/f", "real/f", "home/a b'\"$x\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("held\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("../real", dir+"/home/link"), os.Symlink("workspace", dir+"/home/into")); err != nil {
		t.Fatal(err)
	}
	r := &room{t: t, dir: dir}
	r.policy = sandbox.Policy{
		Read: []string{"/"}, Write: r.paths("home/workspace", "home/hidden/own"), ReadOnly: r.paths("home/rules", "home/readonly"),
		Hidden: r.paths("home/hidden", "home/secret", "home/link", "home/gone", "home/a b'\"$x\n"), Temp: dir + "/home/temp", Network: sandbox.None,
	}
	return r
}

func (r *room) paths(names ...string) (paths []string) {
	for _, name := range names {
		paths = append(paths, filepath.Join(r.dir, name))
	}
	return paths
}

func (r *room) box() *sandbox.Box {
	s := sandbox.Look()
	s.Bubblewrap = bubblewrap()
	return sandbox.New(r.policy, s)
}

// sh runs a script in the workspace, in the box.
func (r *room) sh(script string, c Command) result {
	r.t.Helper()
	if c.Dir == "" {
		c.Dir = r.dir + "/home/workspace"
	}
	c.Box = r.box()
	return sh(r.t, newRunner(), script, c)
}

// TestBoxFiles: what a policy hides is not read, what it does not let write is not
// written, and the longest path counts.
func TestBoxFiles(t *testing.T) {
	if !asBoth(t) {
		return
	}
	r := newRoom(t)
	can := map[string]string{ // r reads, w writes, - neither
		"home/hidden/f": "-", "home/hidden/notes/new": "-", "home/hidden/own/f": "rw", "home/hidden/own/new": "w", "home/secret": "-", "home/link/f": "-", "real/f": "-",
		"home/a b'\"$x\n": "-", "home/rules": "r", "home/readonly/f": "r", "home/workspace/f": "rw", "home/workspace/below/new": "w",
		"elsewhere/f": "r", "elsewhere/new": "", "home/gone": "", "home/new": "", "home/temp/file": "w",
		"/etc/passwd": "r", "/dev/null": "w", "/dev/shm/new": "w", "/tmp/new": "w", "/run/new": "w", "/sys/new": "",
	}
	var paths []string
	for path := range can {
		paths = append(paths, path)
	}
	var script strings.Builder
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(r.dir, path)
		}
		path = "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
		fmt.Fprintf(&script, "cat %[1]s >/dev/null 2>&1 && [ -f %[1]s ] && printf r; (echo new >> %[1]s) 2>/dev/null && printf w; echo\n", path)
	}
	got := strings.Split(r.sh(script.String(), Command{}).out, "\n")
	for i, path := range paths {
		if got[i] != strings.Trim(can[path], "-") {
			t.Errorf("%q: got %q, want %q", path, got[i], can[path])
		}
	}
	for _, name := range []string{"home/workspace/f", "home/hidden/own/f"} {
		if b, _ := os.ReadFile(filepath.Join(r.dir, name)); string(b) != "held\nnew\n" {
			t.Errorf("%s holds %q", name, b)
		}
	}
	if _, err := os.Stat("/run/new"); err == nil {
		t.Error("/run is that of the machine")
	}
	if _, err := os.Stat(r.dir + "/home/temp/new"); err != nil {
		t.Errorf("/tmp is another folder: %v", err)
	}
	if got := r.sh(`exec 2>/dev/null; cd ..; ls /run; ls hidden; mv workspace w || mv hidden h || rm -r hidden/notes || chmod 700 hidden || mkdir -p hidden/scratch || umount hidden || ls ../real/f
test -w /proc/sys/kernel/core_pattern && echo the machine can be changed; test -w /sys/kernel && echo it can`, Command{}).out; strings.TrimSpace(got) != "own" && got != "" {
		t.Errorf("got %s", got)
	}
}

// TestBoxExit: how a command ends is told as it is without a box, and what cannot be
// started is no command that failed.
func TestBoxExit(t *testing.T) {
	if !asBoth(t) {
		return
	}
	noGoroutineLeft(t)
	r := newRoom(t)
	for script, want := range map[string]string{
		`exit 0`: "exit code 0", `exit 7`: "exit code 7", `exit 255`: "exit code 255",
		`kill -SEGV $$`: "exit code 139 (as a shell reports it: a program was killed by SIGSEGV)",
		`(setsid sleep 1000 &) ; exec 0<&-; exit 3`: "exit code 3",
	} {
		if got := r.sh(script, Command{}); got.String() != want {
			t.Errorf("%s: got %s: %s", script, got, got.out)
		}
	}
	for _, row := range []struct {
		c    Command
		want string
	}{
		{Command{Argv: []string{"/no/such"}}, "sandbox: the program cannot be run inside: /no/such: No such file or directory"},
		{Command{Argv: []string{r.dir + "/home/secret"}}, "sandbox: the program cannot be run inside: " + r.dir + "/home/secret: No such file or directory"},
		{Command{Argv: []string{"true"}, Dir: r.dir + "/home/hidden"}, "the folder " + r.dir + "/home/hidden cannot be seen from inside"},
	} {
		var out bytes.Buffer
		row.c.Box, row.c.Stdout, row.c.Stderr = r.box(), &out, &out
		if row.c.Dir == "" {
			row.c.Dir = r.dir
		}
		if e, err := newRunner().Run(t.Context(), row.c); err == nil || !strings.HasSuffix(err.Error(), row.want) {
			t.Errorf("%q: got %v, %v, want %s", row.c.Argv, e, err, row.want)
		}
	}
	broken := sandbox.New(r.policy, sandbox.System{Bubblewrap: "/bin/false", Tracing: true})
	if e, err := newRunner().Run(t.Context(), Command{Argv: []string{"true"}, Box: broken}); err == nil {
		t.Errorf("got %v", e)
	}
}

// TestBoxSignals: signals reach the command and not bubblewrap, and the ladder ends it
// as any other.
func TestBoxSignals(t *testing.T) {
	if !asBoth(t) {
		return
	}
	r := newRoom(t)
	dir := r.dir + "/home/workspace"
	run := func(script string, c Command) *Process {
		os.Remove(dir + "/ready")
		c.Dir, c.Box = dir, r.box()
		p := begin(t, t.Context(), newRunner(), script, c)
		exists(t, dir, "ready")
		return p
	}
	p := run(`trap 'echo caught; exit 4' INT; : > ready; while :; do sleep 0.01; done`, Command{})
	p.Signal(syscall.SIGINT)
	if e := p.Wait(); e.Code != 4 {
		t.Errorf("SIGINT: got %v", e)
	}
	p = run(`trap 'exit 5' TERM; (setsid sleep 1000 &); : > ready; while :; do sleep 0.01; done`, Command{})
	p.End()
	if e := p.Wait(); e.Code != 5 || e.Cause != Canceled {
		t.Errorf("SIGTERM: got %v", e)
	}
	p = run(`trap '' TERM INT; : > ready; while :; do sleep 0.01; done`, Command{Timeout: 300 * time.Millisecond, Grace: 50 * time.Millisecond})
	if e := p.Wait(); e.Cause != TimedOut || len(e.Left) > 0 {
		t.Errorf("SIGKILL: got %+v", e)
	}
	if left := inFolder(r.dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	for range 20 { // at once: bubblewrap's own process is in the group
		if got := r.sh(`trap '' TERM; kill 0; kill -INT 1; echo here`, Command{}); got.out != "here\n" || !got.OK() {
			t.Fatalf("got %v: %s", got, got.out)
		}
	}
}

// TestBoxAlone: no other process is seen, no descriptor is passed on but those that are
// handed over, by their numbers, and there is no network.
func TestBoxAlone(t *testing.T) {
	if !asBoth(t) {
		return
	}
	r := newRoom(t)
	file, err := os.Open(r.dir + "/elsewhere/f")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got := r.sh(`cat <&3; cat; ls /proc/self/fd | wc -l; ls -d /proc/[0-9]* | wc -l; grep -c : /proc/net/dev; printf '%s\n' "$A"; pwd`,
		Command{ExtraFiles: []*os.File{file}, Stdin: strings.NewReader("fed\n"), Env: []string{"A=x=y z"}})
	if want := "held\nfed\n5\n"; !strings.HasPrefix(got.out, want) || !strings.HasSuffix(got.out, "\n1\nx=y z\n"+r.dir+"/home/workspace\n") {
		t.Errorf("got %q", got.out)
	}
}

// TestBoxFirst: nobody inside gets at the first process there, whose end is that of all.
func TestBoxFirst(t *testing.T) {
	if !asBoth(t) {
		return
	}
	r := newRoom(t)
	r.policy.Read = append(r.policy.Read, executable(t))
	got := attempted(t, newRunner(), Command{Dir: r.dir + "/home/workspace", Box: r.box()}, "traceThread:1", "memory:1", "readThread:1", "read:/proc/1/mem", "kill:1", "keys")
	if got != "traceThread=EPERM memory=EPERM readThread=EACCES read=EACCES kill=ok keys=EPERM" {
		t.Error(got)
	}
}

// answers is a gate that answers all requests itself.
type answers struct {
	*http.Server
	opened *atomic.Int32
}

func (a answers) open(inside sandbox.Listener) (sandbox.Door, error) {
	defer inside.Close()
	listener, err := net.FileListener(inside)
	if err != nil {
		return nil, err
	}
	a.opened.Add(1)
	go a.Serve(listener)
	return a, nil
}

func (a answers) Refused() []string { return []string{"b.example"} }
func (a answers) Reached() []string { return []string{"a.example"} }

// TestBoxListed: the gate is found at the address that the environment names, without
// any network, and what cannot be started is told as ever.
func TestBoxListed(t *testing.T) {
	if !asBoth(t) {
		return
	}
	noGoroutineLeft(t)
	r := newRoom(t)
	r.policy.Network = sandbox.Listed
	r.policy.Limits = sandbox.Limits{Processes: 100, OpenFiles: 77}
	opened := new(atomic.Int32)
	r.policy.Gate = func(inside sandbox.Listener) (sandbox.Door, error) {
		return answers{&http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "for ", r.URL) })}, opened}.open(inside)
	}
	r.policy.Environ = func(env []string, address string) []string { return append(env, "http_proxy=http://"+address) }
	self := executable(t)
	r.policy.Read = append(r.policy.Read, self) // below /tmp
	var out bytes.Buffer
	c := Command{Argv: []string{self}, Env: []string{"HELPER=fetch", "HELPER_URL=http://a.example/x"}, Dir: r.dir, Stdout: &out, Stderr: &out, Box: r.box()}
	p, err := newRunner().Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if e := p.Wait(); !e.OK() || out.String() != "200 OK for http://a.example/x <nil>\n" || len(p.Refused()) != 1 || len(p.Reached()) != 1 {
		t.Errorf("got %v, %v: %s", e, p.Refused(), out.String())
	}
	got := r.sh(`ls /proc/self/fd | wc -l; ls -d /proc/[0-9]* | wc -l; ulimit -n; ulimit -u; exit 6`, Command{})
	if !strings.HasPrefix(got.out, "4\n") || got.Code != 6 || !strings.Contains(got.out, "\n77\n") {
		t.Errorf("got %v: %s", got, got.out)
	}
	_, err = newRunner().Run(t.Context(), Command{Argv: []string{"/no/such"}, Dir: r.dir, Stderr: &out, Box: r.box()})
	if err == nil || !strings.HasSuffix(err.Error(), "sandbox: the program cannot be run inside: /no/such: No such file or directory") || opened.Load() != 2 {
		t.Errorf("got %v, opened %d", err, opened.Load())
	}
	r.policy.Gate = func(inside sandbox.Listener) (sandbox.Door, error) { inside.Close(); return nil, errors.New("no way") }
	if _, err = newRunner().Run(t.Context(), Command{Argv: []string{"true"}, Dir: r.dir, Box: r.box()}); err == nil || !strings.HasSuffix(err.Error(), "sandbox: no way") {
		t.Errorf("got %v", err)
	}
}

// TestBoxKilled: SIGKILL of Rouse leaves no process at all, at whatever moment of the
// start it comes.
func TestBoxKilled(t *testing.T) {
	if !asBoth(t) {
		return
	}
	r := newRoom(t)
	for range sweep.Of(5, 50, 500) {
		mark := rand.Text()
		c := exec.Command("/proc/self/exe")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what it leaves dead comes to us, and is told from our own by that
		c.Env = append(os.Environ(), "HELPER=boxes", "HELPER_MARK="+mark, "HELPER_ROOM="+r.dir)
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		if !lines.Scan() || lines.Text() != "begun" {
			t.Errorf("got %q", lines.Text())
		}
		time.Sleep(mathrand.N(40 * time.Millisecond))
		owner := identify(c.Process.Pid, bootID())
		c.Process.Kill()
		if lines.Scan() {
			t.Errorf("got %q", lines.Text())
		}
		c.Wait()
		eventually(t, "all is gone", func() bool { return len(Leftovers(mark, nil, owner)) == 0 })
	}
}
