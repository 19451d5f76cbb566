package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rouse/agent/history"
	"rouse/internal/disk"
	"rouse/internal/killtest"
	"rouse/scratchpad"
)

// effectCommand leaves a daemon, a line for each time that it ran, and a file.
func effectCommand(s *site) string {
	return "setsid sleep 300 & echo ran >> " + s.ledger + "; echo ran >> ran"
}

// The real program is killed at its system calls, through a whole cycle: the
// memory is old or new, the next run goes on, no call is repeated unmarked and
// no process is left.
func TestKilledThroughACycle(t *testing.T) {
	base := t.TempDir()
	var c kills
	points := killtest.Sweep(t, 40, func(n int) killtest.Result {
		s := newSite(t, filepath.Join(base, fmt.Sprint(n)))
		server := replying(shellReply(effectCommand(s)), act("update_scratchpad", `{"fact":42}`), act("done", `{"summary":"seen"}`))
		defer server.Close()
		r := kill(t, s.command(server, "run"), n)
		context := fmt.Sprintf("killed %s (%d)", r.At, n)
		c.checkOldOrNew(t, s, context)
		s.wakeAgain(context)
		c.check(t, s, context)
		if now := s.state(s.home.Active()); len(server.Requests()) > 2 && !holds(now, "fact") {
			t.Fatalf("%s: what the model wrote is lost", context)
		}
		s.must(os.RemoveAll(s.home.Dir))
		return r
	})
	c.log(t, points)
}

// The same in a home whose memory is tidied: what leaves it is in its archive, once.
func TestKilledWhileTidying(t *testing.T) {
	base := t.TempDir()
	points := killtest.Sweep(t, 25, func(n int) killtest.Result {
		s := newSite(t, filepath.Join(base, fmt.Sprint(n)))
		s.must(os.WriteFile(s.home.Active(), []byte(crowded()), 0o600))
		s.must(os.WriteFile(s.home.Config(), []byte("cycle: {completed_max: 4}\n"), 0o600))
		server := replying(act("done", `{"summary":"seen"}`))
		defer server.Close()
		r := kill(t, s.command(server, "run"), n)
		context := fmt.Sprintf("killed %s (%d)", r.At, n)
		s.wakeAgain(context)
		s.checkSettled(context)
		s.checkTidy(t, context, true)
		s.checkFolded(t, context)
		s.must(os.RemoveAll(s.home.Dir))
		return r
	})
	t.Logf("finished tasks lost or doubled 0 / %d kills", points)
}

// The real program is killed while it puts a home back: the next run finds memory and
// files both as they were, or both put back.
func TestKilledWhileRewinding(t *testing.T) {
	base := t.TempDir()
	back := 0
	points := killtest.Sweep(t, 12, func(n int) killtest.Result {
		night := badNight(t, filepath.Join(base, fmt.Sprint(n)))
		s := &site{night.rig, ""}
		goals, worse := len(s.state(s.home.Active()).Goals()), night.tree()
		server := replying()
		defer server.Close()
		r := kill(t, s.command(server, "rewind", night.bad, "--yes"), n)
		context := fmt.Sprintf("killed %s (%d)", r.At, n)
		s.wakeAgain(context)
		s.checkSettled(context)
		was, now := night.tree() == night.files, len(s.state(s.home.Active()).Goals()) > goals
		if was != now || !was && night.tree() != worse {
			t.Fatalf("%s: files are back %v, the memory %v:\n%s", context, was, now, night.tree())
		}
		if was {
			back++
		}
		s.must(os.RemoveAll(s.home.Dir))
		return r
	})
	t.Logf("torn 0 / %d kills; put back all the same %d", points, back)
}

// The real program is killed while it writes a backup, and while it makes a home of one:
// there is all of it or nothing, and done again it is there.
func TestKilledWhileBackingUp(t *testing.T) {
	base := t.TempDir()
	night := badNight(t, filepath.Join(base, "home"))
	s := &site{night.rig, ""}
	server := replying()
	defer server.Close()
	whole, points := filepath.Join(base, "whole"), 0
	ran := func(context string, args ...string) {
		if exit, said := s.run(server, args...); exit != 0 {
			t.Fatalf("%s: %s", context, said)
		}
	}
	ran("backup", "backup", whole)
	for _, args := range [][]string{{"backup"}, {"restore", whole}} {
		points += killtest.Sweep(t, 5, func(n int) killtest.Result {
			dir := filepath.Join(base, fmt.Sprint(args[0], n))
			s.must(os.Mkdir(dir, 0o700))
			made := filepath.Join(dir, "made")
			r := kill(t, s.command(server, append(args, made)...), n)
			context := fmt.Sprintf("%s killed %s (%d)", args[0], r.At, n)
			if !disk.Exists(made) {
				ran(context, append(args, made)...)
			}
			if args[0] == "backup" {
				ran(context, "restore", made, filepath.Join(dir, "home"))
				made = filepath.Join(dir, "home")
			}
			for _, path := range []string{"rules.md", "scratchpad/active.yaml", "workspace/mine"} {
				if s.read(filepath.Join(made, path)) != s.read(filepath.Join(s.home.Dir, path)) {
					t.Fatalf("%s: %s is not what it was", context, path)
				}
			}
			s.must(os.RemoveAll(dir))
			return r
		})
	}
	t.Logf("by half 0 / %d kills", points)
}

