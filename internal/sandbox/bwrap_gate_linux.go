package sandbox

import (
	"encoding/binary"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// address is where a command of a listed network finds its proxy.
const address = "127.0.0.1:3128"

// listen has a command, which is held before its first instruction, open the socket at
// which the proxy listens, and takes it from there: a socket belongs to the network in
// which it was opened.
func listen(pid int) (*os.File, error) {
	at := unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: [4]byte{127, 0, 0, 1}}
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&at.Port))[:], 3128)
	fd, err := ask(pid, call{name: "open a socket", number: unix.SYS_SOCKET, args: [3]uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}})
	if err != nil {
		return nil, err
	}
	if err := tell(pid, []call{
		{"listen at " + address, unix.SYS_BIND, [3]uint64{fd, here, uint64(unsafe.Sizeof(at))}, func(uint64) []byte { return bytesOf(&at) }},
		{name: "listen", number: unix.SYS_LISTEN, args: [3]uint64{fd, 128}},
	}); err != nil {
		return nil, err
	}
	socket, err := take(pid, int(fd))
	if err != nil {
		return nil, err
	}
	return socket, tell(pid, []call{{name: "close a socket", number: unix.SYS_CLOSE, args: [3]uint64{fd}}})
}

// take is a file that another process has open.
func take(pid, fd int) (*os.File, error) {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("take a socket: %w", err)
	}
	defer unix.Close(process)
	own, err := unix.PidfdGetfd(process, fd, 0)
	if err != nil {
		return nil, fmt.Errorf("take a socket: %w", err)
	}
	return os.NewFile(uintptr(own), "listener"), nil
}
