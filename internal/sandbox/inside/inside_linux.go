// Package inside is what Rouse does as the first process of a sandbox with a listed
// network: it listens where the command will look for a proxy, hands the socket to the
// Rouse outside, and becomes the command.
//
// It does so while the program's packages are set up, before main: that of the larger
// ones takes several times as long as all of this, and would be paid for by each
// command. Go sets up a package as soon as what it imports is, so that this one imports
// nothing but syscall. Without its variable in the environment it does nothing.
package inside

import "syscall"

// Variable names the descriptor of the socket to the Rouse outside; see [Listen].
const Variable = "ROUSE_INSIDE"

// Address is where the command finds its proxy.
const Address = "127.0.0.1:3128"

var _ = begin()

// begin does nothing unless it was called for. Else it does not come back.
func begin() bool {
	value, called := syscall.Getenv(Variable)
	if !called {
		return false
	}
	socket := 0
	for _, digit := range []byte(value) {
		socket = 10*socket + int(digit-'0')
	}
	syscall.CloseOnExec(socket)
	if err := become(socket); err != nil {
		syscall.Write(socket, []byte(err.Error()))
	}
	syscall.Exit(1)
	return true
}

// become listens, hands over the socket, waits to be let go on, and is the command.
func become(socket int) error {
	argv, err := arguments()
	if err != nil {
		return err
	}
	if err := listen(socket); err != nil {
		return err
	}
	if n, err := syscall.Read(socket, make([]byte, 1)); err != nil || n == 0 {
		return syscall.ECANCELED // Rouse is gone
	}
	if err := syscall.Unsetenv(Variable); err != nil {
		return err
	}
	return syscall.Exec(argv[1], argv[2:], syscall.Environ())
}

// listen hands over a socket that listens at [Address].
func listen(socket int) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: 3128, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := syscall.Listen(fd, 128); err != nil {
		return err
	}
	if err := syscall.Sendmsg(socket, []byte{0}, syscall.UnixRights(fd), nil, 0); err != nil {
		return err
	}
	return syscall.Close(fd)
}

// arguments are those of this process: package os is not set up yet.
func arguments() (argv []string, err error) {
	fd, err := syscall.Open("/proc/self/cmdline", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	var line []byte
	for buf, n := make([]byte, 64<<10), 1; n > 0; line = append(line, buf[:n]...) {
		if n, err = syscall.Read(fd, buf); err != nil {
			return nil, err
		}
	}
	begin := 0
	for i, b := range line {
		if b == 0 {
			argv, begin = append(argv, string(line[begin:i])), i+1
		}
	}
	if len(argv) < 3 {
		return nil, syscall.EINVAL
	}
	return argv, syscall.Close(fd)
}
