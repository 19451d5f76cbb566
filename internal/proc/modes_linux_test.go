package proc

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestToolModes: whatever a tool does, its call ends within two seconds of its
// deadline, nothing of it is left, and its end is called by the right name.
func TestToolModes(t *testing.T) {
	const timeout = 200 * time.Millisecond
	noGoroutineLeft(t)
	var worst time.Duration
	for _, row := range []struct {
		name, script string
		cause        Cause
		code         int
		out          string // "*" is any
	}{
		{"sleeps for ever", `sleep 1000`, TimedOut, -1, ""},
		{"ignores SIGTERM", `trap '' TERM INT HUP; while :; do sleep 1000; done`, TimedOut, -1, "*"},
		{"stops itself", `kill -STOP $$`, TimedOut, -1, ""},
		{"ends well on SIGTERM", `trap 'echo bye; exit 5' TERM; while :; do sleep 0.01; done`, TimedOut, 5, "*"},
		{"leaves a child", `sleep 1000 & echo ok`, Exited, 0, "ok\n"},
		{"leaves a daemon", `(setsid sleep 1000 &); echo ok; exit 3`, Exited, 3, "ok\n"},
		{"leaves a tree of daemons", `setsid sh -c 'setsid sleep 1000 & (setsid sleep 1001 &); sleep 1002' & exit 0`, Exited, 0, ""},
		{"leaves a daemon that ignores all", `setsid sh -c 'trap "" 1 2 3 15; while :; do sleep 1000; done' & sleep 0.05`, Exited, 0, "*"},
		{"daemon without environment", `env -i setsid sleep 1000 & sleep 0.05`, Exited, 0, ""},
		{"daemon with another's mark", `ROUSE_CHILD=other.1 setsid sleep 1000 & sleep 0.05`, Exited, 0, ""},
		{"daemon that has a job in its own group", `setsid bash -c 'set -m; sleep 1000 & sleep 1001 & wait' & sleep 0.05`, Exited, 0, ""},
		{"daemon that died before", `setsid true & (setsid true &); sleep 0.05`, Exited, 0, ""},
		{"leader gone, group stays", `sh -c 'sleep 1000 & sleep 1001 &'; kill -9 $$`, Signaled, -1, ""},
		{"many children", `for i in $(seq 200); do sleep 1000 & done; wait`, TimedOut, -1, ""},
		{"fork bomb of 255", `b() { [ $1 -gt 0 ] && { b $(($1-1)) & b $(($1-1)) & }; sleep 1000; }; b 7`, TimedOut, -1, ""},
		{"forks and exits for ever", `f() { f & }; f; sleep 1000`, TimedOut, -1, "*"},
		{"daemons fork daemons", `for i in $(seq 40); do setsid sh -c 'setsid sleep 1000 & setsid sleep 1001 & sleep 1002' & done; exit 0`, Exited, 0, ""},
		{"ever new sessions", `printf 'sleep 0.002; setsid sh ./again &' > again; sh ./again; sleep 0.1`, Exited, 0, "*"},
		{"closes its output and goes on", `exec >&- 2>&-; sleep 1000`, TimedOut, -1, ""},
		{"reads stdin", `cat; echo end`, Exited, 0, "end\n"},
		{"needs a terminal", `exec 3<>/dev/tty; echo no`, Exited, 2, "*"},
		{"binary, invalid UTF-8, escapes", `printf '\000\377\376\033]0;title\007\r\n'`, Exited, 0, "\x00\xff\xfe\x1b]0;title\a\r\n"},
		{"deletes its folder", `rm -rf "$PWD"; echo ok; setsid sleep 1000 &`, Exited, 0, "ok\n"},
		{"fills the disk", `ulimit -f 8; exec cat /dev/zero > f`, Signaled, -1, "*"},
		{"eats memory", `ulimit -v 60000; head -c 1000000000 /dev/zero | exec tail -c 1000000000`, Exited, 1, "*"},
		{"ended by a program's death", `sh -c 'kill -9 $$'; exit $?`, Exited, 137, "*"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := Command{Timeout: timeout, Grace: timeout, MaxOutput: 1 << 20}
			switch {
			case row.cause != TimedOut: // it ends by itself, on a busy machine too
				c.Timeout = 0
			case row.code >= 0: // it ends itself
				c.Timeout, c.Grace = time.Second, time.Minute
			}
			got := sh(t, newRunner(), row.script, c)
			if got.Cause != row.cause || got.Code != row.code || row.out != "*" && got.out != row.out {
				t.Errorf("%s: got %+v, output %q; want %s, code %d, %q", row.script, got.Exit, got.out, row.cause, row.code, row.out)
			}
			over := got.took - c.Timeout
			if c.Timeout > 0 {
				worst = max(worst, over)
			}
			if c.Timeout > 0 && over > max(2*time.Second, 100*lag(t)) {
				t.Errorf("ended %v after its deadline", over)
			}
		})
	}
	t.Logf("worst over-run %v", worst.Round(time.Millisecond))
}

