package setup

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"rouse/agent"
	"rouse/agent/schedule"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/proc"
)

// Holder is the process that holds a home: the one of its awake cycle, or another one.
type Holder struct {
	PID   int        `json:"pid"`
	Name  string     `json:"name"`
	Cycle string     `json:"cycle"` // "" for what is no cycle
	Since *time.Time `json:"since"` // nil where that is not known
}

// Looked puts down that a person looks at the home now. Where that cannot be kept,
// they are shown the same again.
func Looked(h home.Home, now time.Time) {
	if f, err := (disk.OS{}).OpenFile(h.Looked(), os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
		f.Close()
		_ = os.Chtimes(h.Looked(), now, now)
	}
}

// addNight says what happened while nobody looked, and who has the home now.
func (s *Setup) addNight(st *Standing, newest *agent.Summary) error {
	since := s.Now().Add(-tellFor)
	if info, err := os.Stat(s.Home.Looked()); err == nil {
		looked := info.ModTime()
		st.Looked, since = &looked, looked
	}
	all, err := s.Slots().Slots()
	st.problem(err)
	st.Slots = notRan(all, since)
	if now, _, err := s.Home.Load(); err == nil {
		for _, lost := range agent.Lost(s.Home, now, since) {
			st.problem(errors.New(s.Redactor().String(lost)))
		}
	}
	s.addHolder(st, newest)
	left, err := agent.Leftovers(s.Home)
	st.Leftovers = append(st.Leftovers, left...)
	return err
}

// notRan are the slots that came to something since a moment but did not just run,
// the newest first. Those in a row that ended alike are one, and one that runs now is none.
func notRan(all []schedule.Record, since time.Time) []Slot {
	list, row := []Slot{}, false
	for _, r := range slices.Backward(all) {
		slot := SlotOf(r)
		if !r.Time.After(since) || r.Status == schedule.Running || r.Status == schedule.Ran && (r.Exit == nil || *r.Exit == 0) {
			row = false
			continue
		}
		if n := len(list); row && alike(list[n-1], slot) {
			newer := &list[n-1]
			if newer.Last.IsZero() {
				newer.Last = newer.Slot
			}
			newer.Slot, newer.Count = slot.Slot, newer.Count+slot.Count
			continue
		}
		list, row = append(list, slot), true
	}
	return list
}

func alike(a, b Slot) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Cron == b.Cron && a.Cycle == "" && b.Cycle == ""
}

// addHolder finds who holds the home. What is no cycle is a problem, unless that is
// said already.
func (s *Setup) addHolder(st *Standing, newest *agent.Summary) {
	if o := newest.Outcome; o != "" && o != agent.Awake && o != agent.Interrupted && len(st.Slots) == 0 {
		return // all is well, and to ask the kernel costs milliseconds
	}
	pid := disk.Holder(s.Home.Memory())
	switch {
	case newest.Outcome == agent.Awake && (pid == 0 || pid == newest.PID):
		st.Holder = &Holder{newest.PID, proc.Name(newest.PID), newest.Cycle, &newest.Began}
	case pid != 0:
		st.Holder = &Holder{PID: pid, Name: proc.Name(pid)}
		if said := s.Redactor().String(s.holder()); !slices.ContainsFunc(st.Problems, func(p string) bool { return len(p) > len(said) && p[len(p)-len(said):] == said }) {
			st.problem(fmt.Errorf("%s", said))
		}
	}
}
