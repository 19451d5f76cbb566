package sandbox

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// restrict starts a child that Landlock and seccomp restrict. It is handed the ruleset,
// and restricts itself before it does anything else.
func (b *Box) restrict(c Child) (*Confined, error) {
	if !b.whole().Reads(resolved(c.Path)) { // its exec comes before it is restricted
		return nil, unix.EACCES
	}
	rules, err := b.rules.made(b)
	if err != nil {
		return nil, err
	}
	c.Env = b.whole().environ(c.Env, b.whole().Temp)
	set := 3 + len(c.Files)
	c.Files = append(slices.Clip(c.Files), rules.file)
	attr := *c.Attr
	attr.Ptrace = true
	c.Attr = &attr
	return &Confined{Child: c, started: func(pid int) (int, error) { return pid, b.tell(pid, rules, set) }}, nil
}

// tell restricts a child that is held, which has the ruleset as a file, and lets it go.
func (b *Box) tell(pid int, rules *ruleset, set int) error {
	if err := stopped(pid); err != nil {
		return err
	}
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_EXITKILL); err != nil { // it never runs unrestricted
		return fmt.Errorf("hold process %d: %w", pid, err)
	}
	limits, err := b.policy.Limits.calls(pid)
	if err != nil {
		return err
	}
	if err := b.rules.complete(rules); err != nil {
		return err
	}
	if err := tell(pid, append(limits, restriction(set, b.filter())...)); err != nil {
		return err
	}
	return detach(pid)
}

// rules are what a child takes on. They are made when the first child is confined, as
// what they allow is looked for in the file system, and hold for all of a box: of what
// appears later beside something hidden, nothing is readable, and of what they name,
// nothing that replaces it.
type rules struct {
	mu  sync.Mutex
	set *ruleset
}

// made is the ruleset of a box, which is completed while the first child is started.
func (r *rules) made(b *Box) (*ruleset, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.set != nil {
		return r.set, nil
	}
	if err := b.whole().makeFolders(); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	set, err := newRuleset(b.system.Landlock)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	r.set = set
	go func() {
		set.err = set.allow(*b.whole())
		close(set.complete)
	}()
	return set, nil
}

// prepare makes the ruleset before it is needed. After an error the first child makes
// another one, or is told.
func (r *rules) prepare(b *Box) {
	if set, err := r.made(b); err == nil {
		_ = r.complete(set)
	}
}

// complete waits until a ruleset is. After an error the next child tries another one.
func (r *rules) complete(set *ruleset) error {
	<-set.complete
	r.mu.Lock()
	defer r.mu.Unlock()
	if set.err != nil && r.set == set {
		r.set = nil
	}
	return set.err
}

// restriction are the calls by which a child restricts itself.
func restriction(set int, filter []unix.SockFilter) []call {
	calls := []call{
		{name: "set no new privileges", number: unix.SYS_PRCTL, args: [3]uint64{unix.PR_SET_NO_NEW_PRIVS, 1}},
		{name: "restrict by Landlock", number: unix.SYS_LANDLOCK_RESTRICT_SELF, args: [3]uint64{uint64(set)}},
		{name: "close the ruleset", number: unix.SYS_CLOSE, args: [3]uint64{uint64(set)}},
		filtering(filter),
	}
	if fewer := fewerCapabilities(); fewer != nil {
		calls = append([]call{*fewer}, calls...)
	}
	return calls
}

// Rights of Landlock. A file can be given the first group only. Devices are not
// made: one of a disk would show all that is on it.
const (
	onFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	list    = unix.LANDLOCK_ACCESS_FS_READ_DIR
	reading = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | list
	device  = reading | onFiles
	writing = device | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	making = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
)

// handled are the rights that a kernel with this ABI knows: none of them is had but
// by a rule.
func handled(abi int) uint64 {
	all := uint64(writing | making)
	for _, later := range []struct {
		abi   int
		right uint64
	}{
		{2, unix.LANDLOCK_ACCESS_FS_REFER}, {3, unix.LANDLOCK_ACCESS_FS_TRUNCATE}, {5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
	} {
		if abi < later.abi {
			all &^= later.right
		}
	}
	return all
}

// ruleset is one of Landlock, to which rules are added until it is complete.
type ruleset struct {
	file     *os.File // the kernel closes it to children
	fd       int
	handled  uint64
	complete chan struct{}
	err      error
}

func newRuleset(abi int) (*ruleset, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled(abi)}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if e != 0 {
		return nil, fmt.Errorf("make a ruleset of Landlock: %w", e)
	}
	return &ruleset{file: os.NewFile(fd, "landlock"), fd: int(fd), handled: attr.Handled_access_fs, complete: make(chan struct{})}, nil
}

// add gives rights to a file, or a folder with all below.
func (s *ruleset) add(fd int, folder bool, rights uint64) error {
	rights &= s.handled
	if !folder {
		rights &= onFiles
	}
	if rights == 0 {
		return nil
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(s.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if e != 0 {
		return fmt.Errorf("add a rule of Landlock: %w", e)
	}
	return nil
}
