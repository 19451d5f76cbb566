package agent

import (
	"strings"
	"testing"
	"time"

	"rouse/internal/disk"
	"rouse/scratchpad"
)

// What is pending has its turn before the task of a slot has its next one, which
// waits in the queue once; a person's task still comes first.
func TestTaskOfASlot(t *testing.T) {
	r := newRig(t, "", "pending_actions: [one, {task: two}]\n")
	var did []string
	run := func(task string, attempt int, reply string) {
		t.Helper()
		a, _ := r.agent(unsynced{disk.OS{}}, reply)
		a.Task, a.Waking.Attempt = task, attempt
		if _, err := a.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := r.state(r.home.Active())
		if n := len(s.Completed()); n > len(did) {
			did = append(did, scratchpad.TaskText(s.Completed()[n-1]))
		}
		r.now = r.now.Add(time.Minute)
	}
	done := act("done", `{"summary":"did"}`)
	run("inbox", 1, "nonsense") // one is taken up, and not done
	run("inbox", 2, done)
	run("inbox", 1, done)
	run("inbox", 1, done)
	run("inbox", 1, done)
	run("urgent", 0, done)
	if got := strings.Join(did, ", "); got != "one, two, inbox, inbox, urgent" {
		t.Errorf("did %s", got)
	}
}
