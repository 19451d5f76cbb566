package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/jsonl"
	"rouse/internal/sweep"
	"rouse/journal"
	"rouse/scratchpad"
)

func TestFold(t *testing.T) {
	cycle := func(n int, lines ...string) string {
		return strings.Join(append(lines, fmt.Sprintf("[COMPLETED] %d", n)), "\n") + "\n"
	}
	calls := []string{`[TOOL] shell({"a":1}) → x`, "[NOTE] n", `[TOOL] read({}) → error: y`, `[TOOL] shell({}) → z`}
	var many, past string
	for i := range 30 {
		many += cycle(i, "[TOOL] a() → x")
		switch {
		case i < 30-keptCycles:
		case i < 28:
			past += cycle(i, "[TOOLS] 1 call: a 1")
		default:
			past += cycle(i, "[TOOL] a() → x")
		}
	}
	tests := []struct{ name, notes, left string }{
		{"this cycle and the one before", "mine\n" + cycle(1, calls...) + cycle(2, calls...), ""},
		{"one before that", "mine\n" + cycle(1, calls...) + cycle(2, calls[0]) + cycle(3, calls[0]),
			"mine\n[NOTE] n\n[TOOLS] 3 calls (1 failed): shell 2, read 1\n" + cycle(1) + cycle(2, calls[0]) + cycle(3, calls[0])},
		{"a cycle without calls", cycle(1, "by hand") + cycle(2) + cycle(3), ""},
		{"other ends", "[TOOL] a() → x\nCycle 20260401_150154 failed: y\n[TOOL] b() → x\n[LIMIT] l\n[TOOL] c() → x\n[STOPPED] s\n[INTERRUPTED] i\n[COMPLETED] c",
			"[TOOLS] 1 call: a 1\nCycle 20260401_150154 failed: y\n[TOOLS] 1 call: b 1\n[LIMIT] l\n[TOOL] c() → x\n[STOPPED] s\n[INTERRUPTED] i\n[COMPLETED] c"},
		{"a cycle that was settled", cycle(1, calls[0]) + cycle(2, calls[0]) + "[INTERRUPTED] i\n" + cycle(3), "[TOOLS] 1 call: shell 1\n" + cycle(1) + cycle(2, calls[0]) + "[INTERRUPTED] i\n" + cycle(3)},
		{"a note in the same words", cycle(1, "[NOTE] n", "[NOTE] m") + cycle(2, "[NOTE] n") + cycle(3, "[NOTE] n"),
			cycle(1, "[NOTE] m") + cycle(2, "[NOTE] n") + cycle(3, "[NOTE] n")},
		{"long past", many, past},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.left
			if want == "" {
				want = tt.notes
			}
			left, dropped := fold(tt.notes)
			if left != want || (dropped == "") != (tt.left == "") {
				t.Errorf("%s\nwant\n%s\ndropped\n%s", left, want, dropped)
			}
			for line := range strings.Lines(tt.notes) {
				if n := strings.Count(left+dropped, line); n < strings.Count(tt.notes, line) {
					t.Errorf("%q is there %d times", line, n)
				}
			}
			if again, more := fold(left); again != left || more != "" {
				t.Errorf("folded again:\n%s", again)
			}
		})
	}
}

// crowded is a memory that is to be tidied: three tasks too many, and calls of a
// cycle before the previous one.
func crowded() string {
	state := oldState + "completed_tasks:\n"
	for i := range 6 {
		state += fmt.Sprintf("  - {task: \"task <%d>\", n: %d.0}\n", i, i)
	}
	return state + "notes: |-\n  [TOOL] old(1) → x\n  [COMPLETED] one\n  [TOOL] older(2) → y\n  [COMPLETED] two\n"
}

func (r *rig) tidyAgent(f disk.FS, replies ...string) *Agent {
	a, _ := r.agent(f, replies...)
	a.CompletedMax = 4
	return a
}

