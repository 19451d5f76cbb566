package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// begin starts a script in dir and ends it with the test.
func begin(t *testing.T, ctx context.Context, r *Runner, script string, c Command) *Process {
	t.Helper()
	c.Argv = []string{"sh", "-c", script}
	p, err := r.Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.End(); p.Wait() })
	return p
}

func TestCanceled(t *testing.T) {
	noGoroutineLeft(t)
	for _, way := range []string{"context", "end"} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		p := begin(t, ctx, newRunner(), `trap 'exit 5' TERM; setsid sleep 1000 & : > ready; while :; do sleep 0.01; done`, Command{Dir: dir})
		exists(t, dir, "ready")
		if !p.Identity().Alive() {
			t.Errorf("%+v is not alive", p.Identity())
		}
		if way == "context" {
			cancel()
		}
		p.End()
		e := p.Wait()
		cancel()
		if e.Cause != Canceled || e.Code != 5 || e.OK() || p.Wait().Cause != Canceled {
			t.Errorf("%s: got %+v", way, e)
		}
		if left := inFolder(dir); len(left) > 0 || p.Identity().Alive() {
			t.Errorf("%s: left %v", way, left)
		}
		p.End() // and all this does nothing now
		p.Signal(syscall.SIGKILL)
	}
}

func TestSignalInterrupts(t *testing.T) {
	dir := t.TempDir()
	p := begin(t, t.Context(), newRunner(), `trap 'echo interrupted; exit 0' INT; : > ready; while :; do sleep 0.01; done`, Command{Dir: dir})
	exists(t, dir, "ready")
	p.Signal(syscall.SIGINT)
	if e := p.Wait(); !e.OK() {
		t.Errorf("got %+v", e)
	}
}

// TestGiveUp: a leader that SIGKILL does not end is reported, and Wait returns.
func TestGiveUp(t *testing.T) {
	noGoroutineLeft(t)
	var out bytes.Buffer
	p := begin(t, t.Context(), newRunner(), `sleep 1000`, Command{Dir: t.TempDir(), Stdout: &out})
	p.giveUp() // as the ladder does at its end
	want := fmt.Sprintf("could not end process %d", p.Identity().PID)
	if e := p.Wait(); len(e.Left) != 1 || e.OK() || !strings.Contains(e.String(), want) {
		t.Errorf("got %+v: %s", e, e)
	}
	p.Signal(syscall.SIGKILL)
}

