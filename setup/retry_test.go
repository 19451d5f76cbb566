package setup

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"rouse/agent"
	"rouse/agent/model/modeltest"
	"rouse/agent/schedule"
)

// night is a home with an hourly schedule whose model is down, and its clock.
type night struct {
	*Setup
	t   *testing.T
	now time.Time
	ran []Ran
}

func newNight(t *testing.T, config string, replies ...modeltest.Reply) *night {
	t.Helper()
	server := modeltest.New(replies...)
	t.Cleanup(server.Close)
	n := &night{t: t, now: time.Date(2030, 1, 1, 10, 0, 1, 0, time.UTC)}
	n.Setup = open(t, map[string]string{
		"rules.md":               "You are Rouse.\n",
		"rouse.yaml":             "model: {name: m, retries: 0, base_url: '" + server.URL() + "'}\nschedule: {cron: 0 * * * *, timezone: UTC}\nnotify: [{file: told.jsonl}]\n" + config,
		"scratchpad/active.yaml": "goals: [look around]\n",
	})
	old := n.now.Add(-time.Minute)
	if err := os.Chtimes(n.Home.Config(), old, old); err != nil {
		t.Fatal(err)
	}
	return n
}

// pass is a look of cron at every minute, up to a time of day.
func (n *night) pass(until string) {
	n.t.Helper()
	for ; n.now.Format("15:04") < until; n.now = n.now.Add(time.Minute) {
		p := n.Process
		p.Now = func() time.Time { return n.now }
		s, err := Open(n.Home, p) // each time another process
		if err != nil {
			n.t.Fatal(err)
		}
		_ = s.RunDue(func(schedule.Slot) Ran {
			n.ran = append(n.ran, cycle(n.t, s))
			return n.ran[len(n.ran)-1]
		})
	}
}

func (n *night) told() string {
	n.t.Helper()
	text, _ := os.ReadFile(n.Home.Folder("told.jsonl")) // one that is missing tells nothing
	var kinds []string
	for line := range strings.Lines(string(text)) {
		var e struct{ Kind string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			n.t.Fatal(err)
		}
		kinds = append(kinds, e.Kind)
	}
	return strings.Join(kinds, " ")
}

func (n *night) want(what, got, want string) {
	n.t.Helper()
	if got != want {
		n.t.Errorf("%s: %s, want %s", what, got, want)
	}
}

var (
	down = modeltest.Reply{Status: 503}
	seen = modeltest.Reply{Action: json.RawMessage(`{"tool": "done", "args": {"summary": "seen"}}`)}
)

// A model that is away for half an hour costs no slot, and nobody is woken for it.
func TestABadHour(t *testing.T) {
	n := newNight(t, "heartbeat: alive\n", down, down, seen)
	n.pass("10:59")
	list, err := n.NewestSlots(0)
	if err != nil || len(list) != 1 || len(n.ran) != 3 {
		t.Fatalf("%d cycles, %+v %v", len(n.ran), list, err)
	}
	if s := list[0]; s.Status != schedule.Ran || s.Attempt != 3 || *s.Exit != 0 || s.Cycle != n.ran[2].Report.Cycle {
		t.Errorf("%+v", s)
	}
	n.want("told", n.told(), "")
	cycles, err := agent.Summaries(n.Home, 0)
	if err != nil || cycles[0].Attempt != 3 || cycles[1].Attempt != 2 || cycles[2].Attempt != 0 {
		t.Errorf("%+v %v", cycles, err)
	}
	if began := cycles[1].Began.Sub(cycles[2].Began); began < 5*time.Minute || began > 7*time.Minute {
		t.Errorf("tried again after %s", began)
	}
}

