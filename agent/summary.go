package agent

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"rouse/agent/notify"
	"rouse/home"
	"rouse/internal/sandbox"
	"rouse/internal/text"
	"rouse/journal"
)

// Outcomes of a cycle that has not slept, beside those of package journal.
const (
	Awake       = "awake"
	Interrupted = "interrupted" // the next wake settles it
	// Unbegun begins the error of one that came to nothing before it began.
	Unbegun = Interrupted + " before it began"
)

// Summary is one cycle in short, as `rouse cycles --json` prints it.
type Summary struct {
	Cycle      string    `json:"cycle"`
	Outcome    string    `json:"outcome"`
	Exit       int       `json:"exit"`
	Error      string    `json:"error"`
	Iterations int       `json:"iterations"`
	Tokens     int       `json:"tokens"`
	Ms         int64     `json:"ms"`
	Task       string    `json:"task"` // the verdict; "" where the journal has none
	Failed     int       `json:"failed_calls"`
	Refused    int       `json:"refused_calls"`
	Began      time.Time `json:"began"`
	PID        int       `json:"pid,omitempty"` // of an awake cycle
	// Delivery says whether what it had to tell has arrived.
	Delivery string `json:"delivery"`
	// Unmet are the checks that did not hold, each with what was seen, and Flaky those
	// that held at a second try.
	Unmet []string `json:"unmet,omitempty"`
	Flaky []string `json:"flaky,omitempty"`
	// Unsupported counts quotes that are not in what they are said to be from.
	Unsupported int `json:"unsupported,omitempty"`
	// Sandbox is what the sandbox refused.
	Sandbox []journal.Refusal `json:"refused,omitempty"`
	// Attempt is which cycle of its slot it is, from the second on.
	Attempt int `json:"attempt,omitempty"`
	// Fallback is the model that it asked in place of the first.
	Fallback *journal.Model `json:"fallback,omitempty"`
	// Changed is what others changed in the home since the cycle before.
	Changed []journal.Changed `json:"changed,omitempty"`
	// Shrunk are keys that a person wrote and the cycle cut down.
	Shrunk []journal.Shrunk `json:"shrunk,omitempty"`
	// Rewound says that it is none: a person put the home back to before this cycle.
	Rewound string `json:"rewound,omitempty"`
}

// Attention says what others changed in the home, but for edits of the memory
// between calls, and that not the first model was asked.
func (s Summary) Attention(h home.Home) (list []string) {
	for _, d := range s.Changed {
		if d.Step > 0 || d.File != h.Rel(h.Active()) {
			list = append(list, d.String())
		}
	}
	for _, r := range s.Sandbox {
		list = append(list, fmt.Sprintf("cycle %s: the sandbox refused %s%s", s.Cycle, r, Mend(h, r.What)))
	}
	if f := s.Fallback; f != nil {
		list = append(list, fmt.Sprintf("cycle %s asked %s instead of %s: %s", s.Cycle, f.Name, f.Instead, f.Reason))
	}
	return list
}

// Mend is what would allow what the sandbox refused, as the end of a sentence.
func Mend(h home.Home, what string) string {
	kind, name, _ := strings.Cut(what, " ")
	switch kind {
	case sandbox.Host:
	case sandbox.Read:
		if h.CheckRead(kind, name) != nil {
			return ", one of the agent's own files"
		}
	case sandbox.Write:
		if h.CheckWrite(kind, name) != nil {
			return ", one of the agent's own files"
		}
	case sandbox.Bound:
		return "; to raise it, set sandbox." + name + " in rouse.yaml"
	default:
		return "; to allow hosts, see sandbox.network in rouse.yaml"
	}
	return fmt.Sprintf("; to allow it: rouse allow %s %s", kind, text.Quoted(name))
}

