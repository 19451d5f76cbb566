// Package sandbox confines the processes that tools start to what the operator
// allows them: see [Policy]. Nothing that could not be had is passed over in
// silence: [Box.Holds] says of each promise what keeps it here.
//
// There are two back-ends. bubblewrap, where a probe found that it works, makes each
// process a view of the machine of its own: mounts show what may be seen, a PID
// namespace ends with it, a network namespace has no way out. Everywhere else
// Landlock and seccomp restrict the process and all its descendants. Both take away
// that a process gains privileges by a setuid program, such as sudo or ping, and both
// hold it by ptrace(2) before its first instruction, in order to limit it.
//
// Package proc is the only user. Elsewhere than on Linux nothing is enforced.
package sandbox

import (
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Network is what of the network a process reaches.
type Network string

// Open is all of it, Listed the hosts that [Policy.Gate] lets through, None nothing.
const (
	Open   Network = "open"
	Listed Network = "listed"
	None   Network = "none"
)

// Policy is what a process may reach. All paths are absolute and without links;
// those that are not there are passed over. A longer path beats a shorter one, and
// Hidden beats ReadOnly beats Write where one path is in several.
type Policy struct {
	// Read are the files and folders that can be read, beside those that can be
	// written and the devices that every program needs.
	Read []string
	// Write are the files and folders that can be written, with all below.
	Write []string
	// ReadOnly cannot be written, and Hidden not even be read, though they are below
	// what else could be.
	ReadOnly, Hidden []string
	// Temp is a folder that is there as /tmp where mounts can be had and nothing else is
	// seen there, and is named by TMPDIR. Cache is one that package managers and compilers are pointed to. Both
	// can be written, and are made when they are needed.
	Temp, Cache string
	Network     Network
	// Gate is where the processes of a listed network connect to: an HTTP proxy
	// serves what the listener that it is handed accepts, until the door is closed.
	// The listener is its to close, also after an error. It is called once a process.
	Gate func(inside Listener) (Door, error)
	// Environ is an environment in which programs find that proxy at an address, such
	// as "127.0.0.1:3128".
	Environ func(env []string, address string) []string
	// Lists says whether a host is in the list, for what is told of one that a program
	// tried to reach without the proxy.
	Lists func(host string) bool
	// UnixSockets lets processes make sockets that have a path, where the back-end
	// cannot tell one path from another.
	UnixSockets bool
	Limits      Limits
}

// Limits bound the processes of one call; 0 is no bound.
type Limits struct {
	Memory    int64         // bytes: of each one's data, and of all together in a cgroup
	Processes int           // in a cgroup, or by bubblewrap for others than root
	OpenFiles int           // of each
	FileSize  int64         // bytes of one file
	CPU       time.Duration // of each, in whole seconds
}

// Listener is a socket that listens inside of a sandbox.
type Listener = *os.File

// Door is a gate that was opened for one process and its descendants.
type Door interface {
	// Refused are the hosts that they were kept from, each once, as the operator would
	// list them.
	Refused() []string
	// Reached are those that they were let through to, each once.
	Reached() []string
	// Close ends all connections.
	Close() error
}

// Child is a process that is about to be started, as [os.ProcAttr] has it.
type Child struct {
	Path      string
	Argv, Env []string
	Dir       string
	Files     []*os.File // descriptors 3 and up
	Attr      *syscall.SysProcAttr
}

// Confined is a child that will be confined when it is started: in this order,
// the start of Child, [Confined.Started] on the same thread, [Confined.Close] once it
// has ended or was not started, and [Confined.Forget] once all of its descendants are gone.
type Confined struct {
	Child Child

	started func(pid int) (group int, err error)
	close   func()
	broken  func()
	cell    *cell
	door    Door     // of a listed network, set before started returns
	mounts  *os.File // its namespace of these; see Forget
}

// Started completes the confinement of the child, which did nothing until now, and
// lets it go. It gives the process group to which signals for it are sent. After an
// error the child has to be ended: it is not confined as it should be.
func (c *Confined) Started(pid int) (group int, err error) {
	if c.started == nil {
		return pid, nil
	}
	return c.started(pid)
}

// Refused are the hosts that the gate has kept the started child from until now.
func (c *Confined) Refused() []string {
	if c.door == nil {
		return nil
	}
	return c.door.Refused()
}

// Reached are the hosts that the gate has let the started child through to until now.
func (c *Confined) Reached() []string {
	if c.door == nil {
		return nil
	}
	return c.door.Reached()
}

// Met are the limits that the child and its descendants have met together, known once
// it is closed.
func (c *Confined) Met() []Refusal { return c.cell.limits() }

// Close gives back what the confinement took.
func (c *Confined) Close() {
	c.cell.close()
	if c.door != nil {
		c.door.Close()
	}
	if c.close != nil {
		c.close()
	}
}

// Forget lets the kernel take down the mounts. Else the last of the processes would do so
// while it ends, which all wait for.
func (c *Confined) Forget() {
	if c.mounts != nil {
		c.mounts.Close()
	}
}

// System is what this machine lets us use.
type System struct {
	Bubblewrap string // the program, where a probe found that it works; "" is none
	Landlock   int    // its ABI; below 2 it is not used
	Seccomp    bool
	Tracing    bool   // a child can be held before its first instruction
	Counts     bool   // processes are counted in each user namespace
	Cgroup     *Group // in which each call gets one of its own; nil is none
	Broken     func() // is told, unless nil, where bubblewrap does not work after all
}

// ErrNone means that this machine has nothing to confine a process with.
var ErrNone = errors.New("no sandbox can be had here: neither bubblewrap nor Landlock works")

// Box is a policy made ready for a machine, once for all the processes that it
// confines. It may be used by several goroutines.
type Box struct {
	policy Policy         // which says nothing of files
	whole  func() *Policy // which does
	system System
	rules  *rules // of Landlock, made when first needed
}

// New makes a policy ready. Nothing is opened before the first process is confined.
func New(p Policy, s System) *Box { return Later(p, func(*Policy) {}, s) }

// Later is [New] with a policy whose files and folders are found out, by find, when they are
// first needed.
func Later(p Policy, find func(*Policy), s System) *Box {
	return &Box{policy: p, system: s, rules: &rules{}, whole: sync.OnceValue(func() *Policy {
		find(&p)
		if s.Cgroup != nil && p.Writes(s.Cgroup.top) { // else a process could leave its own
			p.ReadOnly = append(slices.Clip(p.ReadOnly), s.Cgroup.top)
		}
		return &p
	})}
}

// Policy is what the box was made of.
func (b *Box) Policy() Policy { return *b.whole() }

// Prepare finds out and makes what the first process would else wait for. A cycle does
// so while it waits for the model. Where a folder that can be written is not there yet, it
// is left for then: rules that know nothing of it would not let anybody write there.
func (b *Box) Prepare() {
	for _, dir := range b.whole().Write {
		if _, err := os.Lstat(dir); err != nil {
			return
		}
	}
	if !b.system.wraps() && b.system.landlocks() {
		b.rules.prepare(b)
	}
}

// Confine says how a child is started in the box. [ErrNone] where nothing can
// confine it.
func (b *Box) Confine(c Child) (*Confined, error) {
	confine, own := b.restrict, 0
	switch {
	case b.system.wraps():
		confine, own = b.wrap, 2 // its monitor, and the first process inside
	case !b.system.landlocks():
		return nil, ErrNone
	}
	in, err := b.enter(&c, own)
	if err != nil {
		return nil, err
	}
	confined, err := confine(c)
	if err != nil {
		in.close()
		return nil, err
	}
	confined.cell = in
	return confined, nil
}

// grouped says whether each call has a cgroup of its own.
func (b *Box) grouped() bool {
	return (b.policy.Limits.Memory > 0 || b.policy.Limits.Processes > 0) && b.system.Cgroup.ready()
}

// wraps says whether the first back-end works: its processes are traced until the
// command runs.
func (s System) wraps() bool { return s.Bubblewrap != "" && s.Tracing }

// Confines says whether the machine has anything to confine a process with, and Mounts
// whether that is bubblewrap, without which no list of hosts can be kept.
func (s System) Confines() bool { return s.wraps() || s.landlocks() }

// Mounts is as said at [System.Confines].
func (s System) Mounts() bool { return s.wraps() }

// landlocks says whether the second back-end works.
func (s System) landlocks() bool { return s.Landlock >= 2 && s.Seccomp && s.Tracing }
