package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rouse/internal/proc"
	"rouse/internal/sandbox"
	"rouse/internal/sweep"
)

// work is something that people have an agent do, as a script for sh -e. It is done in
// a folder of the workspace, where SERVER is a host that the sandbox lets it reach.
type work struct {
	name   string
	needs  string // programs and Python's modules, such as python3:pandas
	script string
	sample bool   // is done in every test, as no more than sh, git and tar is needed
	slow   bool   // takes seconds: is done as an ordinary user only, but in a full sweep
	full   bool   // is done in a full sweep only
	lacks  string // what a line of sandbox: has to say where there is no bubblewrap
}

func works() []work {
	return []work{
		{name: "tar", needs: "tar gzip", sample: true, script: `
mkdir -p tree/a/b; for i in 1 2 3; do echo $i >tree/a/b/$i; done; ln -s b tree/a/link; chmod 750 tree/a
tar czf tree.tgz tree; mkdir out; tar xzf tree.tgz -C out; diff -r tree out/tree; test "$(stat -c %a out/tree/a)" = 750`},
		{name: "git", needs: "git", sample: true, script: `
git init -q one; cd one; git config user.name a; git config user.email b@c; git config --list >/dev/null
echo 1 >f; git add f; git commit -qm first; git checkout -qb other; echo 2 >f; git commit -qam second; git rebase -q HEAD~1; git gc -q; git stash list
cd ..; git clone -q one two; cmp one/f two/f; git -C two worktree add -q ../three; git -C two fsck`},
		{name: "temporary files", needs: "mktemp sort", sample: true, script: `
f=$(mktemp); echo x >$f; d=$(mktemp -d); mv $f $d/f; cat $d/f; mv $d here; (cat <<END
of the shell
END
) | grep shell; seq 100 | sort -R -S 1K --parallel=2 | sort -n | tail -1 | grep -x 100; echo >/dev/null; : >/dev/shm/x.$$; rm /dev/shm/x.$$`},
		{name: "sort of a large file", needs: "sort base64", slow: true, script: fmt.Sprintf(`
export LC_ALL=C; head -c %d /dev/urandom | base64 -w 100 >large; sort -S 8M large >sorted; sort -c sorted; test $(wc -l <large) = $(wc -l <sorted); rm large sorted`, sweep.Of(36, 36, 760)<<20)},
		{name: "disk", needs: "df du", script: `
df -h . >/dev/null; df -h | grep -q /; du -xd1 ~ | sort -n | grep -q cargo; du -xsk /usr/share/doc >/dev/null; find /usr -xdev -size +1M | head -3 >found; test -s found; ls -la / ~ >/dev/null`},
		{name: "sqlite", needs: "sqlite3", script: `
sqlite3 a.db "pragma journal_mode=wal; create table t (n); insert into t values (1), (2); select sum(n) from t" | grep -x 3
sqlite3 a.db vacuum; sqlite3 a.db .dump | grep -q INSERT`},
		{name: "ssh-keygen", needs: "ssh-keygen", script: `ssh-keygen -q -t ed25519 -N '' -f key; ssh-keygen -lf key.pub; test "$(stat -c %a key)" = 600`},
		{name: "C", needs: "cc make", script: `
printf '#include <stdio.h>\n#include <math.h>\nint main(int c, char **v) { printf("%%.0f\\n", sqrt(c * 49.0)); return 0; }\n' >main.c
printf 'main: main.o\n\tcc -pipe -o $@ $< -lm\nmain.o: main.c\n\tcc -O2 -g -c -o $@ $<\n' >Makefile
make -j2; ./main | grep -x 7; ar rcs lib.a main.o; strip main; ./main`},
		{name: "Go", needs: "go", slow: true, script: `
printf 'module x.example/y\n\ngo 1.21\n' >go.mod; printf 'package main\n\nfunc main() { println(7) }\n' >main.go
export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local CGO_ENABLED=0; go build -o y .; ./y 2>&1 | grep -x 7; go run . 2>&1 | grep -x 7`},
		{name: "Go's tests", needs: "go", full: true, script: `
printf 'module x.example/y\n\ngo 1.21\n' >go.mod; printf 'package main\n\nimport "testing"\n\nfunc TestX(t *testing.T) { t.Log(t.TempDir()) }\n' >main_test.go
export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local CGO_ENABLED=0; go vet .; go test .`},
		{name: "Chromium", needs: "chromium", slow: true, script: `
echo '<h1>Hello</h1>' >page.html; no=; { [ $(id -u) != 0 ] && [ $TMPDIR = /tmp ]; } || no=--no-sandbox
chromium --headless $no --no-proxy-server --disable-gpu --user-data-dir=$PWD/profile --screenshot=$PWD/page.png file://$PWD/page.html; test $(head -c 4 page.png | tail -c 3) = PNG`, lacks: "unix_sockets: true"},
		{name: "Python", needs: "/usr/bin/python3", script: `cat >x.py <<END
import asyncio, ctypes, multiprocessing as m, os, shutil, sqlite3, subprocess, sys, tempfile, threading, concurrent.futures as f
def square(n): return n * n
async def talk():
    p = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    out, _ = await p.communicate(b"said")
    q = await asyncio.create_subprocess_shell("exit 3")
    r, w = os.pipe()
    return out, await q.wait(), await asyncio.to_thread(square, 4)
if __name__ == "__main__":
    for how in "fork", "spawn":
        c = m.get_context(how)
        with c.Pool(2) as pool: assert pool.map(square, range(5)) == [0, 1, 4, 9, 16]
        q, l, v = c.Queue(), c.Lock(), c.Value("i", 3)
        p = c.Process(target=q.put, args=(7,)); p.start(); assert q.get() == 7; p.join()
    with f.ProcessPoolExecutor(2) as pool: assert list(pool.map(square, [3])) == [9]
    assert asyncio.run(talk()) == (b"said", 3, 16)
    from multiprocessing import shared_memory
    s = shared_memory.SharedMemory(create=True, size=99); s.buf[0] = 1; s.close(); s.unlink()
    with tempfile.TemporaryDirectory() as d: shutil.copytree(".", d, dirs_exist_ok=True)
    print(shutil.disk_usage(".").free > 0)
END
/usr/bin/python3 x.py`},
		{name: "Python's Manager", needs: "/usr/bin/python3", lacks: "unix_sockets: true", script: `cat >x.py <<END
import multiprocessing as m
if __name__ == "__main__":
    with m.Manager() as all:
        d = all.dict(a=1); d["b"] = 2; print(d.copy())
    with m.get_context("forkserver").Pool(2) as p: print(p.map(abs, [-1]))
END
/usr/bin/python3 x.py | grep "'b': 2"`},
	}
}

