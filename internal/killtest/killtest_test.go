package killtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
)

// The programs that the tests kill: the test binary itself, with programEnv set.
const programEnv = "KILLTEST_PROGRAM"

var (
	oldText = bytes.Repeat([]byte("old line\n"), 500)
	newText = bytes.Repeat([]byte("a new and longer line\n"), 6000)
)

var programs = map[string]func(dir string) error{
	"in place": func(dir string) error {
		f, err := os.Create(filepath.Join(dir, "file"))
		if err != nil {
			return err
		}
		for rest := newText; len(rest) > 0; rest = rest[min(len(rest), 16<<10):] {
			if _, err := f.Write(rest[:min(len(rest), 16<<10)]); err != nil {
				return err
			}
		}
		return errors.Join(f.Sync(), f.Close())
	},
	"replace": func(dir string) error {
		return disk.Replace(disk.OS{}, filepath.Join(dir, "file"), newText, 0o600)
	},
	"create": func(dir string) error {
		return disk.Create(disk.OS{}, filepath.Join(dir, "file"), newText, 0o600)
	},
	"exit 7": func(string) error { os.Exit(7); return nil },
	"signals": func(string) error {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGUSR1)
		syscall.Kill(os.Getpid(), syscall.SIGSTOP) // does not halt a traced process
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		<-c
		fmt.Println("got", syscall.SIGUSR1)
		syscall.Kill(os.Getpid(), syscall.SIGTERM)
		<-c
		return nil
	},
	"child": func(string) error {
		out, err := exec.Command("/bin/sh", "-c", "(echo a; echo b) | cat; exit 3").Output()
		fmt.Printf("%s%v\n", out, err)
		return nil
	},
	"orphan": func(string) error {
		cmd := exec.Command("/bin/sh", "-c", "cat; echo over")
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		return cmd.Start()
	},
	"threads": func(dir string) error {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				runtime.LockOSThread() // and never unlocked: the thread ends too
				for range 10 {
					os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte("text"), 0o600)
					runtime.GC() // stops all threads, by signals
				}
			})
		}
		wg.Wait()
		return nil
	},
}

func TestMain(m *testing.M) {
	name := os.Getenv(programEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := programs[name](os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// kill runs a program in dir and kills it at its nth stop.
func kill(t *testing.T, cmd *exec.Cmd, n int, counts Counts) Result {
	t.Helper()
	r, err := Run(cmd, n, counts)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r.Killed != (r.Status.Signaled() && r.Status.Signal() == syscall.SIGKILL) {
		t.Fatalf("killed %v at %d, and ended with %#x", r.Killed, n, r.Status)
	}
	return r
}

func program(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, dir)
	cmd.Env = []string{programEnv + "=" + name, "GORACE=atexit_sleep_ms=0"}
	return cmd
}

// TestWritersKilledEverywhere has no row for "in place" at all system calls: of
// hundreds it tries thirty, and none of these need be at the write.
func TestWritersKilledEverywhere(t *testing.T) {
	tests := []struct {
		program string
		counts  Counts
		before  []byte
		torn    bool
	}{
		{"in place", Effects, oldText, true},
		{"replace", Effects, oldText, false},
		{"replace", All, oldText, false},
		{"create", Effects, nil, false},
	}
	for _, tt := range tests {
		torn, temps := 0, 0
		var after []string
		kills := Sweep(t, 30, func(n int) Result {
			dir := t.TempDir()
			name := filepath.Join(dir, "file")
			if tt.before != nil {
				if err := os.WriteFile(name, tt.before, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := kill(t, program(t, tt.program, dir), n, tt.counts)
			got, err := os.ReadFile(name)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if !bytes.Equal(got, tt.before) && !bytes.Equal(got, newText) {
				torn++
				after = append(after, r.At)
			}
			if !r.Killed && !bytes.Equal(got, newText) {
				t.Fatalf("%s: ended with %#x, and the file is not written", tt.program, r.Status)
			}
			temps += disktest.CountTemps(t, dir)
			return r
		})
		if (torn > 0) != tt.torn {
			t.Errorf("%s: torn at %d of %d points %q", tt.program, torn, kills, after)
		}
		t.Logf("%s: torn %d / %d points (counting %s), temporary files left at %d", tt.program, torn, kills, tt.counts, temps)
	}
}

func TestEnds(t *testing.T) {
	tests := []struct {
		program string
		exit    int
		signal  syscall.Signal
		out     string
	}{
		{"exit 7", 7, -1, ""},
		{"signals", -1, syscall.SIGTERM, "got user defined signal 1\n"},
		{"child", 0, -1, "a\nb\nexit status 3\n"},
	}
	for _, tt := range tests {
		for _, counts := range []Counts{All, Effects} {
			var out strings.Builder
			cmd := program(t, tt.program, t.TempDir())
			cmd.Stdout = &out
			r := kill(t, cmd, 0, counts)
			if r.Status.ExitStatus() != tt.exit || r.Status.Signal() != tt.signal || out.String() != tt.out {
				t.Errorf("%s: status %#x, output %q", tt.program, r.Status, out.String())
			}
			t.Logf("%s: %d stops (counting %s)", tt.program, r.Stops, counts)
		}
	}
}

func TestNamesTheCallKilledAt(t *testing.T) {
	want := []string{
		"before openat", "after openat", "before write", "after write", "before fsync", "after fsync",
		"before renameat", "after renameat", "before fsync", "after fsync", "before exit_group",
	}
	for i := range want {
		if r := kill(t, program(t, "replace", t.TempDir()), i+1, Effects); r.At != want[i] {
			t.Errorf("killed at stop %d, %q, want %q", i+1, r.At, want[i])
		}
	}
	if r := kill(t, program(t, "replace", t.TempDir()), len(want)+1, Effects); r.Killed || r.Stops != len(want) {
		t.Errorf("killed %v, %d stops, want %d", r.Killed, r.Stops, len(want))
	}
}

func TestManyThreads(t *testing.T) {
	r := kill(t, program(t, "threads", t.TempDir()), 0, Effects)
	if !r.Status.Exited() || r.Stops < 8*10*4 {
		t.Errorf("ended with %#x after %d stops", r.Status, r.Stops)
	}
	for n := 1; n < r.Stops; n += 1 + r.Stops/10 {
		if r := kill(t, program(t, "threads", t.TempDir()), n, All); !r.Killed {
			t.Errorf("not killed at %d", n)
		}
	}
}

// TestChildIsLeftAlone: a child of the program that is killed lives on.
func TestChildIsLeftAlone(t *testing.T) {
	for range 20 { // a thread more that Go starts is a stop more
		last, _ := runOrphan(t, 0) // where the program ends
		r, wrote := runOrphan(t, last.Stops)
		if r.At != "before exit_group" {
			continue
		}
		if wrote != "still here, over\n" {
			t.Errorf("the child wrote %q", wrote)
		}
		return
	}
	t.Error("never killed where the program ends")
}

func runOrphan(t *testing.T, n int) (r Result, wrote string) {
	t.Helper()
	in, toChild, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromChild, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "orphan", t.TempDir())
	cmd.Stdin, cmd.Stdout = in, out
	r = kill(t, cmd, n, Effects)
	in.Close()
	out.Close()
	io.WriteString(toChild, "still here, ")
	toChild.Close()
	got, err := io.ReadAll(fromChild)
	if err != nil {
		t.Error(err)
	}
	fromChild.Close()
	return r, string(got)
}

func TestNoSuchProgram(t *testing.T) {
	_, err := Run(exec.Command("/no/such/program"), 0, All)
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("err = %v", err)
	}
}
