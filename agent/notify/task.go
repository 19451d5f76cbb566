package notify

import (
	"context"
	"fmt"
	"strings"
	"time"

	"rouse/internal/text"
	"rouse/journal"
)

const (
	retell   = 24 * time.Hour // until a task that still fails is told of again
	maxTasks = 50             // that failed and are remembered
)

// task is one that failed.
type task struct {
	About string    `json:"about"`
	Since time.Time `json:"since"`
	Told  time.Time `json:"told"`
}

// Tested is what checks came to in a cycle.
type Tested struct {
	Cycle string
	// Task is the verdict, About the task and Unmet the checks that do not hold.
	Task, About string
	Unmet       []string
}

// Tested puts down that the checks of a task do not hold, once a day, and that they hold
// again. Cycles with other tasks in between say nothing of it.
func (n *Notifier) Tested(ctx context.Context, o Tested) error {
	if o.Task != journal.TaskFailed && o.Task != journal.TaskProven {
		return nil
	}
	return n.put(ctx, func(s *state) bool { return n.tested(s, o) })
}

func (n *Notifier) tested(s *state, o Tested) bool {
	about := n.Redact.String(text.Line(o.About, 200))
	was, others := task{About: about, Since: n.now()}, []task(nil)
	for _, t := range s.Tasks {
		if t.About == about {
			was = t
		} else {
			others = append(others, t)
		}
	}
	switch known := len(others) < len(s.Tasks); {
	case o.Task == journal.TaskProven && !known:
		return false
	case o.Task == journal.TaskProven:
		n.tell(s, Event{Kind: Recovered, Cycle: o.Cycle, Since: &was.Since, Text: fmt.Sprintf("cycle %s: the task is proven, which had failed since %s: %s", o.Cycle, was.Since.Format("2006-01-02 15:04"), about)})
		s.Tasks = others
		return true
	case known && n.now().Sub(was.Told) < retell:
		return false
	}
	was.Told = n.now()
	what := "the task has failed: " + about
	if about == "" {
		what = "what must hold for every cycle does not"
	}
	n.tell(s, Event{Kind: Failed, Cycle: o.Cycle, Text: fmt.Sprintf("cycle %s: %s: %s", o.Cycle, what, strings.Join(o.Unmet, "; "))})
	s.Tasks = append(others[max(0, len(others)-maxTasks+1):], was)
	return true
}

// Words on whether what a cycle had to tell has arrived.
const (
	Delivered   = "delivered"
	Undelivered = "failed"
	Nothing     = "none"
)

// Deliveries say of each cycle that had something to tell whether it has arrived at all
// sinks.
func (n *Notifier) Deliveries() map[string]string {
	list, _ := n.Recent() // what cannot be read says nothing
	came := map[string]string{}
	for _, m := range list {
		for _, d := range m.Deliveries {
			switch {
			case m.Event.Cycle == "" || d.Status == ToSend && d.Attempts == 0 || d.Status == Sending:
			case d.Status != Sent:
				came[m.Event.Cycle] = Undelivered
			case came[m.Event.Cycle] == "":
				came[m.Event.Cycle] = Delivered
			}
		}
	}
	return came
}
