package observation

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rouse/internal/disk/disktest"
	"rouse/internal/killtest"
	"rouse/internal/proc"
)

// programEnv names the program that the test binary is when it runs itself; its
// argument is the folder of a store.
const programEnv = "OBSERVATION_PROGRAM"

var programs = map[string]func(dir string) error{
	"cycle": func(dir string) error { return cycle(dir, Zstd) },
	"raw":   func(dir string) error { return cycle(dir, Raw) },
	"write": writeMany,
	"hold":  holdTurn,
	"full":  fillLimit,
}

func TestMain(m *testing.M) {
	name := os.Getenv(programEnv)
	if name == "" {
		disktest.Main(m)
		return
	}
	if err := programs[name](os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func program(t testing.TB, name, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, dir)
	cmd.Env = []string{programEnv + "=" + name, "GORACE=atexit_sleep_ms=0"}
	cmd.Stderr = os.Stderr
	return cmd
}

// cycle does what a cycle does with a store. What is acknowledged it writes to a
// file.
func cycle(dir string, codec Codec) error {
	s, err := Open(dir, Options{Codec: codec, MaxBytes: 700_000})
	if err != nil {
		return err
	}
	old, err := s.Begin("old", proc.Self())
	if err != nil {
		return err
	}
	acks, err := os.OpenFile(filepath.Join(dir, "acks"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	store := func(turn *Turn, data []byte) error {
		e, err := tryPut(turn, data)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(acks, e.ID)
		return errors.Join(err, turn.Keep(e.ID, "kept", time.Hour))
	}
	for _, data := range [][]byte{[]byte("short"), numbered(30_000)} {
		if err := store(old, data); err != nil {
			return err
		}
	}
	if err := old.End(); err != nil {
		return err
	}
	turn, err := s.Begin("turn", proc.Self())
	if err != nil {
		return err
	}
	w := turn.Create(Origin{})
	w.Write(numbered(200_000))
	w.Abort()
	if err := store(turn, numbered(20_000)); err != nil {
		return err
	}
	if _, err := s.GC(context.Background()); err != nil {
		return err
	}
	return errors.Join(turn.End(), s.Close())
}

// TestKilledAnywhere kills a cycle's use of the store at its system calls.
func TestKilledAnywhere(t *testing.T) {
	most := 12
	if raceEnabled {
		most = 6
	}
	for _, name := range []string{"cycle", "raw"} {
		entries, acked, orphans := 0, 0, 0
		kills := killtest.Sweep(t, most, func(n int) killtest.Result {
			dir := t.TempDir()
			cmd := program(t, name, dir)
			cmd.Stderr = nil
			r, err := killtest.Run(cmd, n, killtest.Effects)
			if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if !r.Killed && r.Status.ExitStatus() != 0 {
				t.Fatalf("it ended with %#x", r.Status)
			}
			e, a, o := checkAfterKill(t, dir)
			entries, acked, orphans = entries+e, acked+a, orphans+o
			return r
		})
		t.Logf("%s: %d / %d kills left a store that opens and is whole; %d entries all readable, %d acknowledged all there, %d orphans collected",
			name, kills, kills, entries, acked, orphans)
	}
}

// checkAfterKill wants a whole store, and gives how many entries, acknowledged
// ones and orphans it had.
func checkAfterKill(t *testing.T, dir string) (entries, acked, orphans int) {
	t.Helper()
	clock := newClock()
	s, err := Open(dir, Options{Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if aside, _ := filepath.Glob(filepath.Join(dir, "*.damaged-*")); len(aside) > 0 {
		t.Fatalf("it was set aside: %v", aside)
	}
	checkIntact(t, s)
	checkUsed(t, s)
	list, err := s.List(Filter{Expired: true})
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, e := range list {
		there[e.ID] = true
		checkEntry(t, s, e)
	}
	data, _ := os.ReadFile(filepath.Join(dir, "acks"))
	for _, id := range strings.Fields(string(data)) {
		acked++
		if !there[id] {
			t.Fatalf("%s was acknowledged, and is not there", id)
		}
	}
	clock.pass(90 * time.Minute) // ends the dead turns; what they kept stays
	st := collect(t, s)
	clock.pass(2 * time.Hour)
	st2 := collect(t, s)
	if left := files(t, dir); len(left) > 0 {
		t.Fatalf("files that nothing names: %v", left)
	}
	return len(list), acked, st.Orphans + st2.Orphans
}

// checkEntry wants all of an entry to be there, with its hash.
func checkEntry(t testing.TB, s *Store, e Entry) {
	t.Helper()
	c, err := s.Get(e.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	d := newDigest(s.opt)
	var whole bytes.Buffer
	if _, err := whole.ReadFrom(c.Reader()); err != nil {
		t.Fatal(err)
	}
	d.hash(whole.Bytes())
	d.add(whole.Bytes())
	d.count(measure(whole.Bytes()))
	if got := d.entry(); got.SHA256 != e.SHA256 || got.Bytes != e.Bytes || got.Runes != e.Runes || got.Lines != e.Lines {
		t.Fatalf("%s is not what was stored", e.ID)
	}
}

// writeMany writes entries of two turns and prints their ids as they are there.
func writeMany(dir string) error {
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	turn, err := s.Begin(fmt.Sprint("process ", os.Getpid()), proc.Self())
	if err != nil {
		return err
	}
	for i := range 40 {
		e, err := tryPut(turn, numbered(10+i%4*9000))
		if err != nil {
			return err
		}
		fmt.Println(e.ID)
	}
	return errors.Join(turn.End(), s.Close())
}

// TestProcessesAtOnce has two processes write while this one reads, searches and
// collects.
func TestProcessesAtOnce(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	var wg sync.WaitGroup
	ids := make(chan string)
	for range 2 {
		wg.Go(func() {
			cmd := program(t, "write", dir)
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Error(err)
				return
			}
			for lines := bufio.NewScanner(out); lines.Scan(); {
				ids <- lines.Text()
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	go func() {
		wg.Wait()
		close(ids)
	}()
	n := 0
	for id := range ids {
		c, err := s.Get(id)
		if err != nil {
			t.Error(err)
			continue
		}
		checkEntry(t, s, c.Entry)
		c.Close()
		if n++; n%10 == 0 {
			collect(t, s)
		}
	}
	if list, err := s.List(Filter{}); err != nil || len(list) != 80 || n != 80 {
		t.Errorf("%d entries were told and %d are there, want 80; %v", n, len(list), err)
	}
	checkIntact(t, s)
	t.Logf("%d entries of 2 processes were read whole as they came; lost 0", n)
}

// TestGoroutinesAtOnce is for the race detector.
func TestGoroutinesAtOnce(t *testing.T) {
	s := openStore(t, "", Options{})
	turn := begin(t, s, "turn")
	shared := put(t, turn, numbered(60_000))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			e, err := tryPut(turn, numbered(1000+i*20_000))
			if err != nil {
				t.Error(err)
				return
			}
			for _, e := range []Entry{e, shared} {
				c, err := turn.Get(e.ID)
				if err != nil {
					t.Error(err)
					return
				}
				f, err := c.Grep(context.Background(), Query{Pattern: `[1-9]7$`})
				if err != nil || f.Matches == 0 {
					t.Error(f.Matches, err)
				}
				checkEntry(t, s, c.Entry)
				c.Close()
			}
			if _, err := s.GC(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// fillLimit writes until files may not grow, and wants errors that say so and a
// store that goes on.
func fillLimit(dir string) error {
	signal.Ignore(syscall.SIGXFSZ)
	s, err := Open(dir, Options{Codec: Raw})
	if err != nil {
		return err
	}
	limit := syscall.Rlimit{Cur: 400_000, Max: 1 << 40}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	return fill(s, dir)
}

// fill puts contents until the disk is full, once with large and once with small
// ones.
func fill(s *Store, dir string) error {
	turn, err := s.Begin("turn", proc.Self())
	if err != nil {
		return err
	}
	for _, lines := range []int{15_000, 2000} {
		var stored Entry
		for n := 0; ; n++ {
			e, err := tryPut(turn, numbered(lines))
			if err != nil {
				if !strings.Contains(err.Error(), "full") || e.ID != "" || e.Bytes == 0 {
					return fmt.Errorf("with %d entries of %d lines: %w, %d bytes", n, lines, err, e.Bytes)
				}
				break
			}
			if stored = e; n > 1000 {
				return errors.New("the disk never was full")
			}
		}
		if stored.ID == "" {
			continue
		}
		c, err := turn.Get(stored.ID)
		if err != nil {
			return fmt.Errorf("read when the disk is full: %w", err)
		}
		c.Close()
	}
	var word string
	if err := s.db.QueryRow(`PRAGMA integrity_check`).Scan(&word); err != nil || word != "ok" {
		return fmt.Errorf("integrity check: %s, %w", word, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, contents, "*-*")); len(left) > 0 {
		list, err := s.List(Filter{})
		if err != nil || len(left) > len(list) {
			return fmt.Errorf("%d files are left of %d entries, %w", len(left), len(list), err)
		}
	}
	return nil
}

// TestFullByLimit fills a store whose files may not grow.
func TestFullByLimit(t *testing.T) {
	dir := t.TempDir()
	if out, err := program(t, "full", dir).Output(); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	s := openStore(t, dir, Options{})
	checkIntact(t, s)
	put(t, begin(t, s, "after"), numbered(100_000))
}
