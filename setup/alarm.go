package setup

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"rouse/agent"
	"rouse/agent/config"
	"rouse/agent/made"
	"rouse/agent/notify"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/jsonl"
	"rouse/journal"
)

// AlarmAt tells people why the home in a folder cannot be opened, by the sinks of the
// last configuration that was good. Of what is no home nobody is told.
func AlarmAt(dir string, p Process, why error) {
	h, err := home.Open(dir)
	if err != nil {
		return
	}
	if c, ok := lastGood(h, p); ok {
		with(h, p.In(h), c).Alarm(why)
	}
}

// Alarm tells people why no cycle can begin.
func (s *Setup) Alarm(why error) {
	n := s.Notifier()
	ctx := context.Background()
	_ = n.Cycle(ctx, notify.Outcome{Outcome: journal.Failed, Error: n.Redact.String(why.Error())})
	telling{n}.deliver()
}

// News writes what went wrong into the due.log of the home in a folder, and says
// whether it is new: cron mails what is printed, and runs each minute.
func News(dir string, p Process, line string) bool {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	h := home.Home{Dir: dir}
	s := with(h, p, config.Default())
	now := s.Now().Format("2006-01-02 15:04:05 ")
	_ = jsonl.Append(disk.OS{}, h.DueLog(), []byte(now+line+"\n"), false) // what cannot be kept is said
	o := s.once()
	if o.Said("mail: " + line) {
		return false
	}
	o.Say("mail: " + line)
	return true
}

// once is what the home said where it can keep nothing. After a cycle that ended well
// all is said anew.
func (s *Setup) once() notify.Once {
	return notify.Once{
		Dirs: []string{s.Home.Logs(), cmp.Or(s.Getenv("TMPDIR"), os.TempDir()), "/dev/shm"}, Name: s.Home.Said(),
		Era: func() string {
			list, _ := agent.Summaries(s.Home, lookBack)
			well := slices.IndexFunc(list, func(c agent.Summary) bool { return c.Outcome == journal.Done || c.Outcome == journal.Idle })
			if well < 0 {
				return ""
			}
			return list[well].Cycle
		},
	}
}

// lookBack is among how many of the newest cycles a good configuration is sought.
const lookBack = 20

// lastGood is the configuration of the newest cycle whose journal proves what it was
// and of which there is a copy.
func lastGood(h home.Home, p Process) (config.Config, bool) {
	key, _ := h.Key()
	ids, _ := h.Cycles(lookBack)
	copies := made.Copies{Dir: h.Made()}
	for _, id := range ids {
		sum := wakeOf(h, id, key).Made[h.Rel(h.Config())]
		if _, err := copies.Read(sum); err != nil {
			continue
		}
		if c, err := config.Load(filepath.Join(h.Made(), sum), p.Getenv); err == nil {
			return c, true
		}
	}
	return config.Config{}, false
}

// wakeOf is how the journal of a cycle begins, as far as its chain proves that.
func wakeOf(h home.Home, id string, key []byte) journal.Wake {
	for l, err := range journal.Check(h.Journal(id), journal.NewChain(key, id)) {
		if w, ok := l.Data.(*journal.Wake); ok && err == nil && l.Doubt == "" {
			return *w
		}
		break
	}
	return journal.Wake{}
}
