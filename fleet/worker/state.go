package worker

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"rouse/agent"
	"rouse/agent/approval"
	"rouse/agent/budget"
	"rouse/agent/inbox"
	"rouse/agent/pause"
	"rouse/fleet/checkout"
	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/text"
	"rouse/setup"
)

// sum fills in what is shown of the home, and what was spent, and says when to come again.
// What cannot be told is a problem.
func (v *visit) sum(version *store.Version, r checkout.Report) Next {
	st := v.home.State
	st.Problem = v.problem
	problem := func(err error) {
		if err != nil {
			st.Problem = cmp.Or(st.Problem, err.Error())
		}
	}
	version.State = &st
	defer printable(&st)
	s, err := v.open()
	if err != nil {
		problem(err)
		v.problem = st.Problem
		return in(awhile)
	}
	v.watched = v.sees(v.folder.Dir, s.Watched())
	if c := setup.CheckSpace(s.Home); !c.OK {
		problem(fmt.Errorf("the disk of %s on %s: %s; %s", v.Dir, v.Name, c.Found, c.Hint))
	}
	problem(checkout.Inside(s.Home, s.Home.Folder(s.Config.Workspace)))
	if len(r.Left) > 0 && st.Problem == "" {
		st.Problem = "not taken along: " + strings.Join(r.Left[:min(5, len(r.Left))], ", ")
	}
	at, err := nextOf(s)
	problem(err)
	if st.Next = nil; !at.IsZero() {
		st.Next = &at
	}
	version.Spend, err = v.spent(s, &st)
	problem(err)
	problem(newest(s, &st))
	rests(s, &st)
	problem(waiting(s, &st, v.now()))
	if v.ran && !v.heard.Load() && st.Cycle != v.home.State.Cycle {
		st.Problem = v.Rouse + " hands over nothing of what a cycle must not lose, so that calls may be repeated: install the rouse of this rouse-fleet"
	}
	return Next{At: at}
}

// own is a FIFO, of all that was left out, where only rouse writes and opens files.
func own(left []string) string {
	for _, what := range left {
		for _, o := range home.Owned() {
			if fifo := strings.HasSuffix(what, " (a FIFO)"); fifo && o.Access == home.Hidden && o.Name != "notebooks" && (strings.HasPrefix(what, o.Name+"/") || what == o.Name+" (a FIFO)") {
				return what
			}
		}
	}
	return ""
}

// printable makes of what a home says of itself what the store takes and a terminal shows.
func printable(st *store.State) {
	for _, s := range []*string{&st.Problem, &st.Error, &st.Outcome, &st.Cycle} {
		*s = text.Line(*s, 1000)
	}
}

// newest tells of the newest cycle.
func newest(s *setup.Setup, st *store.State) error {
	list, err := agent.Summaries(s.Home, 1)
	if err != nil || len(list) == 0 {
		return err
	}
	c := list[0]
	ended := c.Began.Add(time.Duration(c.Ms) * time.Millisecond)
	st.Cycle, st.Outcome, st.Error, st.Ended = c.Cycle, c.Outcome, c.Error, &ended
	return nil
}

// rests tells why a home is not to wake for now.
func rests(s *setup.Setup, st *store.State) {
	why, paused := pause.Paused(s.Home.Stop())
	switch st.Rests = ""; {
	case paused:
		st.Rests = "paused, as said: " + s.Redactor().String(why)
	case st.Error != "" && len(s.Config.Schedule) > 0:
		st.Rests = s.Resting()
	}
}

// waiting counts what waits for a person, and for a cycle.
func waiting(s *setup.Setup, st *store.State, now time.Time) error {
	calls, err := s.Approvals().Load()
	if err != nil {
		return err
	}
	st.Waiting = 0
	for _, e := range calls.Entries {
		if e.State(now) == approval.Open {
			st.Waiting++
		}
	}
	memory, _, err := s.Home.Load()
	if err != nil {
		return err
	}
	told, err := inbox.List(s.Home.Inbox())
	st.Pending = len(memory.Pending()) + len(told)
	return err
}

// spent is what the cycles since the last visit cost, in millionths, which it adds to that of
// the day.
func (v *visit) spent(s *setup.Setup, st *store.State) (int64, error) {
	prices, err := s.Prices()
	if err != nil {
		return 0, err
	}
	today := v.now().Format("20060102")
	if st.Ended == nil || st.Ended.Local().Format("20060102") != today {
		st.Spent = 0
	}
	since := st.Cycle + "~" // after it
	if st.Cycle == "" {
		since = today
	}
	rows, err := budget.Usage(s.Home, "cycle", s.Config.Model.Name, prices, since, nil)
	spent := int64(budget.Total(rows).Money+999) / 1000
	st.Spent += spent
	return spent, err
}
