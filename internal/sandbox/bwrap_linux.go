package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wrap starts a child in bubblewrap. Arguments go by a pipe, as there may be many and
// as they are found out while it starts, and so does the environment: bubblewrap itself,
// which runs outside, is given none of it but our own mark, lest LD_PRELOAD has it run
// what the child wrote.
func (b *Box) wrap(c Child) (*Confined, error) {
	keys, err := inMemory(keyless())
	if err != nil {
		return nil, err
	}
	file, to, err := os.Pipe()
	if err != nil {
		keys.Close()
		return nil, err
	}
	c.Files = append(slices.Clip(c.Files), keys)
	child := c
	c.Argv = slices.Concat([]string{b.system.Bubblewrap, "--args", strconv.Itoa(3 + len(c.Files)), "--", c.Path}, c.Argv[1:])
	c.Path, c.Env = b.system.Bubblewrap, ours(c.Env)
	c.Files = append(slices.Clip(c.Files), file)
	attr := *c.Attr
	attr.Ptrace = true
	c.Attr = &attr
	confined := &Confined{Child: c, broken: b.system.Broken, close: func() { keys.Close(); file.Close(); to.Close() }}
	confined.started = func(pid int) (group int, err error) {
		file.Close() // it is bubblewrap's alone: nobody writes to one that has ended
		return b.accompany(confined, pid, func() error { return b.describe(child, to) })
	}
	return confined, nil
}

// describe tells bubblewrap what the sandbox of a child is; where that cannot be said, by
// an option that there is not, to end.
func (b *Box) describe(c Child, to *os.File) error {
	defer to.Close()
	args, err := b.arguments(c)
	if err != nil {
		args = []string{"--end"}
	}
	if _, failed := to.WriteString(strings.Join(args, "\x00") + "\x00"); err == nil && failed != nil {
		err = fmt.Errorf("%w: %w", ErrBubblewrap, failed)
	}
	return err
}

// arguments are those of bubblewrap for a child.
func (b *Box) arguments(c Child) ([]string, error) {
	if err := b.whole().makeFolders(); err != nil {
		return nil, err
	}
	v := b.whole().view()
	dir, err := v.folder(c.Dir)
	if err != nil {
		return nil, err
	}
	if b.policy.Network == Listed && b.policy.Environ != nil {
		c.Env = b.policy.Environ(c.Env, address)
	}
	args := []string{"--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--seccomp", strconv.Itoa(2 + len(c.Files))}
	if b.policy.Network != Open {
		args = append(args, "--unshare-net")
	}
	args = append(args, privileges()...)
	args = append(args, v.mounts()...)
	args = append(args, "--chdir", dir, "--clearenv")
	temp := "/tmp"
	if v.temp() == "" {
		temp = b.whole().Temp
	}
	for _, e := range b.whole().environ(c.Env, temp) {
		if name, value, ok := strings.Cut(e, "="); ok && name != "" {
			args = append(args, "--setenv", name, value)
		}
	}
	return args, nil
}

// privileges are what root keeps: what it needs for other users' files, and nothing by
// which mounts could be undone. Whoever cannot make mounts needs a user namespace.
func privileges() []string {
	var args []string
	if !administers() {
		args = append(args, "--unshare-user")
	}
	if os.Geteuid() != 0 {
		return args
	}
	args = append(args, "--cap-drop", "ALL")
	for _, c := range []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "NET_BIND_SERVICE"} {
		args = append(args, "--cap-add", "CAP_"+c)
	}
	return args
}

// administers says whether this process may make mounts: root, but not in a container.
func administers() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// ours are the variables by which Rouse finds its processes again.
func ours(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(e string) bool { return !strings.HasPrefix(e, "ROUSE_CHILD=") })
}

// keyless is a filter that keeps a process off the keys of the user's session, which
// no namespace does, by the numbers of each architecture that a machine runs.
func keyless() []byte {
	var f []unix.SockFilter
	for _, of := range []struct {
		arch, add, request, keyctl uint32
	}{
		{auditArch, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL}, {unix.AUDIT_ARCH_I386, 286, 287, 288}, {unix.AUDIT_ARCH_ARM, 309, 310, 311},
	} {
		body := []unix.SockFilter{load(offNumber)}
		if of.arch == auditArch && x32 != 0 { // the same numbers, with one bit
			body = append(body, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: ^uint32(x32)})
		}
		for _, number := range []uint32{of.add, of.request, of.keyctl} {
			body = append(body, jump(unix.BPF_JEQ, number, 0, 1), deny(unix.EPERM))
		}
		body = append(body, allow())
		f = append(append(f, load(offArch), jump(unix.BPF_JEQ, of.arch, 0, uint8(len(body)))), body...)
	}
	f = append(f, allow())
	return unsafe.Slice((*byte)(unsafe.Pointer(&f[0])), 8*len(f))
}

// inMemory is a file that holds this.
func inMemory(b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("sandbox", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("hold arguments in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "sandbox")
	_, err = f.Write(b)
	if err == nil {
		_, err = f.Seek(0, 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("hold arguments in memory: %w", err)
	}
	return f, nil
}

// bounded sets the limits of a command that is held. Their number is counted in a user
// namespace of its own, so that it bounds no other processes of the user; one of them
// is bubblewrap's. A cgroup does that better: it tells.
func (b *Box) bounded(command int) error {
	if n := b.policy.Limits.Processes; n > 0 && b.system.Counts && !b.grouped() {
		if err := lower(command, unix.RLIMIT_NPROC, int64(n)+1); err != nil && err != syscall.ESRCH {
			return fmt.Errorf("limit process %d: %w", command, err)
		}
	}
	return b.policy.Limits.set(command)
}