// TestLivingIsLeftAlone: while a long-lived process runs, the end of others
// takes nothing of it, neither of its own Runner nor of another one, and
// nothing that others started in this program. Its own end takes it all.
func TestLivingIsLeftAlone(t *testing.T) {
	noGoroutineLeft(t)
	r, dir := newRunner(), t.TempDir()
	var out bytes.Buffer
	notebook := begin(t, t.Context(), r, `
		(sleep 1000 &)          # orphan in its session
		(setsid sleep 1001 &)   # orphan in its own session
		(setsid true &)         # orphan that dies
		: > ready; exec cat`, Command{Dir: dir, Stdin: pipe(t), Stdout: &out})
	exists(t, dir, "ready")
	plain := exec.Command("sleep", "1002")
	leader := exec.Command("sh", "-c", `exec env -i sleep 1003`)
	ended := exec.Command("true")
	leader.SysProcAttr, ended.SysProcAttr = &syscall.SysProcAttr{Setsid: true}, &syscall.SysProcAttr{Setsid: true}
	for _, c := range []*exec.Cmd{plain, leader, ended} {
		c.Dir = dir
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all five run", func() bool { return len(inFolder(dir)) == 5 })
	for _, other := range []*Runner{r, newRunner(), {}} {
		for range 3 {
			sh(t, other, `(setsid sleep 1000 &); setsid true & sleep 0.01`, Command{})
		}
	}
	if left := inFolder(dir); len(left) != 5 {
		t.Errorf("still there: %v, want 5", left)
	}
	notebook.End()
	if e := notebook.Wait(); len(e.Left) > 0 {
		t.Errorf("got %+v", e)
	}
	if left := inFolder(dir); len(left) != 2 {
		t.Errorf("still there: %v, want the 2 of others", left)
	}
	plain.Process.Kill()
	leader.Process.Kill()
	for _, c := range []*exec.Cmd{plain, leader, ended} {
		if err := c.Wait(); c.ProcessState == nil {
			t.Errorf("%v: its exit status was taken away: %v", c.Args, err)
		}
	}
}

// pipe is a stdin that never says anything.
func pipe(t *testing.T) io.Reader {
	r, w := io.Pipe()
	t.Cleanup(func() {
		if _, err := w.Write([]byte("x")); err == nil {
			t.Error("the reader was not closed at the end of the process")
		}
	})
	return r
}

// TestNestedRunner: a Rouse that runs as a tool of another one and is killed
// leaves nothing to the outer one.
func TestNestedRunner(t *testing.T) {
	dir := t.TempDir()
	r := newRunner()
	inner := `setsid sleep 1000 & (setsid sh -c 'sleep 1001 & sleep 1002' &) ; : > ready; sleep 1003`
	p := begin(t, t.Context(), r, fmt.Sprintf(`HELPER=crash HELPER_MARK=inner exec %s "$SCRIPT"`, os.Args[0]), Command{Dir: dir, Env: []string{"SCRIPT=" + inner}})
	exists(t, dir, "ready")
	p.Signal(syscall.SIGKILL)
	e := p.Wait()
	if left := inFolder(dir); e.Cause != Signaled || len(left) > 0 || len(e.Left) > 0 {
		t.Errorf("got %+v, left %v", e, left)
	}
}

func TestHundredAtOnce(t *testing.T) {
	noGoroutineLeft(t)
	r, dir := newRunner(), t.TempDir()
	scripts := []string{
		`echo $N`,
		`(setsid sleep 1000 &); echo $N`,
		`setsid sh -c 'sleep 1000 & sleep 1001' & echo $N`,
		`echo $N; sh -c 'sleep 1000 &'; kill -9 $$`,
		`echo $N; sleep 1000`,
	}
	causes := []Cause{Exited, Exited, Exited, Signaled, TimedOut}
	timeouts := []time.Duration{0, 0, 0, 0, time.Second}
	var all sync.WaitGroup
	for n := range 100 {
		all.Go(func() {
			var out bytes.Buffer
			e, err := r.Run(t.Context(), Command{Argv: []string{"sh", "-c", scripts[n%5]}, Env: []string{fmt.Sprint("N=", n)}, Dir: dir, Stdout: &out, Stderr: &out, Timeout: timeouts[n%5], Grace: time.Minute})
			if err != nil || e.Cause != causes[n%5] || out.String() != fmt.Sprintln(n) || len(e.Left) > 0 {
				t.Errorf("%d: got %+v, %v, %q", n, e, err, out.String())
			}
		})
	}
	all.Wait()
	if left := inFolder(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestStdin(t *testing.T) {
	noGoroutineLeft(t)
	file, err := os.Open("testdata/stdin")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	endless := func() io.Reader { return io.MultiReader(strings.NewReader("ab"), zeros{}) }
	for _, row := range []struct {
		script string
		stdin  io.Reader
		want   string
	}{
		{`cat`, nil, ""},
		{`cat`, strings.NewReader("hello\x00\xff"), "hello\x00\xff"},
		{`cat`, strings.NewReader(""), ""},
		{`cat`, file, "a file\n"},
		{`wc -c`, io.LimitReader(zeros{}, 1<<20), "1048576\n"},
		{`exec 0<&-; echo ok`, endless(), "ok\n"},
		{`head -c 2`, endless(), "ab"},
		{`echo ok`, pipe(t), "ok\n"},
		{`setsid sleep 1000 & echo ok`, zeros{}, "ok\n"},
	} {
		if got := sh(t, newRunner(), row.script, Command{Stdin: row.stdin, Timeout: 5 * time.Second}); got.out != row.want || !got.OK() {
			t.Errorf("%s: got %q, %+v", row.script, got.out, got.Exit)
		}
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// TestWriterFails: output that nobody can keep ends the child.
func TestWriterFails(t *testing.T) {
	noGoroutineLeft(t)
	full := failing{errors.New("disk full")}
	got := sh(t, newRunner(), `echo x; sleep 1000`, Command{Stdout: full, Stderr: full})
	if got.Cause != Canceled || got.Err != full.error || !strings.Contains(got.String(), "disk full") {
		t.Errorf("got %+v: %s", got.Exit, got)
	}
}

type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }

// TestOutputStaysInOrder and apart, as asked.
func TestOutputStaysInOrder(t *testing.T) {
	const script = `i=0; while [ $i -lt 500 ]; do echo $i; echo $i >&2; i=$((i+1)); done`
	var want, half strings.Builder
	for i := range 500 {
		fmt.Fprintf(&want, "%d\n%d\n", i, i)
		fmt.Fprintln(&half, i)
	}
	if got := sh(t, newRunner(), script, Command{}); got.out != want.String() {
		t.Error("one writer: lines are out of order")
	}
	var out, errs strings.Builder
	if got := sh(t, newRunner(), script, Command{Stdout: &out, Stderr: &errs}); out.String() != half.String() || errs.String() != half.String() || got.Bytes != int64(want.Len()) {
		t.Errorf("two writers: got %+v", got)
	}
	for _, w := range []io.Writer{writers(nil), struct{ io.Writer }{writers(nil)}} {
		if got := sh(t, newRunner(), script, Command{Stdout: w, Stderr: w}); !got.OK() {
			t.Errorf("writers that cannot be compared, %T: got %+v", w, got)
		}
	}
}

type writers []io.Writer

func (writers) Write(b []byte) (int, error) { return len(b), nil }

// TestStrangerHoldsThePipe: who is not ours to end cannot keep Wait from
// returning, and what was written before is not lost.
func TestStrangerHoldsThePipe(t *testing.T) {
	noGoroutineLeft(t)
	dir := t.TempDir()
	if err := syscall.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p := begin(t, t.Context(), newRunner(), `echo before; : > ready; read x < fifo; head -c 50000 /dev/zero`, Command{Dir: dir, Stdout: &out})
	exists(t, dir, "ready")
	// A process in our own session opens the child's stdout and keeps it.
	stranger := exec.Command("sh", "-c", fmt.Sprintf(`exec > /proc/%d/fd/1; echo > fifo; exec sleep 1000`, p.Identity().PID))
	stranger.Dir = dir
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { stranger.Process.Kill(); stranger.Wait() }()
	if e := p.Wait(); !e.OK() || e.Bytes != 50007 || out.Len() != 50007 {
		t.Errorf("got %+v", e)
	}
}

func TestChildrenWithoutKernelHelp(t *testing.T) {
	before := children(os.Getpid()) // what other tests left dead
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { c.Process.Kill(); c.Wait() }()
	for name, list := range map[string][]int{"children": children(os.Getpid()), "childrenOf": childrenOf(os.Getpid())} {
		list = slices.DeleteFunc(list, func(pid int) bool { return slices.Contains(before, pid) })
		if len(list) != 1 || list[0] != c.Process.Pid {
			t.Errorf("%s: got %v, want %d", name, list, c.Process.Pid)
		}
	}
}
