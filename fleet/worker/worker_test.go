package worker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"rouse/fleet/checkout"
	"rouse/fleet/store"
	"rouse/fleet/worker"
)

// A home is woken at its slot, by a worker that has nothing of it, and that then comes again
// when the home's own ledger says.
func TestWake(t *testing.T) {
	r := newRig(t, "schedule: {cron: '* * * * *', task: work}\n")
	w := r.worker("a")
	for range 2 { // a second visit finds nothing to do
		if wait := time.Until(r.wake(w).At); wait > time.Minute {
			t.Errorf("it comes again after %v", wait)
		}
	}
	if h := r.at(); r.effects() != 1 || h.State.Outcome != "done" || h.Holder != "" || h.Version != 2 {
		t.Errorf("%d effects, %+v", r.effects(), h)
	}
}

// TestLimitRaised: a home that a limit of the fleet holds back wakes soon after that was raised,
// and not when it would have been free again.
func TestLimitRaised(t *testing.T) {
	r := newRig(t, "schedule: {cron: '* * * * *', task: work}\n")
	w := r.worker("a")
	r.must(r.store.SetLimits(t.Context(), store.Limits{Month: 1, Each: 2, Keep: 30}))
	if wait := time.Until(r.wake(w).At); wait > 10*time.Minute || !strings.Contains(r.at().State.Problem, "limit of a month") {
		t.Errorf("it comes again after %v: %+v", wait, r.at().State)
	}
	r.must(r.store.SetLimits(t.Context(), store.Limits{Each: 2, Keep: 30}))
	if r.wake(w); r.effects() != 1 || r.at().State.Problem != "" {
		t.Errorf("%d effects, %+v", r.effects(), r.at().State)
	}
}

// TestCommitBetween: who has a home commits after a worker looked at it, and before that takes
// it. The worker goes on from that version, here that of the push, which knows no slots yet.
func TestCommitBetween(t *testing.T) {
	r := newRig(t, often)
	w, ctx := r.worker("a"), t.Context()
	r.wake(w)
	_, err := r.store.Acquire(ctx, "moon", "b", time.Microsecond, false)
	r.must(err)
	db, err := pgx.Connect(ctx, r.dsn)
	r.must(err)
	defer db.Close(context.Background())
	do := func(sql string) {
		t.Helper()
		_, err := db.Exec(ctx, sql)
		r.must(err)
	}
	do(`begin; select from rouse.homes for update`)
	woke := make(chan error, 1)
	go func() {
		_, err := w.Wake(ctx, "moon")
		woke <- err
	}()
	r.await("the worker to take it", func() (waits bool) {
		r.must(db.QueryRow(ctx, `select exists (select from pg_locks where not granted)`).Scan(&waits))
		return waits
	})
	do(`insert into rouse.versions select home, 3, 3, made, maker, null, 0, files, bytes, manifest from rouse.versions where version = 1;
		update rouse.homes set version = 3, holder = null, deadline = null; commit`)
	r.must(<-woke)
	if h := r.at(); h.Version != 4 {
		t.Errorf("it went on from an older version: %+v", h)
	}
}

// Whose process is killed in the middle of a call goes on with its folder. The call is not
// repeated, and its cycle says so.
func TestKilled(t *testing.T) {
	r := newRig(t, often)
	p := r.calls60("a", 30*time.Second)
	r.must(p.Process.Kill())
	_, _ = p.Process.Wait()
	w := r.worker("a")
	r.until(w, "failed")
	if notes := r.read("a/moon/scratchpad/active.yaml"); !strings.Contains(notes, "outcome unknown") || strings.Contains(notes, "machine") {
		t.Error(notes)
	}
	if _, err := os.Stat(w.Lost("moon")); err == nil || r.effects() != 1 {
		t.Errorf("%d effects; what nobody took over is aside", r.effects())
	}
}

// Of a worker that is gone, or stopped for longer than its lease, another one takes over: it
// names the call, and repeats none. The late one commits nothing, and ends what it ran; what
// it had is kept aside.
func TestTakenOver(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(unix.SignalName(signal), func(t *testing.T) {
			r := newRig(t, often)
			p := r.calls60("a", 3*time.Second)
			r.must(p.Process.Signal(signal))
			r.until(r.worker("b"), "failed")
			notes := r.read("b/moon/scratchpad/active.yaml")
			if !strings.Contains(notes, "outcome unknown") || !strings.Contains(notes, "its machine was lost") {
				t.Error(notes)
			}
			if _ = p.Process.Signal(syscall.SIGCONT); signal == syscall.SIGKILL {
				_, _ = p.Process.Wait()
				r.wake(r.worker("a"))
			}
			pid, _ := strconv.Atoi(strings.TrimSpace(r.read("pid")))
			r.await("the end of the call", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
			r.await("the folder aside", func() bool { return r.read("a/.lost/moon/rules.md") != "" })
			r.await("a folder in its place", func() bool { return r.read("a/moon/scratchpad/active.yaml") == notes })
			if r.effects() != 1 {
				t.Errorf("%v: %d effects", signal, r.effects())
			}
		})
	}
}

