package proc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"rouse/internal/sandbox"
)

// attempt makes the test binary try what a hostile program would, in a box, and say of
// each what the kernel answered: "name=EPERM", or "name=ok".
func attempt(names []string) {
	for _, name := range names {
		what, arg, _ := strings.Cut(name, ":")
		err := attempts()[what](arg)
		var e syscall.Errno
		switch {
		case errors.As(err, &e):
			fmt.Printf("%s=%s\n", what, unix.ErrnoName(e))
		case err != nil:
			fmt.Printf("%s=%v\n", what, err)
		default:
			fmt.Printf("%s=ok\n", what)
		}
	}
}

func attempts() map[string]func(arg string) error {
	socket := func(family, kind int) func(string) error {
		return func(string) error { _, err := unix.Socket(family, kind, 0); return err }
	}
	pair := func(kind int) func(string) error {
		return func(string) error { _, err := unix.Socketpair(unix.AF_UNIX, kind, 0); return err }
	}
	call := func(number uintptr, args ...uintptr) func(string) error {
		return func(string) error {
			args = append(args, 0, 0, 0)
			if _, _, e := unix.RawSyscall(number, args[0], args[1], args[2]); e != 0 {
				return e
			}
			return nil
		}
	}
	open := func(flags int) func(string) error {
		return func(path string) error { _, err := unix.Open(path, flags, 0); return err }
	}
	return map[string]func(string) error{
		"inet": socket(unix.AF_INET, unix.SOCK_STREAM), "inet6": socket(unix.AF_INET6, unix.SOCK_DGRAM), "netlink": socket(unix.AF_NETLINK, unix.SOCK_RAW),
		"unix": socket(unix.AF_UNIX, unix.SOCK_STREAM), "pair": pair(unix.SOCK_STREAM), "packets": pair(unix.SOCK_SEQPACKET), "datagrams": pair(unix.SOCK_DGRAM), "raw": pair(unix.SOCK_RAW),
		"uring": call(unix.SYS_IO_URING_SETUP), "keys": call(unix.SYS_KEYCTL), "bpf": call(unix.SYS_BPF), "x32": call(0x40000000 | unix.SYS_GETPID),
		"truncate": func(path string) error { return unix.Truncate(path, 0) },
		"empty":    open(unix.O_RDONLY | unix.O_TRUNC), "empty3": open(unix.O_ACCMODE | unix.O_TRUNC), "append": open(unix.O_WRONLY | unix.O_APPEND), "read": open(unix.O_RDONLY),
		"rewrite": open(unix.O_WRONLY | unix.O_TRUNC),
		"empty2": func(path string) error {
			_, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_TRUNC})
			return err
		},
		"chmod":    func(path string) error { return unix.Chmod(path, 0o640) },
		"device":   func(path string) error { return unix.Mknod(path, unix.S_IFBLK|0o600, 0x800) },
		"mount":    func(path string) error { return unix.Mount("none", path, "tmpfs", 0, "") },
		"kill":     func(pid string) error { return unix.Kill(number(pid), 0) },
		"ownLimit": func(string) error { return unix.Prlimit(0, unix.RLIMIT_CORE, &unix.Rlimit{}, nil) },
		"limit":    func(pid string) error { return unix.Prlimit(number(pid), unix.RLIMIT_CORE, &unix.Rlimit{}, nil) },
		"limits":   func(pid string) error { return unix.Prlimit(number(pid), unix.RLIMIT_CORE, nil, &unix.Rlimit{}) },
		"memory": func(pid string) error {
			var b [8]byte
			local, remote := []unix.Iovec{{Base: &b[0], Len: 8}}, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&b)), Len: 8}}
			_, err := unix.ProcessVMReadv(number(pid), local, remote, 0)
			return err
		},
		"killThread":  eachThread(func(id string) error { return unix.Kill(number(id), 0) }),
		"readThread":  eachThread(func(id string) error { _, err := os.ReadFile("/proc/" + id + "/environ"); return err }),
		"traceThread": eachThread(func(id string) error { return unix.PtraceAttach(number(id)) }),
		"nested":      nested,
		"abstract": func(name string) error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err == nil {
				err = unix.Connect(fd, &unix.SockaddrUnix{Name: "@" + name})
			}
			return err
		},
	}
}

// nested starts a program in a box of its own, as a Rouse does that a tool runs.
func nested(dir string) error {
	box := sandbox.New(sandbox.Policy{Read: []string{"/"}, Write: []string{dir}, Network: sandbox.Open, Limits: sandbox.Limits{OpenFiles: 20}}, sandbox.Look())
	e, err := newRunner().Run(context.Background(), Command{Argv: []string{"sh", "-c", "exit $(ulimit -n)"}, Box: box})
	if err == nil && e.Code != 20 {
		err = errors.New(e.String())
	}
	return err
}

// eachThread tries something with each thread of a process, until one lets it.
func eachThread(try func(id string) error) func(pid string) error {
	return func(pid string) (err error) {
		for _, id := range numbers("/proc/" + pid + "/task") {
			if err = try(strconv.Itoa(id)); err == nil {
				return nil
			}
		}
		return err
	}
}

func number(s string) int { n, _ := strconv.Atoi(s); return n }

// attempted says what came of attempts in a box.
func attempted(t *testing.T, r *Runner, c Command, names ...string) string {
	t.Helper()
	var out strings.Builder
	c.Argv = append([]string{executable(t)}, names...)
	c.Env, c.Stdout, c.Stderr = append(c.Env, "HELPER=attempt"), &out, &out
	e, err := r.Run(t.Context(), c)
	if err != nil || !e.OK() {
		t.Fatalf("%v: %v, %v: %s", names, e, err, out.String())
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// executable is the test binary, also for those who cannot reach its folder.
func executable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// asUser runs a test again as an ordinary user, if this is root: the whole of it, by
// the same binary.
func asUser(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	t.Run("ordinary user", func(t *testing.T) {
		const nobody = 65534
		dir := open(t)
		data, err := os.ReadFile(executable(t))
		if err != nil {
			t.Fatal(err)
		}
		binary := filepath.Join(dir, "test")
		if err := os.WriteFile(binary, data, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(t.Name(), "/")
		c := exec.Command(binary, "-test.run=^"+name+"$", "-test.v=true")
		c.Dir, c.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		} else if strings.Contains(string(out), "no tests to run") {
			t.Errorf("%s did not run", name)
		}
	})
}

// open is a new folder that every user reaches.
func open(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// i386 writes a program for that architecture, which ends with code 7.
func i386(t *testing.T, path string) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("no other architecture")
	}
	const base, size = 0x08048000, 52 + 32 + 12
	var b []byte
	b = append(b, "\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	for _, half := range []uint16{2, 3} { // a program for 386
		b = binary.LittleEndian.AppendUint16(b, half)
	}
	for _, word := range []uint32{1, base + 84, 52, 0, 0} { // entry and where the segments are named
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	for _, half := range []uint16{52, 32, 1, 0, 0, 0} {
		b = binary.LittleEndian.AppendUint16(b, half)
	}
	for _, word := range []uint32{1, 0, base, base, size, size, 5, 0x1000} { // one segment
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	b = append(b, "\xb8\x01\x00\x00\x00\xbb\x07\x00\x00\x00\xcd\x80"...) // exit(7)
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
}