// A night without a model is one failure a slot, told once, and all its attempts.
func TestABadNight(t *testing.T) {
	n := newNight(t, "failures: {pause_after: 2}\n", modeltest.Reply{Status: 503, Repeat: true})
	n.pass("10:30")
	if len(n.ran) != 3 {
		t.Errorf("%d cycles", len(n.ran))
	}
	n.want("told before the last attempt", n.told(), "")
	n.pass("10:59")
	n.want("told after it", n.told(), "failed")
	if s, err := agent.Streak(n.Home, 2); err != nil || s.Count != 1 || len(n.ran) != 4 {
		t.Errorf("%d cycles are %+v, %v", len(n.ran), s, err)
	}
	n.pass("11:59")
	n.want("told of the second slot", n.told(), "failed paused")
	if s, err := agent.Streak(n.Home, 2); err != nil || s.Count != 2 || len(n.ran) != 8 {
		t.Errorf("%d cycles are %+v, %v", len(n.ran), s, err)
	}
	n.pass("12:05")
	n.want("slots", n.slots(), "10:00 ran 4, 11:00 ran 4, 12:00 skipped 0")
}

// slots are all slots, with their attempts.
func (n *night) slots() string {
	n.t.Helper()
	lines, err := n.Slots().Slots()
	if err != nil {
		n.t.Fatal(err)
	}
	var words []string
	for _, r := range lines {
		words = append(words, strings.Join([]string{r.Slot.UTC().Format("15:04"), string(r.Status), string(rune('0' + r.Attempt))}, " "))
	}
	return strings.Join(words, ", ")
}

// A slot that is not tried again after all is told of then.
func TestABadHourIsCutShort(t *testing.T) {
	n := newNight(t, "", down, seen)
	n.pass("10:04")
	n.now = n.now.Add(2 * time.Hour) // the machine was off
	n.pass("12:10")
	n.want("told", n.told(), "failed missed recovered")
}

// Once a call was begun, or a reply is there, nothing is tried again; nor where the
// model was not asked.
func TestOnlySilenceIsTriedAgain(t *testing.T) {
	call := modeltest.Reply{Action: json.RawMessage(`{"tool": "echo", "args": {"message": "a", "task_scratchpad": ""}}`)}
	for name, tt := range map[string]struct {
		config  string
		replies []modeltest.Reply
	}{
		"a call":      {"", []modeltest.Reply{call, down}},
		"a reply":     {"", []modeltest.Reply{{Text: "Hello."}, down}},
		"off":         {"", []modeltest.Reply{down}},
		"no rules":    {"", []modeltest.Reply{seen}},
		"no reply":    {"", []modeltest.Reply{down, down}},
		"a time-out":  {"cycle: {timeout: 100ms}\n", []modeltest.Reply{{Stall: true}, seen}},
		"not allowed": {"", []modeltest.Reply{{Status: 401}, seen}},
	} {
		n := newNight(t, tt.config, tt.replies...)
		want := 1
		switch name {
		case "off":
			n.rewrite("timezone: UTC", "timezone: UTC, retry: off")
		case "no rules":
			if err := os.Remove(n.Home.Rules()); err != nil {
				t.Fatal(err)
			}
		case "no reply", "a time-out", "not allowed":
			want = 2
		}
		n.pass("10:10")
		if len(n.ran) != want {
			t.Errorf("%s: %d cycles, want %d", name, len(n.ran), want)
		}
	}
}

// rewrite changes the configuration.
func (n *night) rewrite(old, text string) {
	n.t.Helper()
	data, err := os.ReadFile(n.Home.Config())
	if err == nil {
		err = os.WriteFile(n.Home.Config(), []byte(strings.Replace(string(data), old, text, 1)), 0o600)
	}
	if err == nil {
		err = os.Chtimes(n.Home.Config(), n.now.Add(-time.Minute), n.now.Add(-time.Minute))
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

// A slot whose further attempt finds the home held by somebody else, until the entry's
// next slot, is told of as well.
func TestABadHourIsHeld(t *testing.T) {
	n := newNight(t, "", down, seen)
	n.pass("10:04")
	unlock, err := n.Home.Lock()
	if err != nil {
		t.Fatal(err)
	}
	n.pass("10:10")
	n.want("told while it is tried", n.told(), "")
	n.pass("10:59")
	n.now = time.Date(2030, 1, 1, 10, 59, 30, 0, time.UTC)
	n.pass("11:00")
	unlock()
	n.pass("11:30")
	n.want("told", n.told(), "failed recovered")
	n.want("slots", n.slots(), "10:00 ran 0, 11:00 ran 0")
}