// A worker that is to end tells its cycle to, which saves. That is committed.
func TestDrained(t *testing.T) {
	r := newRig(t, often)
	r.do = func(int64) string { return "sleep 60" }
	r.order("run", "--task=work")
	w := r.worker("a")
	r.wake(w)
	ctx, drain := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := w.Wake(ctx, "moon")
		ended <- err
	}()
	r.await("a call", func() bool { return r.effects() == 1 })
	drain()
	r.must(<-ended)
	if h := r.at(); h.State.Outcome != "signal" || h.Holder != "" || h.State.Problem != "" {
		t.Errorf("%+v", h)
	}
}

// While the store is away a cycle waits with its next call. It goes on if that ends in time;
// else it is killed, and what it came to is in its folder.
func TestStoreAway(t *testing.T) {
	for ttl, outcome := range map[time.Duration]string{30 * time.Second: "done", 3 * time.Second: "failed"} {
		t.Run(outcome, func(t *testing.T) {
			r := newRig(t, often)
			r.calls = 3
			c := r.config("a")
			c.TTL = ttl
			w := r.made(c)
			r.order("run", "--task", "work")
			r.wake(w)
			r.do = func(int64) string { return "while test ! -e " + r.dir + "/go; do sleep 0.02; done" }
			ended := make(chan error, 1)
			go func() {
				_, err := w.Wake(t.Context(), "moon")
				ended <- err
			}()
			r.await("a call", func() bool { return r.effects() == 1 })
			r.away(true)
			r.write("go", "")
			if outcome == "done" {
				time.Sleep(100 * time.Millisecond) // for a line that waits, or not
				r.away(false)
			}
			if err := <-ended; (err == nil) != (outcome == "done") {
				t.Errorf("the visit: %v", err)
			}
			r.away(false)
			a := r.worker("a")
			r.await(outcome, func() bool {
				r.wake(a)
				is := r.at().State.Outcome
				return is == outcome || outcome == "failed" && (is == "signal" || is == "lost") // it may have had the time to say so
			})
			want := map[string]int{"done": 3, "failed": 1}[outcome]
			if _, err := os.Stat(w.Lost("moon")); err == nil || r.effects() != want {
				t.Errorf("%d effects, want %d; or it is aside", r.effects(), want)
			}
		})
	}
}

// Workers are killed at random, and take over from each other. What is ordered is done once,
// no call runs twice, and each that ran is in a journal, which names it where it has no end.
func TestKilledAtRandom(t *testing.T) {
	r := newRig(t, often)
	r.calls, r.do = 2, func(int64) string { return "sleep 0.1" }
	var results []func() store.Order
	for n := range 12 {
		results = append(results, r.order("tell", fmt.Sprintf("told %d.", n)))
		if n%3 == 0 {
			r.order("run")
		}
		c := r.config(string("ab"[n/2%2]))
		c.TTL = 300 * time.Millisecond
		p := r.process(c)
		time.Sleep(rand.N(700 * time.Millisecond))
		_ = p.Process.Kill()
		_, _ = p.Process.Wait()
	}
	w := r.worker("a")
	r.await("quiet", func() bool { at := r.wake(w).At; return time.Until(at) > time.Hour })
	memory := r.read("a/moon/scratchpad/active.yaml")
	inbox, _ := filepath.Glob(filepath.Join(r.dir, "a/moon/inbox/*"))
	for _, path := range inbox {
		memory += r.read(strings.TrimPrefix(path, r.dir))
	}
	journals, _ := filepath.Glob(filepath.Join(r.dir, "a/moon/logs/cycle_*.jsonl"))
	var all strings.Builder
	for _, path := range journals {
		text := r.read(strings.TrimPrefix(path, r.dir))
		all.WriteString(text)
		open := strings.Count(text, `"event":"intent"`) > strings.Count(text, `"event":"result"`)
		if open && !strings.Contains(text, "outcome unknown") || !strings.Contains(text, `"event":"sleep"`) {
			t.Errorf("%s does not say how it ended: %s", path, text)
		}
	}
	for n, result := range results {
		if o := result(); o.Exit == nil || *o.Exit != 0 {
			t.Errorf("order %d: %+v", n, o)
		}
		if task := fmt.Sprintf("told %d.", n); !strings.Contains(memory+all.String(), task) {
			t.Errorf("%s is nowhere", task)
		}
	}
	r.effects()
	for _, n := range strings.Fields(r.read("effects")) {
		if !strings.Contains(all.String(), "echo "+n+" ") {
			t.Errorf("call %s is in no journal", n)
		}
	}
	t.Logf("%d calls in %d cycles", r.effects(), len(journals))
}

