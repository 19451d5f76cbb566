package setup

import (
	"context"
	"fmt"
	"time"

	"rouse/agent"
	"rouse/agent/notify"
	"rouse/agent/schedule"
	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/internal/text"
)

// tellBlocked puts down, for people to be told, that slots have no cycles as somebody
// holds the home for long, and once that this is over.
func (s *Setup) tellBlocked(tell *telling, wrote []schedule.Record) {
	var long, over *schedule.Blocked
	unclear := false // a slot had no cycle for another reason
	for _, r := range wrote {
		switch {
		case r.Blocked == nil || r.Status == schedule.Running:
		case r.Woke():
			long, over = nil, r.Blocked
		case r.Kept():
			long, over = r.Blocked, nil
		default:
			unclear, over = true, r.Blocked
		}
	}
	say := func(kind string, b schedule.Blocked, text string) {
		tell.Notifier = s.Notifier()
		_ = tell.Tell(context.Background(), kind, kind+" "+b.Since.UTC().Format(time.RFC3339), text)
	}
	switch {
	case long != nil:
		say(notify.Blocked, *long, s.blocked(*long))
	case over != nil && (!unclear || s.freed()):
		say(notify.Freed, *over, fmt.Sprintf("cycles can wake again: %s since %s had none", text.Count(over.Slots, "slot"), Clock(over.Since)))
	}
}

// freed writes down that nobody holds the home any more, if so. The lock is taken for
// a moment, as nothing else proves that.
func (s *Setup) freed() bool {
	unlock, err := s.Home.Lock()
	if err != nil {
		return false
	}
	unlock()
	return s.Slots().Free() == nil
}

// blocked says since when slots have no cycles, and who is in the way.
func (s *Setup) blocked(b schedule.Blocked) string {
	return fmt.Sprintf("%s since %s had no cycle: %s", text.Count(b.Slots, "slot"), Clock(b.Since), s.holder())
}

// holder says who holds the home, as far as that is to be seen, and how to mend it.
func (s *Setup) holder() string {
	pid := disk.Holder(s.Home.Memory())
	list, err := agent.Summaries(s.Home, 1)
	if err == nil && len(list) > 0 && list[0].Outcome == agent.Awake && (pid == 0 || pid == list[0].PID) {
		c := list[0]
		return fmt.Sprintf("cycle %s is awake since %s, pid %d; if it hangs, end it with kill %d", c.Cycle, Clock(c.Began), c.PID, c.PID)
	}
	if pid == 0 {
		return "another process holds, or held, the lock on scratchpad; from here it is not to be seen which"
	}
	name := proc.Name(pid)
	if name == "" {
		return fmt.Sprintf("the lock on scratchpad is held by what pid %d started, which has ended", pid)
	}
	return fmt.Sprintf("pid %d (%s) holds the lock on scratchpad, and is no cycle; see what it does, and end it", pid, text.Line(name, 40))
}