// Summaries gives at most limit cycles, the newest first; 0 means all.
func Summaries(h home.Home, limit int) ([]Summary, error) {
	ids, err := h.Cycles(limit)
	if err != nil {
		return nil, err
	}
	list := make([]Summary, 0, len(ids))
	for _, id := range ids {
		s, err := SummaryOf(h, id)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// Verdicts are the newest cycles, as [Summaries] has them, with what the ledger of
// notifications says, which is written after they sleep.
func Verdicts(h home.Home, limit int) ([]Summary, error) {
	list, err := Summaries(h, limit)
	came := (&notify.Notifier{Path: h.Told()}).Deliveries()
	for i, s := range list {
		list[i].Delivery = cmp.Or(came[s.Cycle], notify.Nothing)
	}
	return list, err
}

// VerdictsOver counts the cycles of each verdict, from one cycle to another, in words.
func VerdictsOver(h home.Home, from, to string) string {
	ids, _ := h.Cycles(0)
	count := map[string]int{}
	for _, id := range ids {
		if id >= from && id <= to {
			count[VerdictOf(h, id)]++
		}
	}
	var words []string
	for _, v := range []string{journal.TaskProven, journal.TaskClaimed, journal.TaskFailed} {
		if count[v] > 0 {
			words = append(words, fmt.Sprintf("%d %s", count[v], v))
		}
	}
	return strings.Join(words, ", ")
}

// VerdictOf is what became of the task of one cycle, "" where nobody knows.
func VerdictOf(h home.Home, cycle string) string {
	s, _ := SummaryOf(h, cycle) // its journal may be gone
	return s.Task
}

// SummaryOf is one cycle in short.
func SummaryOf(h home.Home, id string) (Summary, error) {
	s := Summary{Cycle: id}
	if t, err := time.ParseInLocation(home.CycleForm, id, time.Local); err == nil {
		s.Began = t
	}
	last, err := journal.Last(h.Journal(id))
	if err != nil {
		return s, err
	}
	if d, ok := last.Data.(*journal.Sleep); ok {
		s.Outcome, s.Exit, s.Error = d.Outcome, d.Exit, d.Error
		s.Iterations, s.Tokens, s.Ms, s.Changed, s.Shrunk = d.Iterations, d.Tokens, d.Ms, d.Changed, d.Shrunk
		s.Unmet, s.Flaky = d.Unmet, d.Flaky
		s.Task, s.Failed, s.Refused, s.Attempt = d.Task, d.FailedCalls, d.RefusedCalls, d.Attempt
		s.Fallback, s.Sandbox, s.Rewound, s.Unsupported = d.Fallback, d.Refused, d.Rewound, d.Unsupported
		if s.Task == journal.TaskProven && !sealed(h, id) {
			s.Task = journal.TaskClaimed
		}
		return s, nil
	}
	return unfinished(h, s)
}

// sealed says whether a journal ends as Rouse wrote it: what others write into it proves
// nothing.
func sealed(h home.Home, id string) bool {
	key, err := h.Key()
	if err != nil {
		return false
	}
	end, err := journal.Ending(h.Journal(id), journal.NewChain(key, id))
	return err == nil && end != nil
}

// unfinished asks whether the cycle's process is still alive.
func unfinished(h home.Home, s Summary) (Summary, error) {
	s.Outcome = Interrupted
	e, err := journal.First(h.Journal(s.Cycle))
	if w, ok := e.Data.(*journal.Wake); ok && (w.Owner.Alive() || h.Elsewhere) {
		s.Outcome, s.PID, s.Began = Awake, w.Owner.PID, e.Time
	}
	return s, err
}

// Shown is what a cycle said that the operator should look at, and the model knew: why
// it had fewer tools than it could have.
func Shown(h home.Home, cycle string) (list []string) {
	for e, err := range journal.Read(h.Journal(cycle)) {
		if w, ok := e.Data.(*journal.Warning); ok && err == nil && w.Shown {
			list = append(list, w.Text)
		}
	}
	return list
}