// A worker is killed after it made a task of what a hook received, and before the commit: the
// task is there once, and another order of the same changes nothing.
func TestHookKilled(t *testing.T) {
	r := newRig(t, "hooks: [{name: issues, secret_env: OPENAI_API_KEY, per_hour: 1, check: test -s a}]\n")
	hook := func(id string) func() store.Order {
		return r.orderWith(worker.HookOrder("issues", id), `{"id": "`+id+`", "hook": "issues", "task": "look at `+id+`"}`)
	}
	const id, other = "00112233445566778899aabbccddeeff", "ffeeddccbbaa99887766554433221100"
	result := hook(id)
	r.order("tell", "hello") // of which it dies
	r.write("deadly", "#!/bin/sh\nls "+r.dir+"/a/moon/inbox >"+r.dir+"/taken\nkill -9 $PPID\n")
	r.must(os.Chmod(filepath.Join(r.dir, "deadly"), 0o700))
	c := r.config("a")
	c.Rouse, c.TTL = filepath.Join(r.dir, "deadly"), time.Second
	_ = r.process(c).Wait()
	if !strings.Contains(r.read("taken"), id) || result().Done != nil {
		t.Fatalf("it was not killed between: %q, %+v", r.read("taken"), result())
	}
	again, more := hook(id), hook(other)
	odd := hook("../" + id)
	w := r.worker("a")
	r.await("orders", func() bool { r.wake(w); o := again(); return o.Done != nil })
	tasks, _ := filepath.Glob(filepath.Join(r.dir, "a/moon/inbox/*-"+id+".yaml"))
	if len(tasks) != 1 || *result().Exit != 0 || *again().Exit != 0 || *more().Exit != 0 || *odd().Exit != 2 {
		t.Fatalf("%q, %+v, %+v", tasks, result(), odd())
	}
	if text := r.read(strings.TrimPrefix(tasks[0], r.dir)); !strings.Contains(text, "origin: hook issues") || !strings.Contains(text, "test -s a") {
		t.Error(text)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "a/moon/logs/hooks/issues."+id+".json")); err != nil {
		t.Error(err)
	}
	r.until(w, "done")
}

// Things that somebody is to mend are said of the home, and mended they are over.
func TestProblems(t *testing.T) {
	r := newRig(t, often)
	w := r.worker("a")
	says := func(what string) {
		t.Helper()
		next := r.wake(w)
		if h := r.at(); !strings.Contains(h.State.Problem, what) || (h.State.Problem == "") != (what == "") || h.Holder != "" {
			t.Errorf("%q, want %q; again at %v", h.State.Problem, what, next)
		}
	}
	env := r.read("keys/.env")
	r.write("keys/.env", "OPENAI_API_KEY=x\n")
	says("moon needs OPENAI_BASE_URL, which a has not: put it into " + r.keys)
	r.write("keys/moon/.env", env)
	says("")
	if r.read("a/moon/.env") != env {
		t.Error("its own .env does not come first")
	}
	own := filepath.Join(r.keys, "moon")
	r.write("keys/.env", env)
	r.must(os.RemoveAll(own))
	r.must(os.Symlink(own, own)) // cannot be looked into
	says("put it into " + own)
	r.must(os.Remove(own))
	says("")
	r.write("a/moon/rouse.yaml", often+"nonsense: 1\n") // an edit goes in as any
	says("nonsense")
	r.write("a/moon/rouse.yaml", often+"workspace: /elsewhere\n")
	says("outside of the home")
	r.write("a/moon/rouse.yaml", often)
	r.must(syscall.Mkfifo(filepath.Join(r.dir, "a/moon/workspace/pipe"), 0o600))
	says("pipe (a FIFO)")
	r.must(os.Remove(filepath.Join(r.dir, "a/moon/workspace/pipe")))
	for _, argv := range [][]string{{"vault", "list"}, {"doctor"}, {"doctor", "--accept", "--model"}, {"tell", "--now", "x"}, {"tell", "--home=/", "x"}, {}} {
		result := r.order(argv...)
		says("")
		if o := result(); *o.Exit != 2 || !strings.Contains(*o.Said, "cannot be ordered") {
			t.Errorf("%q: %d %s", argv, *o.Exit, *o.Said)
		}
	}
	accepted := r.order("doctor", "--accept")
	says("")
	if o := accepted(); !strings.Contains(*o.Said, "rouse.yaml") {
		t.Errorf("doctor --accept: %d %s", *o.Exit, *o.Said)
	}
	rests := func(want string, argv ...string) {
		t.Helper()
		r.order(argv...)
		says("")
		if got := r.at().State.Rests; got != want {
			t.Errorf("it rests: %q, want %q", got, want)
		}
	}
	rests("paused, as said: a disk", "pause", "--", "a disk")
	rests("", "resume")
	told := r.order("tell", "hello")
	says("")
	inbox, _ := filepath.Glob(filepath.Join(r.dir, "a/moon/inbox/*"))
	if len(inbox) != 1 || !strings.Contains(r.read(strings.TrimPrefix(inbox[0], r.dir)), "by: "+told().By+" via fleet\n") {
		t.Errorf("what %s ordered is not in that name, in %q", told().By, inbox)
	}
	r.write("deaf", "#!/bin/sh\nunset ROUSE_MIRROR\nexec "+w.Rouse+" \"$@\"\n")
	w.Rouse = filepath.Join(r.dir, "deaf")
	r.must(os.Chmod(w.Rouse, 0o700))
	r.order("run", "--task", "work")
	says("")
	says("hands over nothing")
	w.Rouse = "/nowhere/rouse"
	r.order("tell", "hello")
	says("/nowhere/rouse")
}