// fetching is work for which a host is asked for something.
func fetching() []work {
	return []work{
		{name: "git to a host", needs: "git", script: `
git clone -q http://SERVER/git/one.git w; cd w; head -c 3000000 /dev/urandom >large; git add .
git -c user.name=a -c user.email=b commit -qm one; git -c http.postBuffer=9000000 push -q origin HEAD:$NAME
cd ..; git clone -q -b $NAME http://SERVER/git/one.git again; cmp w/large again/large`},
		{name: "pip", needs: "/usr/bin/python3:ensurepip", slow: true, script: `
/usr/bin/python3 -m venv v; v/bin/pip install -q --index-url http://SERVER/simple/ --trusted-host ${SERVER%:*} small; v/bin/python -c 'import small; print(small.word)' | grep -x 7; v/bin/pip freeze | grep small==1.0`},
		{name: "npm", needs: "npm node", slow: true, script: `
echo registry=http://SERVER/npm/ >.npmrc; npm init -y >/dev/null; npm install small; node -e 'console.log(require("small"))' | grep -x 7
npm install http://SERVER/npm/small.tgz; npm run env >/dev/null; npx -y small | grep -x 8`},
		{name: "apt", needs: "apt-get", script: `
mkdir -p lists/partial; echo "deb [trusted=yes] http://SERVER/apt ./" >sources.list
apt="apt-get -q -o Dir::Etc::sourcelist=$PWD/sources.list -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=$PWD/lists -o Dir::Cache=$PWD"
$apt update; $apt download small; grep -x 'a package' small_1_all.deb`},
	}
}

// TestRealWork: what people have an agent do, with walls: as an ordinary user and as
// root, with bubblewrap and, where the kernel has Landlock, without.
func TestRealWork(t *testing.T) {
	if ok, err := conditions(t)("sandbox"); err != nil || !ok {
		t.Skip("nothing can confine a process here", err)
	}
	for _, bare := range []bool{false, true} {
		for _, nobody := range []bool{true, false} {
			if nobody && os.Getuid() != 0 {
				continue
			}
			t.Run(fmt.Sprintf("bare %v, nobody %v", bare, nobody), func(t *testing.T) {
				t.Parallel()
				site := newWorkSite(t, bare, nobody)
				for _, w := range append(works(), fetching()...) {
					t.Run(w.name, func(t *testing.T) { site.do(t, w) })
				}
				t.Run("notebooks", site.notebooks)
				t.Run("servers", site.servers)
			})
		}
	}
}