// archive has the entries of the archive in order.
func (r *rig) archive() (entries []string) {
	r.t.Helper()
	for f, err := range jsonl.Read[Finished](r.home.Archive()) {
		r.must(err)
		entries = append(entries, string(f.Entry))
	}
	return entries
}

// Finished tasks above the limit leave the memory for the archive, in order, and
// what the journal says of it gives the state that was saved.
func TestFinishedTasksMoveToTheArchive(t *testing.T) {
	r := newRig(t, "", crowded())
	for i := range 3 {
		a := r.tidyAgent(disk.OS{}, act("done", fmt.Sprintf(`{"summary":"s%d"}`, i)))
		a.Task = fmt.Sprintf("t%d", i)
		report, err := a.RunOnce(t.Context())
		r.must(err)
		s := r.state(r.home.Before(report.Cycle))
		r.must(journal.Rebuild(s, journal.Read(r.home.Journal(report.Cycle))))
		if n := len(s.Completed()); n != 4 || !scratchpad.Equal(s, r.state(r.home.After(report.Cycle))) {
			t.Errorf("%d tasks, or the journal tells another state", n)
		}
		events := r.events(report.Cycle)
		if e := events[len(events)-1].Data.(*journal.Sleep); e.Task != journal.TaskClaimed {
			t.Errorf("the task is %q", e.Task)
		}
		if asked, err := Rebuild(r.home, report.Cycle, 1); err != nil || strings.Contains(fmt.Sprint(asked.Request), "in scratchpad/completed.jsonl") != (i > 0) {
			t.Errorf("cycle %d: the model is told otherwise: %v", i, err)
		}
	}
	want := []string{`{"n":0.0,"task":"task <0>"}`, `{"n":1.0,"task":"task <1>"}`, `{"n":2.0,"task":"task <2>"}`, `{"n":3.0,"task":"task <3>"}`, `{"n":4.0,"task":"task <4>"}`}
	if got := r.archive(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if text := r.read(r.home.DroppedNotes()); strings.Count(text, "[TOOL] old(1) → x\n") != 1 {
		t.Errorf("dropped: %s", text)
	}
}

// Where the archive cannot be written, nothing moves, and the journal says why.
func TestArchiveThatCannotBeWritten(t *testing.T) {
	r := newRig(t, "", crowded())
	r.must(os.Mkdir(r.home.Archive(), 0o700))
	report, err := r.tidyAgent(disk.OS{}, act("done", `{"summary":"seen"}`)).RunOnce(t.Context())
	r.must(err)
	if n := len(r.state(r.home.Active()).Completed()); n != 7 || report.Outcome != journal.Done {
		t.Errorf("%d tasks, %+v", n, report)
	}
	if text := r.read(r.home.Log(report.Cycle)); !strings.Contains(text, "warn   keep the finished tasks that are too many: ") {
		t.Error(text)
	}
}

// Every fault at every write of a cycle that tidies its memory, and then of the one
// that settles it: each task is in the memory or in the archive, once and in order,
// and each line of the notes there or with those that were dropped.
func TestTidyMeetsEveryFault(t *testing.T) {
	base := t.TempDir()
	all := faults()
	kinds := sweep.Of([]disktest.Fault{{Mode: disktest.CrashHalf}, all[3]}, all[:8], all)
	moved, settled := 0, 0
	for _, twice := range []bool{false, true} {
		n := 0
		points := disktest.Sweep(t, kinds, func(f *disktest.Faulty) {
			n++
			r := newRig(t, filepath.Join(base, fmt.Sprint(twice, n)), crowded())
			f.FS = unsynced{disk.OS{}}
			_, _ = r.tidyAgent(f, act("effect", `{"label":"a"}`), act("done", `{"summary":"seen"}`)).RunOnce(t.Context())
			r.checkTidy(t, f.Fault.String(), false)
			if twice {
				again := &disktest.Faulty{FS: unsynced{disk.OS{}}, Fault: f.Fault}
				again.Fault.At = f.Fault.At%23 + 1
				_, _ = r.tidyAgent(again).settle()
			}
			r.now = r.now.Add(time.Minute)
			a := r.tidyAgent(unsynced{disk.OS{}}, act("done", `{"summary":"went on"}`))
			report, err := a.RunOnce(t.Context())
			if err != nil || report.Exit != 0 {
				t.Fatalf("%v: %+v, %v", f.Fault, report, err)
			}
			if r.events(report.Cycle)[0].Data.(*journal.Wake).Settled != "" {
				settled++
			}
			r.checkTidy(t, f.Fault.String(), true)
			r.checkFolded(t, f.Fault.String())
			moved += len(r.archive())
			r.must(os.RemoveAll(r.home.Dir))
		})
		t.Logf("twice %v: lost or doubled 0 at %d points", twice, points)
	}
	if settled == 0 || moved == 0 {
		t.Errorf("%d settled, %d moved", settled, moved)
	}
}

// checkTidy wants no finished task of a crowded memory to be doubled and, once the
// home is settled, none to be lost.
func (r *rig) checkTidy(t *testing.T, context string, settled bool) {
	t.Helper()
	s, _, err := r.home.Load()
	r.must(err)
	var got, want []string
	for _, entry := range append(r.archive(), texts(t, s.Completed())...) {
		if strings.Contains(entry, `"task <`) {
			got = append(got, entry)
		}
	}
	for i := range 6 {
		want = append(want, fmt.Sprintf(`{"n":%d.0,"task":"task <%d>"}`, i, i))
	}
	if settled && (!slices.Equal(got, want) || len(s.Completed()) > 4) {
		t.Fatalf("%s: %q, and the memory has %d", context, got, len(s.Completed()))
	}
	if !slices.IsSorted(r.archive()) || len(slices.Compact(r.archive())) != len(r.archive()) {
		t.Fatalf("%s: doubled: %q", context, r.archive())
	}
}

// checkFolded wants the line of a call to be there once.
func (r *rig) checkFolded(t *testing.T, context string) {
	t.Helper()
	all := r.read(r.home.DroppedNotes()) + "\n" + r.state(r.home.Active()).Notes()
	if n := strings.Count(all, "\n[TOOL] old(1) → x\n"); n != 1 {
		t.Fatalf("%s: the line of a call is there %d times:\n%s", context, n, all)
	}
}

func texts(t *testing.T, list []any) (all []string) {
	t.Helper()
	for _, v := range list {
		text, err := jsonl.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.TrimSpace(string(text)))
	}
	return all
}

