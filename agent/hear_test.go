package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rouse/agent/inbox"
	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/scratchpad"
)

// tell leaves a task.
func (r *rig) tell(task string) {
	_, err := inbox.Put(disk.Unsynced{}, r.home.Inbox(), inbox.Item{Task: task, By: "me", At: r.now})
	r.must(err)
}

// tasks are the names of all tasks in the memory, done ones last.
func (r *rig) tasks() (names []string) {
	s := r.state(r.home.Active())
	for _, task := range slices.Concat([]any{s.CurrentTask()}, s.Pending(), s.Completed()) {
		names = append(names, scratchpad.TaskText(task))
	}
	return names
}

// Tasks that a person tells, before a cycle and while it is awake, are taken in once and in
// their order, wherever the disk fails; and replacing the queue does not lose one that the
// model has not seen.
func TestTold(t *testing.T) {
	replies := []string{act("effect", `{"label":"a"}`), act("update_scratchpad", `{"pending_actions":["first","second","of the model"]}`), act("done", `{"summary":"seen"}`)}
	base, runs := t.TempDir(), 0
	points := disktest.Sweep(t, faults(), func(f *disktest.Faulty) {
		runs++
		dir := filepath.Join(base, fmt.Sprint(runs))
		r := newRig(t, dir, "current_task: look around\n")
		r.tell("first")
		r.tell("second")
		f.FS = unsynced{disk.OS{}}
		a, m := r.agent(f, replies...)
		m.during = func(i int) {
			if i == 0 {
				r.tell("third")
			}
		}
		_, _ = a.RunOnce(t.Context())
		awake := len(r.cycles()) > 0 && m.asked > 0
		r.wakeAgain(f.Fault.String())
		all := strings.Join(r.tasks(), "|")
		want := []string{"first", "second"}
		if awake {
			want = append(want, "third")
		}
		for _, task := range want {
			if n := strings.Count(all, task); n != 1 {
				t.Fatalf("%v at %q: %s is there %d times: %s", f.Fault, f.Fired(), task, n, all)
			}
		}
		if len(f.Fired()) == 0 && all != "second|of the model|third|look around|first" {
			t.Fatalf("without a fault: %s", all)
		}
		if inbox.Waits(r.home.Inbox()) {
			t.Fatalf("%v at %q: still in the inbox, with %s", f.Fault, f.Fired(), all)
		}
		r.must(os.RemoveAll(dir))
	})
	t.Logf("%d points: lost 0, twice 0", points)
}