// workSite is a home in which work is done.
type workSite struct {
	*rig
	server   string
	bare     bool
	programs string // where programs are, as PATH has it
}

// newWorkSite makes a home in that of a person who keeps what people keep, outside of
// /tmp, which is another one inside.
func newWorkSite(t *testing.T, bare, nobody bool) *workSite {
	dir, err := os.MkdirTemp("/var/tmp", "rouse-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &workSite{&rig{t: t, home: filepath.Join(dir, "home")}, serveWork(t), bare, programs()}
	s.write("rules.md", "You are Rouse.\n")
	for _, name := range []string{".npmrc", ".netrc", ".git-credentials", ".pypirc", ".ssh/known_hosts", ".docker/config.json", ".gnupg/x", ".bash_history", ".cargo/credentials.toml", ".pgpass"} {
		s.write("../"+name, "")
	}
	if bare {
		if sandbox.Look().Landlock < 2 {
			t.Skip("no Landlock")
		}
		s.write("../bin/bwrap", "#!/bin/sh\nexit 1\n")
		if err := os.Chmod(s.path("../bin/bwrap"), 0o755); err != nil {
			t.Fatal(err)
		}
		s.programs = s.path("../bin") + ":" + s.programs
	}
	s.env = append(s.env, "PATH="+s.programs)
	if nobody {
		s.asNobody()
		if err := chownTree(dir); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// programs is a PATH for everybody, not that of whoever runs the test; Go has a folder
// of its own.
func programs() string {
	path := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	if program, err := exec.LookPath("go"); err == nil && passable(filepath.Dir(program)) {
		path += ":" + filepath.Dir(program)
	}
	return path
}

// passable says whether everybody reaches what is in a folder.
func passable(dir string) bool {
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode()&0o001 == 0 {
			return false
		}
	}
	return true
}

// chownTree gives a folder to the ordinary user.
func chownTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, 65534, 65534)
		}
		return err
	})
}

// configure writes rouse.yaml: no list of hosts is kept without bubblewrap.
func (s *workSite) configure(lacks, more string) {
	network := "network: listed, hosts: ['" + s.server + "']"
	if s.bare {
		network = "network: open"
	}
	if s.bare && lacks != "" {
		network += ", " + lacks
	}
	s.write("rouse.yaml", "posture: careful\npolicy: [{do: allow}]\nsandbox: {"+network+"}\n"+more+"\n")
	s.own("rouse.yaml")
}

// own gives what the test wrote to the user of the home.
func (s *workSite) own(names ...string) {
	for _, name := range names {
		if s.user == nil {
			return
		}
		if err := os.Chown(s.path(name), int(s.user.Uid), int(s.user.Gid)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// do does the work in a cycle.
func (s *workSite) do(t *testing.T, w work) {
	if !sweep.Of(w.sample, !w.full && !(w.slow && s.user == nil && os.Getuid() == 0), true) {
		t.Skip("wide or full")
	}
	s.have(t, w.needs)
	s.t = t
	s.configure(w.lacks, "model: {provider: offline}")
	name := strings.ReplaceAll(strings.ToLower(w.name), " ", "-")
	head := fmt.Sprintf("set -eu; mkdir -p %[1]s; cd %[1]s; SERVER=%[2]s NAME=%[1]s\n", strings.ReplaceAll(name, "'", ""), s.server)
	s.write("workspace/work.sh", head+strings.ReplaceAll(w.script, "http://SERVER", "http://"+s.server))
	s.own("workspace", "workspace/work.sh")
	if o := s.rouse("run", "--task", `shell command="sh work.sh 2>&1" timeout_seconds=230`); o.code != 0 || strings.Contains(s.journal(), `"event":"refused"`) {
		t.Errorf("%+v\n%s", o, s.journal())
	}
	if o := s.rouse("reset"); o.code != 0 {
		t.Fatal(o.stderr)
	}
}

// journal is that of the last cycle.
func (s *workSite) journal() string {
	logs := s.glob("logs/cycle_*.jsonl")
	if len(logs) == 0 {
		return ""
	}
	return s.read(filepath.Join("logs", filepath.Base(logs[len(logs)-1])))
}

// have leaves out what needs something that is not here.
func (s *workSite) have(t *testing.T, needs string) {
	t.Helper()
	for need := range strings.FieldsSeq(needs) {
		name, module, _ := strings.Cut(need, ":")
		program, err := proc.LookPath(name, s.programs)
		if err != nil {
			t.Skip(name + " is not here")
		}
		if module != "" && exec.Command(program, "-c", "import "+module).Run() != nil {
			t.Skip(module + " of Python is not here")
		}
	}
}
