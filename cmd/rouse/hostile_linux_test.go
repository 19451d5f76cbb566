package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rouse/internal/sandbox"
)

// tries is what a hostile command does, each by a script that succeeds where it came
// through. What is not kept off, by "Landlock" or "bubblewrap", is named by rouse doctor in
// the words that follow.
var tries = []struct{ name, script, named string }{
	{"memory read", `cat $H/scratchpad/active.yaml`, ""},
	{"memory written", `echo 'goals: [evil]' >>$H/scratchpad/active.yaml`, ""},
	{"memory replaced", `echo x >new; mv new $H/scratchpad/active.yaml`, ""},
	{"memory listed", `ls $H/scratchpad | grep .`, "Landlock: names"},
	{"rules", `echo evil >>$H/rules.md`, ""},
	{"configuration", `echo evil >>$H/rouse.yaml || sed -i s/careful/open/ $H/rouse.yaml`, ""},
	{"servers", `echo '{}' >$H/.mcp.json`, ""},
	{"programs", `echo evil >>$H/bin/run.sh || touch $H/bin/rouse`, ""},
	{"git hook", `echo evil >$H/.git/hooks/post-commit`, ""},
	{"journal read", `cat $H/logs/*.jsonl`, ""},
	{"journal forged", `echo '{}' >>$H/logs/cycle_20260101_000000.jsonl`, ""},
	{"journals deleted", `rm $H/logs/*.jsonl || mv $H/logs $H/l`, ""},
	{"found machine", `echo '{}' >$H/logs/sandbox.json`, ""},
	{"key", `cat $H/.env $H/vault.key`, ""},
	{"key by a link", `ln -s $H/.env l && cat l`, ""},
	{"key by a second name", `ln $H/.env l2`, ""},
	{"key by the first process", `cat /proc/1/root$H/.env || cat /proc/self/root$H/.env || cat /proc/self/cwd/../.env`, ""},
	{"stop", `touch $H/STOP || touch $H/approvals.yaml || mkdir $H/inbox`, ""},
	{"word in a name", `ROUSE_FLEET_BY=boss $ROUSE --home $H tell x || ROUSE_FLEET_BY=boss $ROUSE --home $H approvals approve a1`, ""},
	{"home renamed", `mv $H $H.away || mv $P $P.away || mv $H/workspace $H/w`, ""},
	{"home deleted", `rm $H/rules.md || rmdir $H/bin`, ""},
	{"modes", `chmod 700 $H/bin`, "Landlock: chmod"},
	{"login", `echo evil >>$P/.profile || echo evil >>$P/.bashrc`, ""},
	{"units", `mkdir -p $P/.config/systemd/user || touch $P/.config/x`, ""},
	{"keys planted", `echo evil >>$P/.ssh/authorized_keys`, ""},
	{"crontab", `touch /var/spool/cron/crontabs/rouse-test || touch /var/spool/cron/rouse-test`, ""},
	{"credentials", `cat $P/.ssh/id || cat $P/.netrc`, ""},
	{"another home", `cat $P/other/scratchpad/active.yaml || touch $P/other/STOP`, ""},
	{"beside the home", `touch $P/evil`, ""},
	{"signal", `kill -0 $OTHER`, ""},
	{"environment of another", `cat /proc/$OTHER/environ || readlink /proc/$OTHER/fd/0 || readlink /proc/$OTHER/cwd`, ""},
	{"limit of another", `prlimit --pid $OTHER --core=0`, ""},
	{"command line of another", `tr '\0' ' ' </proc/$OTHER/cmdline | grep 54321`, "Landlock: command lines"},
	{"a service", `perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) && connect(S, sockaddr_un($ARGV[0])) or exit 1' $P/service`, "bubblewrap: sockets outside"},
	{"an abstract service", `perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) && connect(S, sockaddr_un("\0$ARGV[0]")) or exit 1' $P/service`, ""},
	{"services of the machine", `find /run/ -type s | grep . && perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) or exit 1'`, ""},
	{"network", `perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0) && connect(S, sockaddr_in($ARGV[0], inet_aton("127.0.0.1"))) or exit 1' $PORT`, ""},
	{"mounts undone", `unshare -rm sh -c 'umount -l $0/scratchpad; umount -l $0; cat $0/.env' $H`, ""},
	{"another root", `chroot /proc/1/root cat $H/.env || unshare -r chroot /proc/1/root cat $H/.env`, ""},
	{"a disk", `mknod disk b 1 0`, ""},
	{"the kernel", `: >>/proc/sysrq-trigger || : >>/proc/sys/kernel/core_pattern || : >>/sys/power/state`, ""},
	{"the program", `: >>$ROUSE`, ""},
	{"more privileges", `grep '^NoNewPrivs:.*0' /proc/self/status`, ""},
}

