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
	"rouse/internal/mirror"
	"rouse/internal/sweep"
)

// mirrored runs the program with a mirror: do is asked for each line, and can cut the
// connection. It gives the lines that do took.
func (r *rig) mirrored(do func(l mirror.Line, cut func() error) error, args ...string) (o outcome, lines []mirror.Line) {
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
		defer conn.Close()
		_ = mirror.Serve(conn, func(l mirror.Line) error { // its error is the refusal, or the cut
			err := do(l, conn.Close)
			if err == nil {
				lines = append(lines, l)
			}
			return err
		})
	}()
	cmd, cancel := r.command(args...)
	defer cancel()
	cmd.ExtraFiles, cmd.Env = []*os.File{theirs}, append(cmd.Env, mirror.Variable+"=3")
	o = r.finish(cmd, func() error { return errors.Join(cmd.Start(), theirs.Close()) })
	<-served
	return o, lines
}

// nights is a home in whose due slot two calls add to a file outside of it, and a copy of it.
func nights(t *testing.T) (r, before *rig) {
	r = newRig(t)
	before = &rig{t: t, home: r.home + ".before"}
	line := `{"command": "env >EFFECTS.env; ls -l /proc/self/fd >EFFECTS.fds; echo >>EFFECTS"}`
	line = strings.ReplaceAll(line, "EFFECTS", r.path("../effects"))
	r.serve(call("shell", line), call("shell", line), done())
	old := time.Now().Add(-time.Hour)
	for _, r := range []*rig{r, before} {
		r.write("rules.md", "You are Rouse.\n")
		r.write("scratchpad/active.yaml", "goals: [look around]\n")
		r.write("logs/journal.key", strings.Repeat("k", home.KeySize))
		r.write("prices.yaml", "models: {gpt-5-mini: {input: 1, output: 2}}\n")
		r.write("rouse.yaml", "schedule: {cron: '* * * * *', task: work}\nlimits: {day: {money: 10, tokens: 1000000, calls: 100}}\n")
		if err := os.Chtimes(r.path("rouse.yaml"), old, old); err != nil {
			t.Fatal(err)
		}
	}
	return r, before
}

// effects are how many calls ran, and intents how many were told of.
func (r *rig) effects() int {
	data, _ := os.ReadFile(r.path("../effects"))
	return len(data)
}

func intents(lines ...mirror.Line) (n int) {
	for _, l := range lines {
		n += bytes.Count(l.Data, []byte(`"event":"intent"`))
	}
	return n
}

// What a cycle must not lose is at the other side before the next call begins, and no
// tool sees anything of that. Where its n-th word is refused, the call of that does not run,
// the cycle ends lost, and its successor knows what it was handed: the call that may have
// run by name, and that the machine is lost. It repeats none.
func TestMirror(t *testing.T) {
	r, _ := nights(t)
	began := 0
	o, lines := r.mirrored(func(l mirror.Line, _ func() error) error {
		if began += intents(l); intents(l) > 0 && r.effects() != began-1 {
			t.Errorf("%d calls ran before the intent of call %d was taken", r.effects(), began)
		}
		return nil
	}, "run", "--due")
	if o.code != 0 || began != 2 || r.effects() != 2 {
		t.Fatalf("%+v: %d intents, %d effects", o, began, r.effects())
	}
	if text := r.read("../effects.env") + r.read("../effects.fds"); strings.Contains(text, mirror.Variable) || strings.Contains(text, "socket:") {
		t.Errorf("a tool sees %s", text)
	}
	for n := 1; n <= len(lines); n++ {
		if sweep.Of(slices.Contains([]int{1, len(lines) / 2, len(lines) - 1, len(lines)}, n), true, true) {
			t.Run(strconv.Itoa(n), func(t *testing.T) { lostAt(t, n) })
		}
	}
}

func lostAt(t *testing.T, n int) {
	r, before := nights(t)
	asked := 0
	o, lines := r.mirrored(func(mirror.Line, func() error) error {
		if asked++; asked == n {
			return errors.New("epoch 8 has it")
		}
		return nil
	}, "run", "--due")
	o.oneLine(t, "the lease on the home was lost: epoch 8 has it")
	ran := r.effects()
	if o.code != 1 || asked != n || ran != intents(lines...) {
		t.Errorf("%+v: asked %d times, %d effects of %d intents", o, asked, ran, intents(lines...))
	}
	slept := slices.ContainsFunc(lines, func(l mirror.Line) bool { return bytes.Contains(l.Data, []byte(`"event":"sleep"`)) })
	for _, path := range r.glob("logs/cycle_*.jsonl") {
		if text := r.read("logs/" + filepath.Base(path)); !slept && !strings.Contains(text, `"event":"sleep","outcome":"lost","exit":1`) {
			t.Errorf("the journal does not say it: %s", text)
		} else if strings.Count(text, `"event":"intent"`) > strings.Count(text, `"event":"result"`) {
			t.Errorf("a call that never began counts as one that may have run: %s", text)
		}
	}
	if err := mirror.Restore(before.home, lines); err != nil {
		t.Fatal(err)
	}
	logs := before.glob("logs/cycle_*.jsonl")
	if len(logs) == 0 {
		return // no call had begun
	}
	id := home.CycleOf(filepath.Base(logs[0]))
	open := ran - strings.Count(before.read("logs/"+filepath.Base(logs[0])), `"event":"result"`)
	before.write("logs/cycle_"+id+".lost", "")
	o, _ = before.mirrored(func(mirror.Line, func() error) error { return nil }, "run", "--due")
	memory := before.read("scratchpad/active.yaml")
	if o.code != 0 || before.effects() != ran || !strings.Contains(memory, "[INTERRUPTED] cycle "+id) || !strings.Contains(memory, "its machine was lost") {
		t.Errorf("%+v, %d effects: %s", o, before.effects(), memory)
	}
	if strings.Contains(memory, "outcome unknown, it may have run and is not repeated: step ") != (open > 0) {
		t.Errorf("%d calls are open: %s", open, memory)
	}
	if left := before.glob("logs/cycle_*"); len(left) != 2 {
		t.Errorf("it was not settled by itself: %q", left)
	}
}

// A worker that goes away while a tool runs ends that, and the cycle.
func TestMirrorGone(t *testing.T) {
	r := newRig(t)
	r.serve(call("shell", fmt.Sprintf(`{"command": "echo $$ >%[1]s.new; mv %[1]s.new %[1]s; exec sleep 600"}`, r.path("pid"))))
	o, _ := r.mirrored(func(_ mirror.Line, cut func() error) error {
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