// The run that recovers from a kill is killed too; the third one goes on.
func TestKilledThroughRecovery(t *testing.T) {
	base := t.TempDir()
	var c kills
	points := killtest.Sweep(t, 15, func(n int) killtest.Result {
		s := newSite(t, filepath.Join(base, fmt.Sprint(n)))
		s.dieInACall()
		server := replying(act("done", `{"summary":"went on"}`))
		defer server.Close()
		r := kill(t, s.command(server, "run"), n)
		context := fmt.Sprintf("killed in a call, then %s (%d)", r.At, n)
		c.checkOldOrNew(t, s, context)
		s.wakeAgain(context)
		c.check(t, s, context)
		if c.unknown == 0 {
			t.Fatalf("%s: the call is not marked", context)
		}
		s.must(os.RemoveAll(s.home.Dir))
		return r
	})
	c.log(t, points)
	if c.unknown != points+2 { // and the two runs that were not killed
		t.Errorf("unknown outcomes marked %d / %d", c.unknown, points+2)
	}
}

// dieInACall kills a cycle while its call goes on.
func (s *site) dieInACall() {
	s.t.Helper()
	server := replying(shellReply(effectCommand(s) + "; sleep 300"))
	defer server.Close()
	cmd := s.command(server, "run")
	s.must(cmd.Start())
	waitUntil(s.t, "the call", func() bool { return s.read(s.ledger) != "" })
	s.must(cmd.Process.Kill())
	if err := cmd.Wait(); !errors.As(err, new(*exec.ExitError)) {
		s.t.Fatal(err)
	}
}

// kill runs the program and kills it at its nth stop.
func kill(t *testing.T, cmd *exec.Cmd, n int) killtest.Result {
	t.Helper()
	r, err := killtest.Run(cmd, n, killtest.Effects)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !r.Killed && r.Status.ExitStatus() != 0 {
		t.Fatalf("not killed, and ended with %#x", r.Status)
	}
	return r
}

// kills counts what became of calls whose program was killed.
type kills struct{ ran, done, unknown, never int }

func (c *kills) log(t *testing.T, points int) {
	t.Helper()
	t.Logf("torn 0 / %d kills; calls that ran %d: recorded %d, marked as of unknown outcome %d (%d of them never ran), repeated unmarked 0; processes left 0",
		points, c.ran, c.done, c.unknown, c.never)
}

// checkOldOrNew wants the memory to be as it was before, or as the newest
// snapshots say.
func (c *kills) checkOldOrNew(t *testing.T, s *site, context string) {
	t.Helper()
	if s.active() == oldState {
		return
	}
	now := s.state(s.home.Active())
	for _, id := range s.cycles() {
		if disk.Exists(s.home.After(id)) && scratchpad.Equal(now, s.state(s.home.After(id))) {
			return
		}
	}
	t.Fatalf("%s: torn: %q", context, s.active())
}

// check wants a settled home whose notes tell of the call as the ledger does.
func (c *kills) check(t *testing.T, s *site, context string) {
	t.Helper()
	notes := s.checkSettled(context).Notes()
	ran := strings.Count(s.read(s.ledger), "ran\n")
	done := strings.Count(notes, "\n[TOOL] shell(")
	unknown := strings.Count(notes, "outcome unknown, it may have run and is not repeated: step 1 shell(")
	if ran > 1 || done+unknown > 1 || ran > done+unknown || done > ran {
		t.Fatalf("%s: ran %d times, told %d times as done and %d times as unknown:%s", context, ran, done, unknown, notes)
	}
	store := history.Store{Dir: s.home.History(), Of: "workspace", MaxFile: 1 << 20, MaxBytes: 1 << 20}
	if got, err := store.Take(filepath.Join(s.home.Dir, "workspace"), history.After("9")); err != nil || got.Made {
		t.Fatalf("%s: the newest version is not the workspace: %+v, %v", context, got, err)
	}
	c.ran += ran
	c.done += done
	c.unknown += unknown
	c.never += unknown + done - ran
}

// The real program is killed while it forgets: each file is old or new, and the next run
// does the rest.
func TestKilledWhileForgetting(t *testing.T) {
	base := t.TempDir()
	whole := leakyHome(t, filepath.Join(base, "home"))
	points := killtest.Sweep(t, 12, func(n int) killtest.Result {
		s := &site{whole.in(filepath.Join(base, fmt.Sprint(n))), ""}
		s.must(os.CopyFS(s.home.Dir, os.DirFS(whole.home.Dir)))
		server := replying()
		defer server.Close()
		r := kill(t, s.command(server, "forget", leaked, "--yes"), n)
		context := fmt.Sprintf("killed %s (%d)", r.At, n)
		s.state(s.home.Active())
		if code, text := s.run(server, "forget", leaked, "--yes"); code != 0 {
			t.Fatalf("%s: again: exit %d: %s", context, code, text)
		}
		s.forgotten(context)
		s.must(os.RemoveAll(s.home.Dir))
		return r
	})
	t.Logf("values left 0 / %d kills", points)
}