// TestFlood: output ends at the limit, to the byte, whatever pours out, and is
// never held in memory.
func TestFlood(t *testing.T) {
	const limit = 64 << 20
	for _, row := range []struct {
		name, script string
		cause        Cause
		bytes        int64
	}{
		{"10 GB of one line", `head -c 10000000000 /dev/zero`, Flooded, limit},
		{"10 GB of newlines", `yes '' | head -c 10000000000`, Flooded, limit},
		{"endless stderr", `cat /dev/zero >&2`, Flooded, limit},
		{"both streams", `cat /dev/zero >&2 & cat /dev/zero`, Flooded, limit},
		{"ignores that nobody reads", `trap '' PIPE TERM; while :; do head -c 1000000 /dev/zero; done 2>&1`, Flooded, limit},
		{"from a daemon", `setsid cat /dev/zero & exec sleep 1000`, Flooded, limit},
		{"exactly the limit", `head -c 67108864 /dev/zero`, Exited, limit},
	} {
		t.Run(row.name, func(t *testing.T) {
			noGoroutineLeft(t)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out, errs := &counter{}, &counter{}
			got := sh(t, newRunner(), row.script, Command{Stdout: out, Stderr: errs, MaxOutput: limit, Timeout: 30 * time.Second, Grace: 200 * time.Millisecond})
			runtime.ReadMemStats(&after)
			if got.Cause != row.cause || got.Bytes != row.bytes || out.n+errs.n != row.bytes {
				t.Errorf("got %+v, passed on %d + %d", got.Exit, out.n, errs.n)
			}
			if alloc := after.TotalAlloc - before.TotalAlloc; alloc > limit/8 {
				t.Errorf("allocated %d bytes", alloc)
			}
		})
	}
}

type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

// TestFloodAtTheEnd: too much output is too much also if the child is done
// before we read it.
func TestFloodAtTheEnd(t *testing.T) {
	got := sh(t, newRunner(), `echo 123456789; exit 0`, Command{MaxOutput: 4})
	if got.Cause != Flooded || got.out != "1234" || got.Bytes != 4 {
		t.Errorf("got %+v, %q", got.Exit, got.out)
	}
}

// TestEveryExitCode and every signal come back as what they are.
func TestEveryExitCode(t *testing.T) {
	r, dir := newRunner(), t.TempDir()
	for code := range 256 {
		e, err := r.Run(t.Context(), Command{Argv: []string{"sh", "-c", fmt.Sprintf("exit %d", code)}, Dir: dir})
		if err != nil || e.Cause != Exited || e.Code != code || e.Signal != "" || e.OK() != (code == 0) {
			t.Errorf("exit %d: got %+v, %v", code, e, err)
		}
	}
}

