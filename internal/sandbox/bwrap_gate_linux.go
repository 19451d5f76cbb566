package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"rouse/internal/sandbox/inside"
)

// gate is the way out of a sandbox with a listed network. Rouse itself is started in it
// first, by package inside, and hands over the socket that it listens at in there.
type gate struct {
	program      string // Rouse's own
	ours, theirs *os.File
}

func newGate() (*gate, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a way out of the sandbox: %w", err)
	}
	return &gate{program, os.NewFile(uintptr(pair[0]), "gate"), os.NewFile(uintptr(pair[1]), "gate")}, nil
}

// before puts the gate before a child: in its files, its environment and its arguments.
func (g *gate) before(c Child, p Policy) Child {
	if p.Environ != nil {
		c.Env = p.Environ(c.Env, inside.Address)
	}
	c.Env = append(slices.Clip(c.Env), inside.Variable+"="+strconv.Itoa(3+len(c.Files)))
	c.Files = append(slices.Clip(c.Files), g.theirs)
	c.Argv = slices.Concat([]string{g.program, c.Path}, c.Argv)
	c.Path = g.program
	return c
}

// started gives up what the child has now.
func (g *gate) started() {
	if g != nil {
		g.theirs.Close()
	}
}

func (g *gate) close() {
	if g != nil {
		g.theirs.Close()
		g.ours.Close()
	}
}

// open has the gate served, limits the command, and waits until it is itself.
func (g *gate) open(serve func(Listener) (Door, error), limit func() error) (door Door, err error) {
	listener, err := g.receive()
	if err != nil {
		return nil, err
	}
	if door, err = serve(listener); err != nil {
		return nil, err
	}
	if err = limit(); err == nil {
		_, err = unix.Write(int(g.ours.Fd()), []byte{0})
	}
	if err == nil {
		_, err = g.receive()
	}
	if err == errEnd {
		return door, nil
	}
	if err == nil {
		err = fmt.Errorf("a second socket from inside")
	}
	return door, err
}

// errEnd is the end of what is said from inside: the command is itself.
var errEnd = fmt.Errorf("%w: it ended", ErrBubblewrap)

// receive takes a socket from inside, or the word of what went wrong there.
func (g *gate) receive() (*os.File, error) {
	said, rights := make([]byte, 256), make([]byte, unix.CmsgSpace(4))
	var n, m int
	err := error(unix.EINTR)
	for err == unix.EINTR {
		n, m, _, _, err = unix.Recvmsg(int(g.ours.Fd()), said, rights, unix.MSG_CMSG_CLOEXEC)
	}
	if err == nil && n == 0 {
		return nil, errEnd
	}
	var fds []int
	if list, e := unix.ParseSocketControlMessage(rights[:m]); err == nil && e == nil && len(list) == 1 {
		fds, err = unix.ParseUnixRights(&list[0])
	}
	if err == nil && len(fds) != 1 {
		err = fmt.Errorf("inside: %s", said[:n])
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), "listener"), nil
}
