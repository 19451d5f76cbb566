package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rouse/agent"
	"rouse/agent/approval"
	"rouse/agent/pause"
	"rouse/home"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad/origin"
	"rouse/setup"
)

// addTroubles adds why cycles failed, and what makes their word doubtful.
func (r *Report) addTroubles(h home.Home) {
	var failures alike[Failure]
	var doubts alike[Doubt]
	for _, c := range r.Cycles {
		if kind, why := failure(c); kind != "" {
			failures.add(kind+" "+pause.Cause(why), func(was Failure) Failure { return Failure{c.Cycle, kind, text.Cut(why, saidLength), was.Count + 1, ""} })
		}
		for _, doubt := range doubted(h, c) {
			doubts.add(pause.Cause(doubt), func(Doubt) Doubt { return Doubt{c.Cycle, doubt} })
		}
	}
	r.Failures, r.Doubts = failures.list(), doubts.list()
	for i := range r.Failures {
		r.Failures[i].Over = r.over(r.Failures[i])
	}
	slices.SortStableFunc(r.Failures, func(a, b Failure) int { return cmp.Compare(min(1, len(a.Over)), min(1, len(b.Over))) }) // first those that stand
}

// over is the cycle that went past a failure: any that ran, and where a check did not hold one for
// the same entry of the schedule that is proven.
func (r *Report) over(f Failure) string {
	crons := map[string]string{}
	for _, s := range r.Slots {
		crons[s.Cycle] = s.Cron
	}
	for _, c := range r.Cycles {
		kind, _ := failure(c)
		past := kind == "" || kind == FailedCheck
		if f.Kind == FailedCheck {
			past = c.Task == journal.TaskProven && crons[f.Cycle] != "" && crons[c.Cycle] == crons[f.Cycle]
		}
		if c.Cycle > f.Cycle && past && c.Rewound == "" && c.Outcome != agent.Awake {
			return c.Cycle
		}
	}
	return ""
}

// addMarked says first which keys of the memory hold text from outside: the next cycle reads them.
func (r *Report) addMarked(h home.Home) {
	memory, _, err := h.Load()
	if err != nil {
		return // the standing says so
	}
	marks, _ := memory.Value(origin.Key)
	for _, key := range slices.Backward(memory.Keys()) {
		if from := origin.OfKey(marks, key).Outside(); len(from) > 0 {
			r.Doubts = slices.Insert(r.Doubts, 0, Doubt{Text: fmt.Sprintf("%s in the memory holds text from %s", text.Line(key, 100), text.Line(from.String(), 200))})
		}
	}
}

// Blank says whether nothing is known of the time: no cycle began, and what was to be done cannot be read.
func (r Report) Blank() bool { return r.Unread != "" && len(r.Cycles)+len(r.Slots) == 0 }

// Unread is why configurations among them cannot be read, nil where all can.
func Unread(list []Report) (err error) {
	for _, r := range list {
		if r.Unread != "" {
			err = errors.Join(err, fmt.Errorf("%s: %s", r.Home, r.Unread))
		}
	}
	return err
}

// failure is why a cycle failed, "" where it did not.
func failure(c agent.Summary) (kind, why string) {
	switch {
	case c.Rewound != "":
		return "", ""
	case len(c.Unmet) > 0:
		return FailedCheck, strings.Join(c.Unmet, "; ")
	case c.Outcome == agent.Interrupted:
		return FailedDeath, "its process ended before it slept; the next wake settles it, and rouse log says how far it came"
	case strings.HasPrefix(c.Error, agent.Interrupted):
		return FailedDeath, c.Error
	case c.Exit != 0:
		return FailedRun, c.Error
	}
	return "", ""
}

// How says in words what kind of a failure it is, and What why.
func (f Failure) How() string {
	switch {
	case f.Kind == FailedCheck:
		return "A check does not hold"
	case strings.HasPrefix(f.Why, agent.Unbegun):
		return "Never began"
	case f.Kind == FailedDeath:
		return "Killed part-way"
	}
	return "Failed"
}

// What is why, which [Failure.How] begins.
func (f Failure) What() string {
	why, _ := strings.CutPrefix(f.Why, agent.Unbegun)
	why, _ = strings.CutPrefix(why, ", as ")
	if f.Over != "" && f.Kind == FailedRun {
		why, _, _ = strings.Cut(why, "; ") // what mended it
	}
	why, _ = strings.CutPrefix(why, agent.Interrupted+": ")
	if why = cmp.Or(why, "why is not known"); f.Over != "" {
		why += "; over since " + f.Over
	}
	return why
}

// doubted is why the word of a cycle should not be taken without a look.
func doubted(h home.Home, c agent.Summary) (list []string) {
	c.Sandbox = nil // is shown apart
	list = c.Attention(h)
	for _, check := range c.Flaky {
		list = append(list, "a check held at the second try alone: "+text.Line(check, 300))
	}
	if c.Unsupported > 0 {
		list = append(list, fmt.Sprintf("%s not in what they are said to be from: rouse verify %s", text.Count(c.Unsupported, "quote"), c.Cycle))
	}
	for _, s := range c.Shrunk {
		list = append(list, fmt.Sprintf("it cut down %s, which a person wrote: rouse diff %s --restore %s", text.Line(s.Key, 100), c.Cycle, text.Quoted(s.Key)))
	}
	return list
}

// addApprovals adds the calls that wait for a yes, and those that stopped doing so meanwhile.
func (r *Report) addApprovals(s *setup.Setup) error {
	list, err := s.Asked()
	for _, a := range list {
		answer := ""
		switch {
		case a.State == approval.Open:
			answer = "rouse approvals approve " + a.ID
		case a.At.IsZero() && a.Expires.Before(r.Since), !a.At.IsZero() && a.At.Before(r.Since) && a.Carried < r.Since.Format(home.CycleForm):
			continue
		}
		r.Approvals = append(r.Approvals, Approval{a, answer})
	}
	if err := s.Unanswered(); err != nil { // each is there itself
		r.Problems = slices.DeleteFunc(r.Problems, func(p string) bool { return p == err.Error() })
	}
	return err
}

// Missed are the calls that somebody refused the model, who could allow them, or else those
// that went wrong.
func (r Report) Missed(refused bool) (list []Call) {
	for _, c := range r.Calls {
		own := c.Tool == "done" || c.Tool == "update_scratchpad"
		if refused == (c.How != CallFailed && !own) && !r.among(c) {
			list = append(list, c)
		}
	}
	return list
}

// among says whether a refused call is among what the sandbox refused.
func (r Report) among(c Call) bool {
	return c.How == CallRefused && slices.ContainsFunc(r.Wanted, func(w Wanted) bool {
		return strings.Contains(c.Why, "rouse allow "+w.What)
	})
}

// untold sums up, for each sink, what did not arrive there.
func untold(list []setup.Undelivered) (said []string) {
	var sinks alike[string]
	count := map[string]int{}
	for _, u := range list {
		count[u.Sink]++
		sinks.add(u.Sink, func(string) string {
			why := cmp.Or(strings.TrimRight(text.Cut(u.Error, 200), ": "), u.Status)
			return fmt.Sprintf("%s could not be sent to %s: %s; see notify in rouse.yaml. The newest: %s: %s", text.Count(count[u.Sink], "message"), u.Sink, why, u.Kind, u.Text)
		})
	}
	return sinks.list()
}