func TestEverySignal(t *testing.T) {
	r := newRunner()
	for n := syscall.Signal(1); n < 32; n++ {
		if signal.Ignored(n) {
			continue // as nohup has it: children inherit that
		}
		want := Exit{Cause: Signaled, Code: -1, Signal: unix.SignalName(n)}
		switch n {
		case unix.SIGCHLD, unix.SIGCONT, unix.SIGURG, unix.SIGWINCH: // ignored
			want = Exit{Cause: Exited}
		case unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU: // nobody could continue it
			want = Exit{Cause: Exited}
		case unix.SIGSTOP:
			want = Exit{Cause: TimedOut, Code: -1, Signal: "SIGTERM"}
		}
		got := sh(t, r, fmt.Sprintf("kill -%d $$", n), Command{Timeout: 200 * time.Millisecond})
		if got.Cause != want.Cause || got.Code != want.Code || got.Signal != want.Signal {
			t.Errorf("%s: got %+v", unix.SignalName(n), got.Exit)
		}
		if said := strings.Contains(got.String(), "out-of-memory"); said != (n == unix.SIGKILL) {
			t.Errorf("%s: says %q", unix.SignalName(n), got)
		}
	}
}

// TestChildState: what a child finds when it starts.
func TestChildState(t *testing.T) {
	dir := t.TempDir()
	// Descriptors that children would inherit: one that Rouse itself inherited,
	// one that a library forgot to close.
	leaked, err := unix.FcntlInt(os.Stdin.Fd(), unix.F_DUPFD, 20)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leaked)
	extra, err := os.Create(filepath.Join(dir, "extra"))
	if err != nil {
		t.Fatal(err)
	}
	defer extra.Close()
	r := &Runner{Mark: "m", Env: Environ([]string{"HOME=/h", "LC_ALL=C", "MODEL_API_KEY=no", "https_proxy=http://u:p@h", "http_proxy=http://h", "ROUSE_CHILD=outer.7"}, "A=1")}
	got := sh(t, r, `env | sort | grep -v ^_=; pwd; readlink /proc/$$/fd/0
		for i in $(seq 3 63); do [ -e /proc/$$/fd/$i ] && echo fd $i; done
		read -r pid comm state ppid pgrp session tty rest < /proc/$$/stat
		[ $pid = $$ ] && [ $pgrp = $$ ] && [ $session = $$ ] && echo leads
		echo tty $tty; ulimit -Sc; echo err >&2`, Command{Dir: dir, Env: []string{"A=2", "ROUSE_CHILD=forged"}, ExtraFiles: []*os.File{extra}})
	want := strings.Join([]string{"A=2", "HOME=/h", "LC_ALL=C", "PATH=" + defaultPath, "PWD=" + dir, "ROUSE_CHILD=outer.7/m.1", "TERM=dumb", "http_proxy=http://h",
		dir, "/dev/null", "fd 3", "leads", "tty 0", "0", "err", ""}, "\n")
	if got.out != want {
		t.Errorf("got\n%s\nwant\n%s", got.out, want)
	}
}

func TestStartRefused(t *testing.T) {
	noGoroutineLeft(t)
	r := newRunner()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		c    Command
		want string
	}{
		{Command{}, "start: no program"},
		{Command{Argv: []string{""}}, "no such program"},
		{Command{Argv: []string{"no-such-program"}}, "start no-such-program: no such program in "},
		{Command{Argv: []string{"env"}, Env: []string{"PATH=relative"}}, "no such program in relative"},
		{Command{Argv: []string{file}}, "permission denied"},
		{Command{Argv: []string{"env", "a\x00b"}}, "argument 1 contains a NUL"},
		{Command{Argv: []string{"env"}, Dir: file}, "not a folder"},
		{Command{Argv: []string{"env"}, Dir: file + "-not"}, "no such file"},
	} {
		row.c.Stdin, row.c.Stdout = strings.NewReader("x"), io.Discard
		_, err := r.Start(t.Context(), row.c)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%+v: got %v, want %q", row.c.Argv, err, row.want)
		}
	}
	if len(r.living) > 0 {
		t.Errorf("still counted as living: %v", r.living)
	}
}
