package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rouse/agent"
	"rouse/agent/approval"
	"rouse/agent/config"
	"rouse/agent/model"
	"rouse/dispatcher/policy"
	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/sweep"
	"rouse/journal"
	"rouse/tools"
)

// replayed runs a cycle again, which must come to the same.
func (r *rig) replayed(cycle string) Replayed {
	r.t.Helper()
	before := r.ran
	got, err := Run(r.t.Context(), r.home, cycle, Options{Redact: r.hide})
	r.must(err)
	if !got.Same {
		r.t.Errorf("cycle %s: %v", cycle, got.First)
	}
	if r.ran != before {
		r.t.Errorf("cycle %s: %d calls were carried out", cycle, r.ran-before)
	}
	return got
}

// died says that a cycle did not sleep.
func (r *rig) died(id string) bool {
	last, err := journal.Last(r.home.Journal(id))
	r.must(err)
	return last.Event != "sleep"
}

// settled replays a cycle that was killed and settled, unless nothing of it was saved.
func (r *rig) settled(id string, met map[string]int) {
	r.t.Helper()
	if _, err := agent.ReadPast(r.home, id); err != nil {
		known := []string{"never saved", "has not slept", "killed be", "is gone", "is damaged", "the memory as the cycle found it"}
		if !slices.ContainsFunc(known, func(why string) bool { return strings.Contains(err.Error(), why) }) {
			r.t.Error(err)
		}
		return
	}
	r.replayed(id)
	met["killed"]++
}