// What a hostile command tries is closed, or named as not kept: for root and for an
// ordinary user, with bubblewrap and, where the kernel has Landlock, without.
func TestHostile(t *testing.T) {
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip(err)
	}
	holds := conditions(t)
	bare := t.TempDir() // a PATH without bubblewrap
	err := errors.Join(os.Symlink("/bin/sh", filepath.Join(bare, "sh")), os.Symlink("/bin/true", filepath.Join(bare, "true")), os.Chmod(filepath.Dir(bare), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"bubblewrap", "Landlock"} {
		for _, nobody := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, nobody %v", by, nobody), func(t *testing.T) {
				r := newRig(t)
				r.outOfTemp()
				if ok, _ := holds("bubblewrap"); by == "bubblewrap" && !ok || by == "Landlock" && sandbox.Look().Landlock < 6 {
					t.Skip(by + " does not work here")
				}
				if by == "Landlock" {
					r.env = append(r.env, "PATH="+bare)
				}
				r.hostile(by, nobody)
			})
		}
	}
}

// outOfTemp puts the home where a sandbox shows what is there.
func (r *rig) outOfTemp() {
	dir, err := os.MkdirTemp("/var/tmp", "rouse-test-")
	if err = errors.Join(err, os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "person"), 0o755)); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { os.RemoveAll(dir) })
	r.home = filepath.Join(dir, "person", "home")
	r.write("rules.md", "You are Rouse.\n")
}

// hostile makes a home with all that there is to get at, and lets a command try.
func (r *rig) hostile(by string, nobody bool) {
	person := filepath.Dir(r.home)
	for name, text := range map[string]string{
		"rouse.yaml": "model: {provider: offline}\nposture: careful\nsandbox: {network: none}\n", ".env": "A=B\n", "vault.key": "k\n", ".mcp.json": "{}", "bin/run.sh": "true\n", ".git/hooks/x": "",
		"../.profile": "p\n", "../.ssh/id": "i\n", "../.netrc": "n\n", "../other/rules.md": "o\n", "../other/scratchpad/active.yaml": "goals: []\n", "../.config/y": "",
	} {
		r.write(name, text)
	}
	if nobody {
		r.asNobody()
		err := filepath.WalkDir(person, func(path string, _ os.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, int(r.user.Uid), int(r.user.Gid)))
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	if o := r.rouse("run"); o.code != 0 {
		r.t.Fatal(o.stderr)
	}
	other := exec.Command("sleep", "54321")
	other.SysProcAttr = &syscall.SysProcAttr{Credential: r.user, Pdeathsig: syscall.SIGKILL}
	if err := other.Start(); err != nil {
		r.t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	rouse, _ := exec.LookPath("rouse")
	script := fmt.Sprintf("PATH=/usr/sbin:/usr/bin:/sbin:/bin\nH=%s P=%s OTHER=%d PORT=%d ROUSE=%s\n", r.home, person, other.Process.Pid, r.services(person), rouse)
	for _, try := range tries {
		script += fmt.Sprintf("(\n%s\n) >/dev/null 2>&1 && echo '%s' >>through\n", try.script, try.name)
	}
	r.write("workspace/try.sh", script+"echo end >>through\n")
	if err := os.Chmod(r.path("workspace/try.sh"), 0o644); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Chmod(r.path("workspace"), 0o777); err != nil {
		r.t.Fatal(err)
	}
	o := r.rouse("run", "--task", `shell command="sh try.sh"`)
	through, doctor := "\n"+r.read("workspace/through"), r.rouse("doctor").stdout
	if !strings.HasSuffix(through, "\nend\n") {
		r.t.Fatalf("it did not come to its end: %+v", o)
	}
	for _, try := range tries {
		words, named := strings.CutPrefix(try.named, by+": ")
		if came := strings.Contains(through, "\n"+try.name+"\n"); came != named || named && !strings.Contains(doctor, words) {
			r.t.Errorf("%s: came through %v, to be named %v", try.name, came, named)
		}
	}
}

// services listens where services do: at a path, by an abstract name, at a port.
func (r *rig) services(person string) (port int) {
	for _, at := range []struct{ network, address string }{{"unix", person + "/service"}, {"unix", "@" + person + "/service"}, {"tcp", "127.0.0.1:0"}} {
		l, err := net.Listen(at.network, at.address)
		if err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(func() { l.Close() })
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			port = a.Port
		}
	}
	_ = os.Chmod(person+"/service", 0o777)
	return port
}
