package mirror

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"rouse/internal/disk"
)

// pair is a mirror and the other end of its socket.
func pair(t *testing.T) (*Mirror, net.Conn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(fds[0]), "theirs")
	conn, err := net.FileConn(theirs)
	if err := errors.Join(err, theirs.Close()); err != nil {
		t.Fatal(err)
	}
	m, rest, err := Take([]string{"A=1", fmt.Sprintf("%s=%d", Variable, fds[1]), "B=2"})
	if err != nil || !slices.Equal(rest, []string{"A=1", "B=2"}) {
		t.Fatal(rest, err)
	}
	t.Cleanup(func() { conn.Close(); <-m.ctx.Done(); m.conn.Close() })
	return m, conn
}

// Whatever is done to the files of a home, the other side can make them anew.
func TestDisk(t *testing.T) {
	m, conn := pair(t)
	var lines []Line
	served := make(chan error)
	go func() { served <- Serve(conn, func(l Line) error { lines = append(lines, l); return nil }) }()
	dir, copied := t.TempDir(), t.TempDir()
	d := m.Disk(dir)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const journal = "logs/cycle_20260401_150154.jsonl"
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string, flag int) {
		t.Helper()
		f, err := d.OpenFile(path(name), os.O_WRONLY|os.O_CREATE|flag, 0o600)
		must(err)
		_, err = f.Write([]byte(text))
		must(errors.Join(err, f.Sync(), f.Close()))
	}
	for _, dir := range []string{dir, copied} {
		must(os.Mkdir(dir+"/logs", 0o700))
		must(os.WriteFile(dir+"/logs/ledger.jsonl", []byte("before\n"), 0o600))
	}
	write("logs/ledger.jsonl", "one\n", os.O_APPEND)
	must(os.WriteFile(path("logs/ledger.jsonl"), []byte("before\none\nanother process\n"), 0o600))
	write("logs/ledger.jsonl", "two\n", os.O_APPEND)
	write("logs/ledger.jsonl", "", os.O_APPEND) // nothing to say
	write(journal, strings.Repeat("x", 3*chunk/2), os.O_APPEND|os.O_EXCL)
	write("logs/spend.jsonl", "long and longer\n", os.O_APPEND)
	must(disk.Replace(d, path("logs/spend.jsonl"), []byte("short\n"), 0o600))
	write("logs/spend.jsonl", "more\n", os.O_APPEND)
	write("logs/notes_dropped.log", "of no account\n", os.O_APPEND)
	must(disk.Create(d, path("logs/cycle_20260401_150155.jsonl"), []byte("new\n"), 0o600))
	write(journal, "y", os.O_TRUNC)
	must(m.conn.Close())
	must(<-served)
	if len(lines) != 9 {
		t.Errorf("%d frames", len(lines))
	}
	must(Restore(copied, lines))
	for _, name := range []string{"logs/ledger.jsonl", journal, "logs/spend.jsonl", "logs/cycle_20260401_150155.jsonl"} {
		want, err := os.ReadFile(path(name))
		must(err)
		if got, err := os.ReadFile(filepath.Join(copied, name)); err != nil || string(got) != string(want) {
			t.Errorf("%s: %.60q, want %.60q, %v", name, got, want, err)
		}
	}
	all, err := Whole(dir)
	must(err)
	must(Restore(copied, all))
	if again, err := Whole(copied); err != nil || len(all) != 3 || !reflect.DeepEqual(all, again) {
		t.Errorf("%d files whole, restored %d: %v", len(all), len(again), err)
	}
	if _, err := os.Stat(copied + "/logs/notes_dropped.log"); !errors.Is(err, os.ErrNotExist) {
		t.Error("more than is mirrored")
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
		m, conn := pair(t)
		if tt.before != "" {
			_, _ = io.WriteString(conn, tt.before)
			<-m.Context().Done()
		}
		go func() {
			_, _ = conn.Read(make([]byte, 100))
			_, _ = io.WriteString(conn, tt.answer)
			conn.Close()
		}()
		dir := t.TempDir()
		if err := os.Mkdir(dir+"/logs", 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := m.Disk(dir).OpenFile(dir+"/logs/spend.jsonl", os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := io.WriteString(f, "line\n"); err != nil {
				t.Fatal(err)
			}
			if err := f.Sync(); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), tt.want) || m.Context().Err() == nil {
				t.Errorf("%q, then %.20q: %v", tt.before, tt.answer, err)
			}
		}
		f.Close()
		if text, _ := os.ReadFile(dir + "/logs/spend.jsonl"); string(text) != "line\nline\n" {
			t.Errorf("%q was written", text)
		}
	}
}

// Without the variable there is nothing, and it costs nothing.
func TestNone(t *testing.T) {
	environ := []string{"A=1", Variable + "="}
	var m *Mirror
	if n := testing.AllocsPerRun(10, func() { m, _, _ = Take(environ) }); n > 0 || m != nil || m.Disk("/") != nil || m.Context().Err() != nil {
		t.Errorf("%v: %v allocations", m, n)
	}
}
