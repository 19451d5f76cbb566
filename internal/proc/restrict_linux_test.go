package proc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/internal/sandbox"
	"rouse/internal/sweep"
)

// site is a folder with what a box lets through and what it does not.
type site struct {
	dir    string
	policy sandbox.Policy
}

func newSite(t *testing.T) site {
	t.Helper()
	s := site{dir: t.TempDir()}
	for _, name := range []string{"home/desk/kept", "home/open", "outside"} {
		if err := os.MkdirAll(s.at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"home/key", "home/rules", "home/desk/kept/file", "outside/file"} {
		if err := os.WriteFile(s.at(name), []byte("old\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(s.at("home/key"), s.at("home/link")); err != nil {
		t.Fatal(err)
	}
	s.policy = sandbox.Policy{
		Read: []string{"/"}, Write: []string{s.at("home/desk"), s.at("home/open"), s.at("not/there")},
		Hidden: []string{s.at("home/key"), s.at("not/there/either"), s.at("home/open/STOP")},
		Temp:   s.at("home/tmp"), Cache: s.at("home/cache"), Network: sandbox.None,
	}
	return s
}

func (s site) at(name string) string { return filepath.Join(s.dir, name) }

// landlocked is the machine without bubblewrap.
func landlocked(t *testing.T) sandbox.System {
	t.Helper()
	s := sandbox.Look()
	if !s.Confines() {
		t.Skip("no Landlock here")
	}
	return s
}

// abis are those to try: the oldest that is used and the kernel's own, or all of them.
func abis(now sandbox.System) (list []int) {
	for abi := 2; abi <= now.Landlock; abi++ {
		if abi == 2 || abi == now.Landlock || os.Getenv("ROUSE_SWEEP") != "" {
			list = append(list, abi)
		}
	}
	return list
}

// TestRestrictFiles: what a box with each ABI lets a shell do with files.
func TestRestrictFiles(t *testing.T) {
	asUser(t)
	now := landlocked(t)
	for _, abi := range abis(now) {
		t.Run(fmt.Sprint("ABI ", abi), func(t *testing.T) {
			s := newSite(t)
			system := now
			system.Landlock = abi
			box := sandbox.New(s.policy, system)
			for _, row := range []struct {
				script string
				ok     bool
			}{
				{`ls / /dev "$SITE/home" >/dev/null && cat home/rules home/desk/kept/file /proc/self/status /etc/passwd >/dev/null`, true},
				{`echo x >/dev/null && echo x >>/dev/zero && [ "$(head -c 3 /dev/urandom | wc -c)" = 3 ] && head -c 1 /dev/zero >/dev/null`, true},
				{`f=/dev/shm/rouse.$$; echo x >$f && rm $f`, true},
				{`cd home/desk && mkdir a b && echo x >a/x && mv a/x b/y && ln b/y a/z && ln -s y b/l && rm -r a && mkfifo f && : >b/y`, true},
				{`echo x >"$TMPDIR/x" && mkdir -p "$XDG_CACHE_HOME/y"`, true},
				{`echo x >/dev/stdout && echo x | tee /dev/stderr >/dev/fd/1 && cat </dev/null`, true},
				{`for fd in 3 4 5 6; do [ ! -e /proc/$$/fd/$fd ] || exit 1; done`, true},
				{`cp /bin/true home/desk/program && home/desk/program`, true},
				{`echo x >outside/new`, false},
				{`echo x >>outside/file`, false},
				{`rm -f outside/file`, false},
				{`mv outside/file home/desk`, false},
				{`ln outside/file home/desk`, false},
				{`mkdir outside/folder`, false},
				{`echo x >>home/rules`, false},
				{`mv home home2`, false},
				{`mv home/desk home/work2`, false},
				{`cat home/key`, false},
				{`cat home/link`, false},
				{`cat "/proc/self/root$SITE/home/key"`, false},
				{`ln home/key home/desk/key`, false},
				{`ln -s ../key home/desk/key && cat home/desk/key`, false},
				{`echo >home/open/STOP`, false},
				{`echo x >/tmp/rouse.$$`, false},
				{`cat /proc/$ROUSE/environ`, false},
				{`: >/dev/kmsg`, false},
			} {
				got := sh(t, newRunner(), row.script, Command{Dir: s.dir, Box: box, Env: []string{"SITE=" + s.dir, fmt.Sprint("ROUSE=", os.Getpid())}})
				if got.OK() != row.ok {
					t.Errorf("%s: %v %s", row.script, got.Exit, got.out)
				}
			}
			for _, name := range []string{"home/key", "home/rules", "outside/file"} {
				if b, err := os.ReadFile(s.at(name)); string(b) != "old\n" {
					t.Errorf("%s: %q, %v", name, b, err)
				}
			}
		})
	}
}

// TestRestrictCalls: what a box with each ABI answers to what no shell does.
func TestRestrictCalls(t *testing.T) {
	asUser(t)
	now := landlocked(t)
	l, err := net.Listen("unix", "@"+t.Name()+fmt.Sprint(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	name := strings.TrimPrefix(l.Addr().String(), "@")
	for _, abi := range abis(now) {
		s := newSite(t)
		system := now
		system.Landlock = abi
		signal, truncated := "ok", "EACCES"
		if abi >= 6 {
			signal = "EPERM"
		}
		file := s.at("outside/file")
		try := func(p sandbox.Policy, want string) {
			t.Helper()
			var names []string
			for pair := range strings.FieldsSeq(want) {
				name, _, _ := strings.Cut(pair, "=")
				names = append(names, name)
			}
			got := attempted(t, newRunner(), Command{Box: sandbox.New(p, system)}, names...)
			for i, pair := range strings.Fields(want) {
				_, answer, _ := strings.Cut(pair, "=")
				if !strings.HasSuffix(strings.Fields(got)[i], "="+answer) {
					t.Errorf("ABI %d, %s, sockets %t: got %s, want %s", abi, p.Network, p.UnixSockets, strings.Fields(got)[i], answer)
				}
			}
		}
		try(s.policy, fmt.Sprintf("truncate:%[1]s=%[2]s empty:%[1]s=EACCES empty3:%[1]s=EACCES append:%[1]s=EACCES rewrite:%[1]s=EACCES", file, truncated))
		try(s.policy, fmt.Sprintf("read:%[1]s=ok rewrite:%[1]s=ok append:%[1]s=ok device:%[2]s=EACCES", s.at("home/desk/kept/file"), s.at("home/desk/disk")))
		try(s.policy, fmt.Sprintf("kill:%[1]d=%[2]s limit:%[1]d=EPERM limits:%[1]d=ok ownLimit=ok memory:%[1]d=EPERM killThread:%[1]d=%[2]s readThread:%[1]d=EACCES traceThread:%[1]d=EPERM mount:%[3]s=EPERM", os.Getpid(), signal, s.dir))
		try(s.policy, "nested:"+s.at("home/desk")+"=ok")
		try(s.policy, "inet=EACCES inet6=EACCES netlink=EACCES unix=EACCES pair=ok packets=ok datagrams=EACCES raw=EACCES uring=ENOSYS keys=EPERM bpf=EPERM")
		p := s.policy
		p.UnixSockets = true
		abstract := "ok"
		if abi >= 6 {
			abstract = "EPERM"
		}
		try(p, "inet=EACCES inet6=EACCES unix=ok pair=ok datagrams=ok abstract:"+name+"="+abstract)
		p.Network = sandbox.Open
		try(p, "inet=ok inet6=ok netlink=ok unix=ok pair=ok datagrams=ok")
		p.UnixSockets = false
		try(p, "inet=ok unix=EACCES pair=ok datagrams=EACCES")
		p.Network = sandbox.Listed
		try(p, "inet=EACCES unix=EACCES pair=ok")
		if b, err := os.ReadFile(file); string(b) != "old\n" {
			t.Errorf("ABI %d: the file is %q, %v", abi, b, err)
		}
		if !strings.Contains(fmt.Sprint(sandbox.New(p, system).Holds()), "signals reach") != (abi >= 6) {
			t.Errorf("ABI %d: what of signals is kept is not said", abi)
		}
	}
}

// TestRestrictTruncates: files that a box lets be written are emptied with each ABI.
func TestRestrictTruncates(t *testing.T) {
	now := landlocked(t)
	for _, abi := range abis(now) {
		s := newSite(t)
		system := now
		system.Landlock = abi
		got := sh(t, newRunner(), `echo x >kept/file && truncate -s 0 kept/file && [ ! -s kept/file ]`, Command{Dir: s.at("home/desk"), Box: sandbox.New(s.policy, system)})
		if !got.OK() {
			t.Errorf("ABI %d: %v %s", abi, got.Exit, got.out)
		}
	}
}

// TestRestrictNetworkOnly: a box that lets everything be written still refuses sockets.
func TestRestrictNetworkOnly(t *testing.T) {
	s := newSite(t)
	s.policy = sandbox.Policy{Read: []string{"/"}, Write: []string{"/"}, Network: sandbox.None}
	box := sandbox.New(s.policy, landlocked(t))
	if got := sh(t, newRunner(), `echo x >outside/new && mkdir new && mv new home && rm home/key && cat /proc/self/oom_score_adj >/proc/self/oom_score_adj`, Command{Dir: s.dir, Box: box}); !got.OK() {
		t.Errorf("%v %s", got.Exit, got.out)
	}
	if got := attempted(t, newRunner(), Command{Box: box}, "inet", "pair"); got != "inet=EACCES pair=ok" {
		t.Error(got)
	}
}

// TestRestrictLater: what appears while a box is in use.
func TestRestrictLater(t *testing.T) {
	s := newSite(t)
	box := sandbox.New(s.policy, landlocked(t))
	run := func(script string) bool {
		return sh(t, newRunner(), script, Command{Dir: s.dir, Box: box}).OK()
	}
	if !run("true") {
		t.Fatal("the box does not work")
	}
	for _, name := range []string{"home/later", "outside/later", "home/desk/later"} {
		if err := os.WriteFile(s.at(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if run("cat home/later") || !run("cat outside/later && cat home/desk/later && echo x >home/desk/later") {
		t.Error("beside something hidden a later file is not read, elsewhere it is")
	}
}

// TestRestrictPrivileges: no setuid program and no capability helps.
func TestRestrictPrivileges(t *testing.T) {
	asUser(t)
	s := newSite(t)
	got := sh(t, newRunner(), `grep -E 'NoNewPrivs|Seccomp:|CapEff' /proc/self/status`, Command{Dir: s.at("home/desk"), Box: sandbox.New(s.policy, landlocked(t))})
	var capable uint64
	if n, err := fmt.Sscanf(got.out, "CapEff: %x\nNoNewPrivs: 1\nSeccomp: 2\n", &capable); n != 1 || err != nil {
		t.Errorf("got %q, %v", got.out, err)
	}
	kept := uint64(0)
	if os.Getuid() == 0 {
		kept = 0x424fb // of those that root has here
	}
	if capable&^kept != 0 {
		t.Errorf("capabilities %x", capable)
	}
}

// TestRestrictArchitectures: the filter cannot be passed by the numbers of another
// architecture.
func TestRestrictArchitectures(t *testing.T) {
	s := newSite(t)
	box := sandbox.New(s.policy, landlocked(t))
	program := s.at("home/desk/program")
	i386(t, program)
	if got := sh(t, newRunner(), "exec "+program, Command{}); got.Code != 7 {
		t.Logf("no 32-bit programs here: %v", got.Exit)
	} else if got = sh(t, newRunner(), "exec "+program, Command{Box: box}); got.Signal != "SIGSYS" {
		t.Errorf("a 32-bit program: %v", got.Exit)
	} else if _, err := newRunner().Run(t.Context(), Command{Argv: []string{program}, Box: box}); err == nil || !strings.Contains(err.Error(), "another architecture") {
		t.Errorf("a 32-bit program that is started: %v", err)
	}
	if got := attempted(t, newRunner(), Command{Box: box}, "x32"); got != "x32=ENOSYS" {
		t.Error(got)
	}
}

// TestRestrictLimits: each limit binds, from the first instruction.
func TestRestrictLimits(t *testing.T) {
	asUser(t)
	s := newSite(t)
	s.policy.Limits = sandbox.Limits{Memory: 64 << 20, OpenFiles: 99, FileSize: 1 << 20, CPU: time.Second}
	box := sandbox.New(s.policy, landlocked(t))
	rows := []struct{ script, want string }{
		{`ulimit -n; ulimit -Hn; ulimit -Hd; ulimit -f; ulimit -t; ulimit -Ht`, "99\n99\n65536\n2048\n1\n2\n: exit code 0"},
		{`ulimit -n 100 2>/dev/null || echo bound`, "bound\n: exit code 0"},
		{`head -c 100000000 /dev/zero | tail >/dev/null 2>&1 || echo bound`, "bound\n: exit code 0"},
		{`exec head -c 2000000 /dev/zero >file`, ": killed by SIGXFSZ"},
		{`while :; do :; done`, ": killed by SIGXCPU"}, // a second
	}
	for _, row := range rows[:sweep.Of(len(rows)-1, len(rows), len(rows))] {
		got := sh(t, newRunner(), row.script, Command{Dir: s.at("home/desk"), Box: box})
		if s := got.out + ": " + got.String(); s != row.want {
			t.Errorf("%s: got %q, want %q", row.script, s, row.want)
		}
	}
}

// TestRestrictRefused: where children cannot be held, nothing is started.
func TestRestrictRefused(t *testing.T) {
	for _, without := range []func(*sandbox.System){
		func(s *sandbox.System) { s.Tracing = false },
		func(s *sandbox.System) { s.Seccomp = false },
		func(s *sandbox.System) { s.Landlock = 1 },
	} {
		s, system := newSite(t), landlocked(t)
		without(&system)
		_, err := newRunner().Run(t.Context(), Command{Argv: []string{"true"}, Box: sandbox.New(s.policy, system)})
		if !errors.Is(err, sandbox.ErrNone) {
			t.Errorf("%+v: %v", system, err)
		}
	}
}