// What changed alone is sent, here and there; a folder that is behind is brought forward, and
// what was edited in it before is kept aside. A home that is pulled is gone.
func TestFolders(t *testing.T) {
	r := newRig(t, often)
	a, b := r.worker("a"), r.worker("b")
	r.wake(a)
	r.wake(b)
	r.write("a/moon/workspace/new", "new")
	r.write("b/moon/workspace/big", "edited")
	r.wake(a)
	inode := func() uint64 {
		info, err := os.Stat(filepath.Join(r.dir, "b/moon/workspace/many"))
		r.must(err)
		return info.Sys().(*syscall.Stat_t).Ino
	}
	r.wake(b)
	if r.read("b/moon/workspace/new") != "new" || len(r.read("b/moon/workspace/big")) != 1<<20 || r.read("b/.lost/moon/workspace/big") != "edited" {
		t.Error("not overtaken")
	}
	was := inode()
	r.write("a/moon/workspace/new", "newer")
	r.wake(a)
	r.wake(b)
	if r.read("b/moon/workspace/new") != "newer" || inode() != was {
		t.Error("what did not change was written")
	}
	_, err := checkout.Pull(t.Context(), r.store, "moon", filepath.Join(r.dir, "moon"), false)
	r.must(err)
	if !r.wake(b).Gone || r.read("moon/workspace/new") != "newer" {
		t.Error("not pulled")
	}
}

// What a cycle without a sandbox does to the home's own files keeps nobody waiting, and writes
// nothing elsewhere: it is told.
func TestHostile(t *testing.T) {
	r := newRig(t, "schedule: {cron: '* * * * *', task: work}\n")
	w := r.worker("a")
	fifo := filepath.Join(r.dir, "a/moon/logs/cycle_20990101_000000.jsonl")
	r.do = func(int64) string { return "mkfifo " + fifo }
	r.wake(w)
	if h := r.at(); !strings.Contains(h.State.Problem, "(a FIFO), where the home has a file of its own") {
		t.Errorf("%q", h.State.Problem)
	}
	r.do = nil
	r.must(os.Remove(fifo))
	r.wake(w)
	logs, elsewhere := filepath.Join(r.dir, "a/moon/logs"), filepath.Join(r.dir, "elsewhere")
	for _, name := range []string{"fleet.new", "fleet.manifest"} {
		_ = os.Remove(filepath.Join(logs, name))
		r.must(syscall.Mkfifo(filepath.Join(logs, name), 0o600))
	}
	result := r.order("tell", "hello")
	r.wake(w)
	if o := result(); *o.Exit != 0 {
		t.Errorf("exit %d: %s", *o.Exit, *o.Said)
	}
	r.must(os.Rename(logs, elsewhere))
	r.must(os.Symlink(elsewhere, logs))
	old := r.read("elsewhere/fleet.json")
	r.order("tell", "hello")
	r.wake(w)
	if h := r.at(); !strings.Contains(h.State.Problem, "is no folder") || r.read("elsewhere/fleet.json") != old {
		t.Errorf("%q, %s", h.State.Problem, r.read("elsewhere/fleet.json"))
	}
}
