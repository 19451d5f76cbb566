package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/agent/approval"
	"rouse/agent/model"
	"rouse/agent/notify"
	"rouse/dispatcher/policy"
	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/journal"
	"rouse/tools"
)

// consented is an agent whose calls of the tool effect are decided on by do.
func (r *rig) consented(f disk.FS, do policy.Do, replies ...string) (*Agent, *script) {
	a, m := r.agent(f, replies...)
	a.Consent.Decide = func(tools.Tool, policy.Call) policy.Decision {
		return policy.Decision{Do: do, Rule: "policy[0]", Why: "people decide"}
	}
	a.Approvals = r.approvals(f)
	return a, m
}

func (r *rig) approvals(f disk.FS) *approval.File {
	return &approval.File{Path: r.home.Approvals(), Lock: r.home.ApprovalsLock(), Disk: f, Now: func() time.Time { return r.now }, Expire: 72 * time.Hour}
}

func (r *rig) runs(a *Agent, outcome string) {
	r.t.Helper()
	r.now = r.now.Add(time.Minute)
	if report, err := a.RunOnce(r.t.Context()); err != nil || report.Outcome != outcome || report.Exit != 0 {
		r.t.Fatalf("%+v, %v; want %s", report, err, outcome)
	}
}

// A call that a rule asks about waits, with its task; what a person says of it, or what
// else has become of it, is told once, and what was approved is carried out once, before the
// model is asked.
func TestApprovals(t *testing.T) {
	edit := func(r *rig, old, new string) {
		text := r.read(r.home.Approvals())
		if !strings.Contains(text, old) {
			r.t.Fatalf("no %q in %s", old, text)
		}
		r.must(os.WriteFile(r.home.Approvals(), []byte(strings.Replace(text, old, new, 1)), 0o600))
	}
	answer := func(decision string) func(*rig, string) {
		return func(r *rig, id string) {
			_, err := r.approvals(nil).Answer(id[:3], decision, "anna", "why not")
			r.must(err)
		}
	}
	for _, tt := range []struct {
		name   string
		change func(r *rig, id string)
		do     policy.Do
		ran    int
		said   string
	}{
		{"approved", answer(approval.Approve), policy.Ask, 1, `[TOOL] effect({"label":"a"}) approved ID → did a`},
		{"by hand", func(r *rig, id string) { edit(r, `decision: ""`, "decision: Approve # yes") }, policy.Ask, 1, `[TOOL] effect({"label":"a"}) approved ID → did a`},
		{"denied", answer(approval.Deny), policy.Ask, 0, `[APPROVAL] ID effect({"label":"a"}): denied by anna: why not`},
		{"late", func(r *rig, id string) { answer(approval.Approve)(r, id); r.now = r.now.Add(100 * time.Hour) }, policy.Ask, 0, "expired by anna"},
		{"edited", func(r *rig, id string) { answer(approval.Approve)(r, id); edit(r, `"label":"a"`, `"label":"b"`) }, policy.Ask, 0, "impossible by anna: its arguments were changed"},
		{"forbidden since", answer(approval.Approve), policy.Deny, 0, "the operator's policy denies it now (policy[0])"},
		{"another schema", func(r *rig, id string) { answer(approval.Approve)(r, id); edit(r, "schema: ", "schema: 0") }, policy.Ask, 0, "takes has changed"},
		{"withdrawn", func(r *rig, id string) { r.must(os.Remove(r.home.Approvals())) }, policy.Ask, 0, "[APPROVAL] ID: withdrawn: it is not in"},
	} {
		for _, protocol := range []string{ProtocolTools, ProtocolJSON} {
			t.Run(tt.name+" "+protocol, func(t *testing.T) {
				r := newRig(t, "", "current_task: push it\n")
				a, _ := r.consented(nil, policy.Ask, act("effect", `{"label":"a"}`), act("effect", `{"label":"a"}`), act("done", `{"summary":"asked"}`))
				a.Protocol = protocol
				r.runs(a, journal.Waiting)
				list, err := r.approvals(nil).Load()
				if err != nil || len(list.Entries) != 1 || len(r.ran) != 0 {
					t.Fatal(list, err, r.ran)
				}
				id := list.Entries[0].ID
				if s := r.active(); !strings.Contains(s, "waits:\n      - "+id+"\n") || !strings.Contains(s, "[WAITING] for "+id+": asked") {
					t.Fatal(s)
				}
				asked := func(task string) string {
					answered, waits := Waits(r.home, r.approvals(nil), task)
					return fmt.Sprint(answered, waits)
				}
				if got := asked("") + asked("push it") + asked("else"); got != "false truefalse truefalse false" {
					t.Error(got)
				}
				a, m := r.consented(nil, policy.Ask)
				r.runs(a, journal.Waiting)
				if m.asked > 0 {
					t.Error("a model was asked")
				}
				r.now = r.now.Add(time.Hour)
				tt.change(r, id)
				if got := asked(""); got != fmt.Sprint(tt.name != "withdrawn", false) {
					t.Error(got)
				}
				a, _ = r.consented(nil, tt.do, act("done", `{"summary":"pushed"}`))
				a.Protocol = protocol
				seen := listen(a)
				r.runs(a, journal.Done)
				said := strings.ReplaceAll(tt.said, "ID", id)
				if s := r.state(r.home.Active()); len(r.ran) != tt.ran || strings.Count(s.Notes(), said) != 1 || len(s.Completed()) != 1 || len(s.Pending()) > 0 {
					t.Errorf("%v, want %d; %q\n%s", r.ran, tt.ran, said, r.active())
				}
				if first := strings.ReplaceAll((*seen)[0], `\"`, `"`); tt.ran == 1 && !strings.Contains(first, "did a") || !strings.Contains(first, "current_task: push it") || tt.ran == 0 && !strings.Contains(first, "Note: "+id) {
					t.Errorf("the model was told %s", first)
				}
				for _, cycle := range r.cycles() {
					for i := 1; i <= 3; i++ {
						if _, err := Rebuild(r.home, cycle, i); err != nil && !strings.Contains(err.Error(), "no such request") {
							t.Errorf("cycle %s: %v", cycle, err)
						}
					}
				}
				a, m = r.consented(nil, policy.Ask)
				r.runs(a, journal.Idle)
				if m.asked > 0 || len(r.ran) != tt.ran {
					t.Error("it was done again")
				}
			})
		}
	}
}

