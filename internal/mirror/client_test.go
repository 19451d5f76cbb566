package mirror

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"rouse/internal/disk"
)

// pair is a mirror of a folder, and the other end of its socket.
func pair(t *testing.T) (m *Mirror, conn net.Conn, dir string) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	must(t, err)
	theirs := os.NewFile(uintptr(fds[0]), "theirs")
	conn, err = net.FileConn(theirs)
	must(t, errors.Join(err, theirs.Close()))
	m, rest, err := Take([]string{"A=1", fmt.Sprintf("%s=%d", Variable, fds[1]), "B=2"})
	if err != nil || !slices.Equal(rest, []string{"A=1", "B=2"}) {
		t.Fatal(rest, err)
	}
	t.Cleanup(func() { conn.Close(); <-m.ctx.Done(); m.conn.Close() })
	dir = t.TempDir()
	must(t, os.Mkdir(dir+"/logs", 0o700))
	return m, conn, dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever is done to the files of a home, the other side can make them anew.
func TestDisk(t *testing.T) {
	m, conn, dir := pair(t)
	_, _, copied := pair(t)
	var lines []Line
	served := make(chan error)
	go func() { served <- Serve(conn, func(l Line) error { lines = append(lines, l); return nil }) }()
	d := m.Disk(dir)
	const ledger, journal = "/logs/ledger.jsonl", "/logs/cycle_20260401_150154.jsonl"
	write := func(name, text string, flag int) {
		t.Helper()
		f, err := d.OpenFile(dir+name, os.O_WRONLY|os.O_CREATE|flag, 0o600)
		must(t, err)
		_, err = f.Write([]byte(text))
		must(t, errors.Join(err, f.Sync(), f.Close()))
	}
	must(t, errors.Join(os.WriteFile(dir+ledger, []byte("before\n"), 0o600), os.WriteFile(copied+ledger, []byte("before\n"), 0o600)))
	write(ledger, "one\n", os.O_APPEND)
	must(t, os.WriteFile(dir+ledger, []byte("before\none\nanother process\n"), 0o600))
	write(ledger, "two\n", os.O_APPEND)
	write(ledger, "", os.O_APPEND) // nothing to say
	write(journal, strings.Repeat("x", 3*chunk/2), os.O_APPEND|os.O_EXCL)
	write("/logs/spend.jsonl", "long and longer\n", os.O_APPEND)
	must(t, disk.Replace(d, dir+"/logs/spend.jsonl", []byte("short\n"), 0o600))
	write("/logs/spend.jsonl", "more\n", os.O_APPEND)
	write("/logs/notes_dropped.log", "of no account\n", os.O_APPEND)
	write(journal, "y", os.O_TRUNC)
	must(t, errors.Join(m.conn.Close(), <-served))
	if len(lines) != 8 {
		t.Errorf("%d frames", len(lines))
	}
	must(t, Restore(copied, lines))
	for _, name := range []string{ledger, journal, "/logs/spend.jsonl"} {
		want, err := os.ReadFile(dir + name)
		must(t, err)
		if got, err := os.ReadFile(copied + name); err != nil || string(got) != string(want) {
			t.Errorf("%s: %.60q, want %.60q: %v", name, got, want, err)
		}
	}
	if names, _ := filepath.Glob(copied + "/logs/*"); len(names) != 3 {
		t.Errorf("there is %q", names)
	}
}

// Whatever else the other side does than to answer, the home counts as lost, and stays so;
// what is written is still written here.
func TestLost(t *testing.T) {
	for _, tt := range []struct{ before, answer, want string }{
		{"", `{"lost":"epoch 8 has it"}` + "\n", "epoch 8 has it"},
		{"", "", "its worker is gone"},
		{"", "{", "its worker is gone"},
		{"", "no\n", "invalid character"},
		{"", strings.Repeat("x", 2*maxHeader), "buffer full"},
		{"{}\n", "", "nobody had asked for"},
	} {
		m, conn, dir := pair(t)
		if tt.before != "" {
			_, _ = io.WriteString(conn, tt.before)
			<-m.Context().Done()
		}
		go func() {
			_, _ = conn.Read(make([]byte, 100))
			_, _ = io.WriteString(conn, tt.answer)
			conn.Close()
		}()
		f, err := m.Disk(dir).OpenFile(dir+"/logs/spend.jsonl", os.O_WRONLY|os.O_CREATE, 0o600)
		must(t, err)
		for range 2 {
			_, err := io.WriteString(f, "line\n")
			must(t, err)
			if err := f.Sync(); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), tt.want) || m.Context().Err() == nil {
				t.Errorf("%q, then %.20q: %v", tt.before, tt.answer, err)
			}
		}
		must(t, f.Close())
		if text, _ := os.ReadFile(f.(mirroredFile).name); string(text) != "line\nline\n" {
			t.Errorf("%q was written", text)
		}
	}
}

// Without the variable there is nothing, and it costs nothing. What is no socket is refused.
func TestNone(t *testing.T) {
	environ := []string{"A=1", Variable + "="}
	var m *Mirror
	if n := testing.AllocsPerRun(10, func() { m, _, _ = Take(environ) }); n > 0 || m != nil || m.Disk("/") != nil || m.Context().Err() != nil {
		t.Errorf("%v: %v allocations", m, n)
	}
	for _, value := range []string{"x", "1", "-3", "987654"} {
		if _, _, err := Take([]string{Variable + "=" + value}); err == nil || !strings.Contains(err.Error(), value+" names no connected socket") {
			t.Errorf("%s: %v", value, err)
		}
	}
}
