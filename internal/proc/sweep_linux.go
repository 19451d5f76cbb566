package proc

import (
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attributes are those of every leader: its own session, and so its own group
// and no terminal, and death with the thread that started it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// prepareSystem brands Rouse, makes it the heir of all orphans below it, keeps it and its
// children from leaving core files, and closes to children the descriptors that
// Rouse itself inherited; those it opens are closed to them anyway.
func prepareSystem() {
	var core unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &core) == nil {
		core.Cur = 0
		unix.Setrlimit(unix.RLIMIT_CORE, &core)
	}
	brandSelf()
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil { // before Linux 5.11
		for _, fd := range numbers("/proc/self/fd") {
			if fd > 2 {
				unix.CloseOnExec(fd)
			}
		}
	}
}

// awaitExit returns when a child has ended and leaves it to be reaped.
func awaitExit(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// sweep ends the orphans that belong to no living process, until there are none
// or the time is over, and returns those that are left. As the end of one hands
// us its children, only a look that finds nobody is the last one.
func (r *Runner) sweep(limit time.Duration) []int {
	deadline := time.Now().Add(limit)
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		found, left := r.endOrphans()
		if found == 0 || time.Now().After(deadline) {
			return left
		}
		if len(left) > 0 {
			time.Sleep(pause) // the kernel needs a moment to end them
		}
	}
}

// endOrphans kills and reaps the orphans of this moment. It returns how many
// there were and those that have not died yet. The lock on forks is there
// because a child that has not reached its exec still looks like Rouse itself.
func (r *Runner) endOrphans() (found int, left []int) {
	r.reaping.Lock()
	defer r.reaping.Unlock()
	if unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD {
		return 0, nil // no child at all
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	own, err := unix.Getsid(0)
	if err != nil {
		return 0, nil
	}
	for _, pid := range children(os.Getpid()) {
		s, ok := readStat(pid)
		if !ok || s.session == own || !r.orphan(s) {
			continue
		}
		found++
		kill(s)
		if reaped, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); reaped == 0 && err == nil {
			left = append(left, pid)
		}
	}
	return found, left
}

// orphan tells whether a child in a session other than ours was left behind by
// a process that has ended. Sessions cannot be joined, so one led by a living
// process holds only that one's descendants. Its daemons in other sessions carry
// its mark. What carries none, or another's, belongs to whoever in this process
// waits for it (see waited), or else cleared its environment and goes.
func (r *Runner) orphan(s stat) bool {
	if s.dead() { // it carries no mark, but reaping it does no harm either
		return s.pid != s.session || !r.leads(s.pid) && !waited(s, "")
	}
	if r.leads(s.session) {
		return false
	}
	m := marks(s.pid)
	if n := numberIn(m, r.mark); n > 0 {
		return !r.lives(n)
	}
	return !waited(s, m)
}

// waited tells whether a child that carries these marks belongs to a process
// for which someone else in this process waits, such as another Runner: the
// child itself, the leader of its session, or one with the same marks. Go holds
// a pidfd on each process that it started and has not reaped; see pidfd_open(2).
func waited(s stat, m string) bool {
	for _, fd := range numbers("/proc/self/fdinfo") {
		b, _ := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(fd))
		_, line, ok := strings.Cut(string(b), "\nPid:")
		if !ok {
			continue
		}
		line, _, _ = strings.Cut(line, "\n")
		pid, _ := strconv.Atoi(strings.TrimSpace(line))
		if pid == s.pid || pid == s.session || m != "" && pid > 0 && marks(pid) == m {
			return true
		}
	}
	return false
}

// kill ends a process with its group, at once, so that the group cannot outrun
// it by forking, and then its descendants elsewhere. The group of a dead
// process may be that of a living one.
func kill(s stat) {
	if s.dead() {
		return
	}
	if s.group > 1 {
		unix.Kill(-s.group, unix.SIGKILL)
	}
	unix.Kill(s.pid, unix.SIGKILL)
	for _, pid := range children(s.pid) { // those that it had and that are not ours yet
		if child, ok := readStat(pid); ok && child.parent == s.pid {
			kill(child)
		}
	}
}

// children are the PIDs of all children of a process, dead ones included.
func children(parent int) []int {
	var pids []int
	listed := false
	tasks := "/proc/" + strconv.Itoa(parent) + "/task"
	for _, task := range numbers(tasks) {
		b, err := os.ReadFile(tasks + "/" + strconv.Itoa(task) + "/children")
		listed = listed || err == nil
		for f := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	if !listed { // a kernel without CONFIG_PROC_CHILDREN, or parent is gone
		return childrenOf(parent)
	}
	return pids
}

func childrenOf(parent int) []int {
	return slices.DeleteFunc(numbers("/proc"), func(pid int) bool {
		s, ok := readStat(pid)
		return !ok || s.parent != parent
	})
}