// Without walls an answer counts for nothing, also once they stand again: model, notes and
// file are told why.
func TestApprovedWithoutWalls(t *testing.T) {
	r := newRig(t, "", "current_task: push it\n")
	a, _ := r.consented(nil, policy.Ask, act("effect", `{"label":"a"}`), act("done", `{"summary":"asked"}`))
	r.runs(a, journal.Waiting)
	list, err := r.approvals(nil).Load()
	r.must(err)
	id := list.Entries[0].ID
	_, err = r.approvals(nil).Answer(id, approval.Approve, "anna", "")
	r.must(err)
	a, _ = r.consented(nil, policy.Ask, act("done", `{"summary":"not pushed"}`))
	a.Approvals = nil
	seen := listen(a)
	r.runs(a, journal.Done)
	said := "withdrawn: " + uncounted
	if s := r.active(); !strings.Contains(s, "[APPROVAL] "+id+": "+said) || !strings.Contains((*seen)[0], said) {
		t.Error(s, *seen)
	}
	a, _ = r.consented(nil, policy.Ask)
	r.runs(a, journal.Idle)
	if list, err = r.approvals(nil).Load(); err != nil || list.Entries[0].Outcome != said || len(r.ran) > 0 {
		t.Error(list, err, r.ran)
	}
}

// listen keeps the requests that a model is sent.
func listen(a *Agent) *[]string {
	var seen []string
	next := a.Model
	a.Model = modelFunc(func(ctx context.Context, req model.Request) (model.Reply, error) {
		text := ""
		for _, m := range req.Messages {
			text += m.Content + "\n"
		}
		seen = append(seen, text)
		return next.Reply(ctx, req)
	})
	return &seen
}

type modelFunc func(context.Context, model.Request) (model.Reply, error)

func (f modelFunc) Reply(ctx context.Context, req model.Request) (model.Reply, error) {
	return f(ctx, req)
}