// Cycles of all sorts come to the same when they are run again, byte for byte, and what
// the model was asked does too.
func TestReplay(t *testing.T) {
	cycles, actions, met := sweep.Of(16, 48, 1000), 0, map[string]int{}
	away, err := model.NewClient(model.Options{BaseURL: "http://127.0.0.1:1/v1", Name: "away"})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(cycles / 4) {
		r := newRig(t, seed)
		dead := "" // a cycle that was killed, and is not settled yet
		for range 4 {
			a := r.agent(r.random(4+r.rnd.IntN(12)), func(a *agent.Agent, c *config.Config) {
				a.Protocol = []string{agent.ProtocolAuto, agent.ProtocolJSON, agent.ProtocolTools}[r.rnd.IntN(3)]
				c.Cycle.NotesMax, c.Cycle.CompletedMax = 2000, 3
				if r.rnd.IntN(3) == 0 {
					a.Task = fmt.Sprintf("the <task> %d", r.rnd.IntN(100))
					a.Waking.Attempt = r.rnd.IntN(2)
				}
				if r.rnd.IntN(4) == 0 {
					c.Cycle.Locked = []string{"goals"}
				}
				if seed%2 == 1 { // calls that nobody carries out
					rules := policy.Policy{Rules: []policy.Rule{{Tool: "big", Do: policy.Deny}, {Match: map[string]string{"label": "bad*"}, Do: policy.Ask}, {Match: map[string]string{"label": "same"}, Do: policy.Allow}}}
					a.Consent.Decide = func(_ tools.Tool, c policy.Call) policy.Decision { return rules.Decide(c) }
					a.Approvals = &approval.File{Path: r.home.Approvals(), Lock: r.home.ApprovalsLock(), Disk: disk.Unsynced{}, Now: a.Now, Expire: time.Hour}
					if list, err := a.Approvals.Load(); err == nil && len(list.Entries) > 0 {
						_, _ = a.Approvals.Answer(list.Entries[r.rnd.IntN(len(list.Entries))].ID, []string{approval.Approve, approval.Deny}[r.rnd.IntN(4)/3], "anna", "")
					}
				}
				if r.rnd.IntN(3) == 0 {
					a.Checks.Task = []any{"test -s <a>", map[string]any{"file": "nowhere", "by": "agent"}}[:1+r.rnd.IntN(2)]
				}
				if r.rnd.IntN(8) == 0 {
					a.Fallback = []agent.Target{{Model: a.Model, ModelName: "other", ModelID: "other"}}
					a.Model = away
				}
				if r.rnd.IntN(5) == 0 {
					a.Disk = &disktest.Faulty{FS: disk.Unsynced{}, Fault: disktest.Fault{At: 20 + r.rnd.IntN(150), Mode: disktest.CrashBefore}}
				}
			})
			id := r.cycle(a)
			if dead != "" {
				r.settled(dead, met)
			}
			if dead = ""; r.died(id) {
				dead = id
				continue
			}
			got := r.replayed(id)
			if actions += got.Actions; got.Requests > 0 {
				t.Errorf("%d requests are not what they were", got.Requests)
			}
			past, err := agent.ReadPast(r.home, got.Cycle)
			r.must(err)
			for _, e := range past.Events() {
				met[e.Event]++
				if d, ok := e.Data.(*journal.End); ok {
					met[d.Outcome]++
				}
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if met["policy"] == 0 {
		t.Error("no call was decided on")
	}
	t.Logf("%d cycles, %d actions, byte for byte; %v", cycles, actions, met)
}

// What differs is said: where, what was recorded, and what came now.
func TestReplayDiffers(t *testing.T) {
	r := newRig(t, 1)
	asked := 0
	id := r.cycle(r.agent(asker(func(req model.Request) (model.Reply, error) {
		asked++
		return []model.Reply{act(req, "effect", `{"label":"a"}`), act(req, "update_scratchpad", `{"fact":1}`), act(req, "done", `{"summary":"seen"}`)}[asked-1], nil
	}), nil))
	whole := r.read(r.home.Journal(id))
	for _, c := range []struct{ old, new, want string }{
		{"did a", "did b", "iteration 1: step 1: result changes: recorded `[{"},
		{`"args":{"fact":1}`, `"args":{"fact":2}`, "iteration 2: state changes: recorded `[{\"key\":\"fact\",\"op\":\"set\",\"value\":1}]`, now `[{\"key\":\"fact\",\"op\":\"set\",\"value\":2}]`"},
		{`"name":"done"`, `"name":"effect"`, "iteration 3: step 3: what comes next: recorded state `{"},
		{`"event":"end","outcome":"done"`, `"event":"end","outcome":"idle"`, "iteration 3: end outcome: recorded `\"idle\"`, now `\"done\"`"},
	} {
		if strings.Count(whole, c.old) == 0 {
			t.Fatalf("%s is not there", c.old)
		}
		r.must(os.WriteFile(r.home.Journal(id), []byte(strings.Replace(whole, c.old, c.new, 1)), 0o600))
		got, err := Run(t.Context(), r.home, id, Options{})
		if err != nil || got.Same || !strings.HasPrefix(got.First.String(), c.want) {
			t.Errorf("%s: %v, %v, want %s", c.new, got.First, err, c.want)
		}
	}
}

// One that is told to end says that, and leaves nothing.
func TestReplayInterrupted(t *testing.T) {
	r := newRig(t, 1)
	id := r.cycle(r.agent(r.random(4), nil))
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(agent.Signal{Signal: syscall.SIGTERM})
	if _, err := Run(ctx, r.home, id, Options{}); !errors.As(err, new(agent.Signal)) {
		t.Error(err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// A cycle that lacks something is not replayed, and it is said what.
func TestReplayImpossible(t *testing.T) {
	r := newRig(t, 1)
	id := r.cycle(r.agent(r.random(2), nil))
	whole, before := r.read(r.home.Journal(id)), r.read(r.home.Before(id))
	wants := func(want string) {
		t.Helper()
		_, err := Run(t.Context(), r.home, id, Options{})
		if !errors.As(err, new(*Impossible)) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, not %v", want, err)
		}
		r.must(os.WriteFile(r.home.Journal(id), []byte(whole), 0o600))
		r.must(os.WriteFile(r.home.Before(id), []byte(before), 0o600))
	}
	journal := func(old, new string) {
		text := regexp.MustCompile(old).ReplaceAllString(whole, new)
		if text == whole {
			t.Fatalf("%s is not there", old)
		}
		r.must(os.WriteFile(r.home.Journal(id), []byte(text), 0o600))
	}
	journal(`.*"event":"sleep".*\n`, "")
	wants("it has not slept")
	journal(`.*"event":"end".*\n`, "")
	wants("never saved")
	journal(`"empty_notes":`, `"rewound":"20260101_000000","empty_notes":`)
	wants("a rewind")
	journal(`"empty_notes":`, `"unproven":3,"empty_notes":`)
	wants("not proven")
	journal(`.*"event":"made".*\n`, "")
	wants("older rouse")
	journal(`,"made":\{[^}]*\}`, "")
	wants("older rouse")
	r.must(os.WriteFile(r.home.Before(id), []byte("goals: [another]\n"), 0o600))
	wants("not the memory that it found")
	r.must(os.Remove(r.home.Before(id)))
	wants("the memory as the cycle found it")
	r.must(os.Remove(r.home.After(id)))
	wants("what it came to")
	r.must(os.RemoveAll(r.home.Made()))
	wants("is gone")
	r.must(os.Remove(r.home.Journal(id)))
	wants("no such file")
}
