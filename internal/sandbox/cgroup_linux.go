package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Group is a cgroup that was granted to Rouse: each call gets one of its own in it,
// which bounds all of its processes together.
type Group struct {
	top string // where the hierarchy is mounted
	dir string

	once sync.Once
	err  error
}

// leaf is the cgroup of Rouse itself: one that has others may have no processes.
const leaf = "rouse"

// calls begin the names of the others, before the PID of the Rouse that made them.
const calls = "call-"

// granted finds the cgroup of version 2 that systemd has left to this service
// (Delegate=), or whoever else marks one in the same way.
func granted() *Group {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if own, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return readMounts().granted(own)
		}
	}
	return nil
}

// granted looks for a cgroup where the hierarchy is mounted. Rouse may have gone into
// its leaf before: it is started by one that did.
func (m mountTable) granted(own string) *Group {
	if filepath.Base(own) == leaf {
		own = filepath.Dir(own)
	}
	for _, at := range slices.Backward(m) {
		rest, ok := strings.CutPrefix(own, strings.TrimSuffix(at.root, "/"))
		dir := filepath.Join(at.point, rest)
		if at.kind == "cgroup2" && ok && delegated(dir) && bounds(dir) {
			return &Group{top: at.point, dir: dir}
		}
	}
	return nil
}

// ownUnit is the variable that says, where it is 1, that the unit of a user's service
// has Delegate=. A user's systemd marks no cgroup, and who owns it does not tell: all
// services of a user's are the user's.
const ownUnit = "ROUSE_DELEGATED"

// delegated says whether a cgroup is the service's own: systemd has marked it, or the
// unit says so.
func delegated(dir string) bool {
	var info unix.Stat_t
	if os.Getenv(ownUnit) == "1" && strings.HasSuffix(dir, ".service") && unix.Stat(dir, &info) == nil && int(info.Uid) == os.Geteuid() {
		return true
	}
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		value := make([]byte, 2)
		if n, err := unix.Getxattr(dir, name, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// bounds says whether a cgroup has the controllers, and a kernel of Linux 5.14 on.
func bounds(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	has := strings.Fields(string(text))
	return err == nil && slices.Contains(has, "memory") && slices.Contains(has, "pids") && unix.Access(filepath.Join(dir, "cgroup.kill"), unix.F_OK) == nil
}

// ready says whether calls can have cgroups. The first to ask makes it so.
func (g *Group) ready() bool {
	if g == nil {
		return false
	}
	g.once.Do(func() { g.err = g.prepare() })
	return g.err == nil
}

// prepare moves what is in the cgroup, Rouse and who started it, into the leaf, and has
// the others bounded. What a killed Rouse has left is removed.
func (g *Group) prepare() error {
	own := filepath.Join(g.dir, leaf)
	if err := os.Mkdir(own, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	err := error(unix.EBUSY)
	for try := 0; try < 10 && errors.Is(err, unix.EBUSY); try++ { // what is moved may fork
		for _, pid := range processes(g.dir) {
			if err := put(own, "cgroup.procs", pid); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
		err = put(g.dir, "cgroup.subtree_control", "+memory +pids")
	}
	if err == nil {
		g.clear()
	}
	return err
}

// clear removes the cgroups of those that are no longer there.
func (g *Group) clear() {
	left, _ := filepath.Glob(filepath.Join(g.dir, calls+"*-*"))
	living := processes(filepath.Join(g.dir, leaf)) // afterwards: who makes one is there before
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), calls), "-")
		if !slices.Contains(living, pid) {
			end(dir)
		}
	}
}

// cell is the cgroup of one call.
type cell struct {
	dir string
	at  *os.File

	mu  sync.Mutex
	met []Refusal
}

// enter makes the cgroup in which a child is to start, nil where there is none to be had
// or none is needed. Of its processes so many are not the command's.
func (b *Box) enter(c *Child, more int) (*cell, error) {
	if !b.grouped() {
		return nil, nil
	}
	dir, err := os.MkdirTemp(b.system.Cgroup.dir, fmt.Sprintf("%s%d-", calls, os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("make a cgroup: %w", err)
	}
	in := &cell{dir: dir}
	if err = in.bound(b.policy.Limits, more); err == nil {
		in.at, err = os.Open(dir)
	}
	if err != nil {
		end(dir)
		return nil, fmt.Errorf("bound a cgroup: %w", err)
	}
	attr := *c.Attr
	attr.UseCgroupFD, attr.CgroupFD = true, int(in.at.Fd())
	c.Attr = &attr
	return in, nil
}

// bound sets the limits. What goes beyond the memory ends, as a whole.
func (c *cell) bound(l Limits, more int) (err error) {
	set := func(file string, value int64) { err = cmp.Or(err, put(c.dir, file, strconv.FormatInt(value, 10))) }
	if l.Memory > 0 {
		set("memory.max", l.Memory)
		set("memory.oom.group", 1)
		if unix.Access(filepath.Join(c.dir, "memory.swap.max"), unix.F_OK) == nil {
			set("memory.swap.max", 0)
		}
	}
	if l.Processes > 0 {
		set("pids.max", int64(l.Processes+more))
	}
	return err
}

// close ends all that is left in the cgroup, and keeps which limits were met.
func (c *cell) close() {
	if c == nil {
		return
	}
	c.at.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if count(c.dir, "memory.events", "oom_kill ") > 0 {
		c.met = append(c.met, Refusal{Bound, "memory"})
	}
	if count(c.dir, "pids.events", "max ") > 0 {
		c.met = append(c.met, Refusal{Bound, "processes"})
	}
	end(c.dir)
}

// limits are those that were met, once it is closed.
func (c *cell) limits() []Refusal {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.met
}

// count is a number in a file of a cgroup, behind its name.
func count(dir, file, name string) (n int) {
	text, _ := os.ReadFile(filepath.Join(dir, file))
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name); ok {
			n, _ = strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return n
}

// endTime is how long the kernel may take to end what is in a cgroup.
const endTime = 2 * time.Second

// end ends all processes of a cgroup and removes it. One that stays, as what is in it is
// stuck in the kernel, is removed by a later Rouse.
func end(dir string) {
	_ = put(dir, "cgroup.kill", "1")
	deadline := time.Now().Add(endTime)
	for pause := 50 * time.Microsecond; syscall.Rmdir(dir) == unix.EBUSY && time.Now().Before(deadline); pause = min(2*pause, 10*time.Millisecond) {
		time.Sleep(pause)
	}
}

// processes are the PIDs in a cgroup, but for those that cannot be seen from here.
func processes(dir string) []string {
	text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	return slices.DeleteFunc(strings.Fields(string(text)), func(pid string) bool { return pid == "0" })
}

// put writes to a file of a cgroup, all at once.
func put(dir, file, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(value)
	return err
}