// What was carried out is not again where the file is put back, nor asked again what was
// denied; nobody flooded; a file that cannot be read is told of; a reset withdraws all.
func TestApprovalsAgain(t *testing.T) {
	r := newRig(t, "", "current_task: push it\n")
	cycle := func(outcome string, replies ...string) {
		a, _ := r.consented(nil, policy.Ask, replies...)
		a.Notify = &notify.Notifier{Path: r.home.Told(), Home: r.home.Dir, Sinks: []notify.Sink{{File: "told"}}}
		r.runs(a, outcome)
	}
	last := func() *approval.Entry {
		list, err := r.approvals(nil).Load()
		r.must(err)
		return list.Entries[len(list.Entries)-1]
	}
	answer := func(decision string) {
		_, err := r.approvals(nil).Answer(last().ID, decision, "anna", "")
		r.must(err)
	}
	done := act("done", `{"summary":"asked"}`)
	cycle(journal.Waiting, act("effect", `{"label":"a"}`), done)
	answer(approval.Approve)
	old := r.read(r.home.Approvals())
	cycle(journal.Done, done)
	r.must(os.WriteFile(r.home.Approvals(), []byte(old), 0o600))
	cycle(journal.Idle)
	if e := last(); len(r.ran) != 1 || !strings.HasPrefix(e.Outcome, approval.Carried) {
		t.Errorf("%v %+v", r.ran, e)
	}
	r.must(os.WriteFile(r.home.Active(), []byte("pending_actions: [{task: push it, waits: ["+last().ID+"]}]\n"), 0o600)) // as after a rewind
	cycle(journal.Done, done)
	if !strings.Contains(r.active(), "[APPROVAL] "+last().ID+` effect({"label":"a"}): carried`) {
		t.Error(r.active())
	}
	r.must(os.WriteFile(r.home.Active(), []byte("current_task: push it\n"), 0o600))
	cycle(journal.Waiting, act("effect", `{"label":"b"}`), done)
	answer(approval.Deny)
	id := last().ID
	if got, want := visible([]byte("{\"a\":\"é \u202e\U000e0001\"}")), `{"a":"é \u202e\udb40\udc01"}`; got != want {
		t.Error(got)
	}
	cycle(journal.Done, act("effect", `{"label":"b"}`), done)
	if last().ID != id || !strings.Contains(r.active(), "effect was denied as "+id) {
		t.Error(r.active())
	}
	r.must(os.WriteFile(r.home.Active(), []byte("current_task: push it\n"), 0o600))
	many := make([]string, maxTold+5)
	for i := range many {
		many[i] = act("effect", fmt.Sprintf(`{"label":"many %d"}`, i))
	}
	a, _ := r.consented(nil, policy.Ask, append(many, done)...)
	a.MaxIterations = 100
	a.Notify = &notify.Notifier{Path: r.home.Told(), Home: r.home.Dir, Sinks: []notify.Sink{{File: "told"}}}
	r.runs(a, journal.Waiting)
	if n := strings.Count(r.read(filepath.Join(r.home.Dir, "told")), `"kind":"approval"`); n != maxTold+2 {
		t.Errorf("told %d times", n)
	}
	good := r.read(r.home.Approvals())
	r.must(os.WriteFile(r.home.Approvals(), []byte(strings.Replace(good, `decision: ""`, "decision: maybe", 1)), 0o600))
	if answered, waits := Waits(r.home, r.approvals(nil), ""); !answered || waits {
		t.Error("nobody is told that it cannot be read")
	}
	cycle(journal.Waiting)
	if !strings.Contains(r.read(filepath.Join(r.home.Dir, "told")), "decision is approve or deny, not maybe") {
		t.Error("nobody was told")
	}
	r.must(os.WriteFile(r.home.Approvals(), []byte(good+"# "+strings.Repeat("x", 2<<20)), 0o600))
	answer(approval.Approve)
	if _, err := r.approvals(nil).Park(approval.Entry{Tool: "effect", Args: "{}"}); err == nil {
		t.Error("the file grows")
	}
	_, err := a.Reset(false)
	if r.must(err); last().State(r.now) != approval.Withdrawn {
		t.Errorf("%+v", last())
	}
}

// Wherever the disk fails or the machine dies, between asking and the result: nothing is
// carried out twice or unapproved, and nothing that was approved is lost.
func TestEveryFaultOfApprovals(t *testing.T) {
	base, runs, unknown := t.TempDir(), 0, 0
	for _, decision := range []string{approval.Approve, approval.Deny} {
		points := disktest.Sweep(t, faults(), func(f *disktest.Faulty) {
			runs++
			r := newRig(t, filepath.Join(base, fmt.Sprint(runs)), "current_task: push it\n")
			f.FS = unsynced{disk.OS{}}
			cycle := func(f disk.FS, replies ...string) {
				r.now = r.now.Add(time.Minute)
				a, _ := r.consented(f, policy.Ask, append(replies, act("done", `{"summary":"seen"}`))...)
				_, _ = a.RunOnce(t.Context()) // how it fails is told elsewhere
			}
			cycle(f, act("effect", `{"label":"a"}`))
			list, err := r.approvals(nil).Load()
			r.must(err)
			answered := false
			if len(list.Entries) > 0 {
				_, err = r.approvals(f).Answer(list.Entries[0].ID, decision, "anna", "")
				if list, err := r.approvals(nil).Load(); err == nil {
					answered = list.Entries[0].Decision == decision
				}
				if err == nil && !answered {
					t.Fatalf("%v: an answer is lost", f.Fault)
				}
			}
			for _, f := range []disk.FS{f, unsynced{disk.OS{}}, unsynced{disk.OS{}}} {
				cycle(f)
			}
			notes := r.state(r.home.Active()).Notes()
			came, lost := strings.Count(notes, `"}) approved `), strings.Count(notes, ": unknown by anna")
			switch {
			case len(r.ran) > 1, len(r.ran) == 1 && !(answered && decision == approval.Approve), came+lost > 1:
				t.Fatalf("%v at %q: ran %v\n%s", f.Fault, f.Fired(), r.ran, notes)
			case answered && decision == approval.Approve && came+lost != 1, came == 1 && len(r.ran) == 0:
				t.Fatalf("%v at %q: lost: ran %v\n%s\n%s", f.Fault, f.Fired(), r.ran, notes, r.read(r.home.Approvals()))
			case answered && decision == approval.Deny && strings.Count(notes, ": denied by anna") != 1:
				t.Fatalf("%v at %q: told of no\n%s", f.Fault, f.Fired(), notes)
			}
			unknown += lost
			r.must(os.RemoveAll(r.home.Dir))
		})
		t.Logf("%s: %d points, executed twice 0, unapproved 0, lost 0; of unknown outcome %d", decision, points, unknown)
	}
}
