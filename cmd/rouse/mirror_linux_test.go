package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/mirror"
	"rouse/internal/sweep"
)

// mirrored runs the program with a mirror: do is asked for each line, and can cut the
// connection. It gives the lines that do took.
func (r *rig) mirrored(do func(l mirror.Line, cut func()) error, args ...string) (o outcome, lines []mirror.Line) {
	r.t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	conn, err := net.FileConn(ours)
	if err = errors.Join(err, ours.Close()); err != nil {
		r.t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = mirror.Serve(conn, func(l mirror.Line) error { // its error is the refusal, or the cut
			err := do(l, func() { conn.Close() })
			if err == nil {
				lines = append(lines, l)
			}
			return err
		})
		conn.Close()
	}()
	cmd, cancel := r.command(args...)
	defer cancel()
	cmd.ExtraFiles, cmd.Env = []*os.File{theirs}, append(cmd.Env, mirror.Variable+"=3")
	o = r.finish(cmd, func() error { return errors.Join(cmd.Start(), theirs.Close()) })
	<-served
	return o, lines
}

// nights is a home in whose due slot two calls add to the file effects, which is outside
// of it, and that has limits.
func nights(t *testing.T) (r, before *rig) {
	r = newRig(t)
	line := func(n int) string {
		return fmt.Sprintf(`{"command": "env >%[1]s.env; ls -l /proc/self/fd >%[1]s.fds; echo %[2]d >>%[1]s"}`, r.path("../effects"), n)
	}
	r.serve(call("shell", line(1)), call("shell", line(2)), done())
	r.write("prices.yaml", "models: {gpt-5-mini: {input: 1, output: 2}}\n")
	r.write("rouse.yaml", "schedule: {cron: '* * * * *', task: work}\nlimits: {day: {money: 10, tokens: 1000000, calls: 100}}\n")
	r.write("logs/ledger.jsonl", "")
	r.write("scratchpad/active.yaml", "goals: [look around]\n")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(r.path("rouse.yaml"), old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := (home.Home{Dir: r.home}).MakeKey(disk.OS{}); err != nil { // as a push does
		t.Fatal(err)
	}
	before = &rig{t: t, home: r.home + ".before", env: r.env}
	if err := os.CopyFS(before.home, os.DirFS(r.home)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(before.path("rouse.yaml"), old, old); err != nil {
		t.Fatal(err)
	}
	return r, before
}

// effects are the calls that ran.
func (r *rig) effects() int {
	data, _ := os.ReadFile(r.path("../effects"))
	return bytes.Count(data, []byte("\n"))
}

func intents(lines []mirror.Line) (n int) {
	for _, l := range lines {
		n += bytes.Count(l.Data, []byte(`"event":"intent"`))
	}
	return n
}

// What a cycle must not lose is at the other side before the next call begins, which no
// tool sees anything of. Where its n-th word is refused, the call of that does not run,
// the cycle ends lost, and its successor knows what it was handed: the call that may have
// run by name, and that the machine is lost. It repeats none.
func TestMirror(t *testing.T) {
	r, before := nights(t)
	began := 0
	o, lines := r.mirrored(func(l mirror.Line, _ func()) error {
		if began += intents([]mirror.Line{l}); intents([]mirror.Line{l}) > 0 && r.effects() != began-1 {
			t.Errorf("call %d: %d calls ran before its intent was taken", began, r.effects())
		}
		return nil
	}, "run", "--due")
	if o.code != 0 || began != 2 || r.effects() != 2 {
		t.Fatalf("%+v: %d intents, %d effects", o, began, r.effects())
	}
	for _, name := range []string{"../effects.env", "../effects.fds"} {
		if text := r.read(name); strings.Contains(text, mirror.Variable) || strings.Contains(text, "socket:") {
			t.Errorf("a tool sees %s", text)
		}
	}
	if err := mirror.Restore(before.home, lines); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"logs/ledger.jsonl", filepath.Join("logs", filepath.Base(r.glob("logs/cycle_*.jsonl")[0]))} {
		if got, _, _ := strings.Cut(r.read(name), `,"event":"sleep"`); !strings.HasPrefix(got, strings.TrimSuffix(before.read(name), "\n")) || len(before.read(name)) < 200 {
			t.Errorf("%s is not what was restored", name)
		}
	}
	points := []int{1, len(lines) / 2, len(lines) - 1, len(lines)}
	for n := range lines {
		if sweep.Of(false, true, true) && !slices.Contains(points, n+1) {
			points = append(points, n+1)
		}
	}
	for _, n := range points {
		t.Run(strconv.Itoa(n), func(t *testing.T) { lostAt(t, n) })
	}
}

func lostAt(t *testing.T, n int) {
	r, before := nights(t)
	asked := 0
	o, lines := r.mirrored(func(mirror.Line, func()) error {
		if asked++; asked == n {
			return errors.New("epoch 8 has it")
		}
		return nil
	}, "run", "--due")
	o.oneLine(t, "the lease on the home was lost: epoch 8 has it")
	if ran := r.effects(); o.code != 1 || asked != n || ran != intents(lines) {
		t.Errorf("%+v: asked %d times, %d effects of %d intents", o, asked, ran, intents(lines))
	}
	if logs := r.glob("logs/cycle_*.jsonl"); len(logs) == 0 {
		if n > 1 {
			t.Error("no journal")
		}
	} else if text := r.read("logs/" + filepath.Base(logs[0])); !strings.Contains(text, `"event":"sleep","outcome":"lost","exit":1`) && !slices.ContainsFunc(lines, func(l mirror.Line) bool { return bytes.Contains(l.Data, []byte(`"event":"sleep"`)) }) {
		t.Errorf("the journal does not say it: %s", text)
	}
	before.succeeds(t, lines, r.effects())
}

// succeeds is what the next worker does, which has the home as it was before, and lines.
func (r *rig) succeeds(t *testing.T, lines []mirror.Line, ran int) {
	t.Helper()
	if err := mirror.Restore(r.home, lines); err != nil {
		t.Fatal(err)
	}
	logs := r.glob("logs/cycle_*.jsonl")
	if len(logs) == 0 {
		return
	}
	id := home.CycleOf(filepath.Base(logs[0]))
	r.write("logs/cycle_"+id+".lost", "")
	open := intents(lines) - bytes.Count([]byte(r.read("logs/"+filepath.Base(logs[0]))), []byte(`"event":"result"`))
	o, _ := r.mirrored(func(mirror.Line, func()) error { return nil }, "run", "--due")
	memory := r.read("scratchpad/active.yaml")
	if want := "[INTERRUPTED] cycle " + id; o.code != 0 || r.effects() != ran || intents(lines) > 0 && (!strings.Contains(memory, want) || !strings.Contains(memory, "its machine was lost")) {
		t.Errorf("%+v, %d effects: %s", o, r.effects(), memory)
	}
	if strings.Contains(memory, "outcome unknown, it may have run and is not repeated: step ") != (open > 0) {
		t.Errorf("%d calls are open: %s", open, memory)
	}
	if more := r.glob("logs/cycle_*"); len(more) != 2 {
		t.Errorf("the cycle was not settled by itself: %q", more)
	}
}

// A worker that goes away while a tool runs ends that, and the cycle.
func TestMirrorGone(t *testing.T) {
	r := newRig(t)
	r.serve(call("shell", fmt.Sprintf(`{"command": "echo $$ >%[1]s.new; mv %[1]s.new %[1]s; exec sleep 600"}`, r.path("pid"))))
	o, _ := r.mirrored(func(l mirror.Line, cut func()) error {
		go func() {
			r.await("pid")
			cut()
		}()
		return nil
	}, "run", "--task", "sleep")
	o.oneLine(t, "the lease on the home was lost: its worker is gone")
	pid, err := strconv.Atoi(strings.TrimSpace(r.read("pid")))
	if err != nil || o.code != 1 || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		t.Errorf("%+v, pid %d: %v", o, pid, err)
	}
}

// What is no socket is refused before anything is done.
func TestMirrorOfNothing(t *testing.T) {
	r := newRig(t)
	for _, value := range []string{"3", "x", "1"} {
		r.env = []string{mirror.Variable + "=" + value}
		o := r.rouse("run")
		o.oneLine(t, mirror.Variable+"="+value+" is no connected socket", "unset it")
		if o.code != exitUsage || len(r.glob("logs/*")) > 0 {
			t.Errorf("%+v", o)
		}
	}
}