// What an older rouse left of an interrupted cycle is settled as it would be by that
// one: nothing is tidied.
func TestSettlingDoesNotTidy(t *testing.T) {
	r := newRig(t, "", crowded())
	a, m := r.agent(disk.OS{}, act("effect", `{"label":"a"}`))
	m.during = func(i int) {
		if i == 1 {
			panic("killed")
		}
	}
	crash(func() { a.RunOnce(t.Context()) })
	_, err := r.tidyAgent(disk.OS{}).settle()
	r.must(err)
	s := r.state(r.home.Active())
	if n := len(s.Completed()); n != 6 || !strings.HasPrefix(s.Notes(), "[TOOL] old(1) → x\n") {
		t.Errorf("%d tasks, notes %q", n, s.Notes())
	}
}

// An edit that keeps a cycle's result from being saved keeps its tasks from being
// archived too.
func TestConflictArchivesNothing(t *testing.T) {
	r := newRig(t, "", crowded())
	a := r.tidyAgent(disk.OS{}, act("done", `{"summary":"seen"}`))
	a.Model.(*script).during = func(int) {
		r.must(os.WriteFile(r.home.Active(), []byte(crowded()+"  mine\n"), 0o600))
	}
	if _, err := a.RunOnce(t.Context()); err == nil {
		t.Fatal("no conflict")
	}
	if n := len(r.archive()); n != 0 {
		t.Errorf("%d tasks are archived", n)
	}
	if _, err := json.Marshal(r.state(r.home.Active()).Completed()); err != nil || len(r.state(r.home.Active()).Completed()) != 6 {
		t.Error("the edit was changed")
	}
}
