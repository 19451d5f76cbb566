package setup

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rouse/agent/budget"
	"rouse/agent/model/modeltest"
	"rouse/agent/schedule"
	"rouse/internal/proc"
	"rouse/internal/sweep"
	"rouse/scratchpad/observation"
	"rouse/tools/mcp/mcptest"
)

func TestMain(m *testing.M) {
	if there := os.Getenv("VICTIM_MAIL"); there != "" {
		relay(there)
		return
	}
	if os.Getenv("MCPTEST") != "" {
		mcptest.Main("")
		return
	}
	os.Exit(m.Run())
}

// limited is a home with these limits in which a slot is due, and its model; kept
// says that an earlier cycle kept something, of which the first request tells.
func limited(t *testing.T, limits string, kept bool) (*Setup, *modeltest.Server) {
	t.Helper()
	server := modeltest.New(modeltest.Reply{Action: json.RawMessage(`{"tool": "done", "args": {"summary": "seen"}}`), Repeat: true})
	t.Cleanup(server.Close)
	s := open(t, map[string]string{
		"rules.md":               "You are Rouse.\n",
		"prices.yaml":            "models: {m: {input: 1, output: 2}}\n",
		"rouse.yaml":             "model: {name: m, max_output: 100, base_url: '" + server.URL() + "'}\nschedule: '@every 1s'\nlimits: " + limits + "\n",
		"scratchpad/active.yaml": "goals: [look around]\n",
	})
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(s.Home.Config(), old, old); err != nil {
		t.Fatal(err)
	}
	if kept {
		keep(t, s)
	}
	return s, server
}

func keep(t *testing.T, s *Setup) {
	t.Helper()
	store, err := observation.Open(s.Home.Memory(), s.Observations())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	turn, err := store.Begin("20260401_150154", proc.Self())
	if err != nil {
		t.Fatal(err)
	}
	w := turn.Create(observation.Origin{Step: 1, Executor: "shell"})
	fmt.Fprintln(w, "text")
	e, err := w.Commit(nil)
	if err == nil {
		err = turn.Keep(e.ID, strings.Repeat("what it is, at length; ", 8), time.Hour)
	}
	if err == nil {
		err = turn.End()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// cycle runs a cycle of the home.
func cycle(t *testing.T, s *Setup) Ran {
	ag, err := s.Agent()
	if err != nil {
		return Ran{Err: err, Exit: 2}
	}
	report, err := ag.RunOnce(t.Context())
	return Ran{Report: report, Exit: report.Exit, Err: err}
}

// try runs the slot that is due, and wants it to be skipped for the budget, with no
// cycle, or its cycle to ask the model.
func try(t *testing.T, limits string, kept bool) (woken bool) {
	t.Helper()
	s, server := limited(t, limits, kept)
	if err := s.RunDue(func(schedule.Slot) Ran { woken = true; return cycle(t, s) }); err != nil {
		t.Fatal(err)
	}
	list, err := s.NewestSlots(1)
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	skipped := list[0].Status == schedule.Skipped && list[0].Reason == "budget"
	if asked := len(server.Requests()) > 0; skipped == woken || woken != asked {
		t.Errorf("limits: %s, kept %v: the slot is %s %s; a cycle woken: %v; the model asked: %v", limits, kept, list[0].Status, list[0].Reason, woken, asked)
	}
	return woken
}

// A slot at a limit wakes no cycle, or its cycle gets its first request: who decides
// on the slot and who reserves for the cycle go by the same. The limits go from
// below what the request needs to above it.
func TestSlotAtALimit(t *testing.T) {
	spans, all := []string{"call", "cycle", "day", "month"}, []int64{-2000, -60, -1, 0, 1, 301}
	for _, kept := range []bool{true, false} {
		s, _ := limited(t, "{day: {tokens: 1000000}}", kept)
		tokens, money := need(t, s)
		for _, by := range sweep.Of([]int64{-60, -1, 0, 301}, all, all) {
			for _, span := range spans {
				for _, limit := range []string{
					fmt.Sprintf("tokens: %d", max(1, tokens+by)), fmt.Sprintf("money: %s", max(1, money+budget.Money(by*1000))),
				} {
					if woken := try(t, "{"+span+": {"+limit+"}}", kept); by < 0 && woken || by > 300 && !woken {
						t.Errorf("%s of a %s, %+d of what is needed: woken %v", limit, span, by, woken)
					}
				}
			}
		}
		spans = spans[:1] // once is enough for all
	}
	for _, span := range []string{"day", "month"} {
		if !try(t, "{"+span+": {calls: 1}}", false) {
			t.Errorf("one call of a %s is left, and no cycle was woken", span)
		}
	}
}

// What an MCP server offers is known before it is started, from the cycle before.
func TestSlotAtALimitWithServers(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := fmt.Sprintf(`{"command": %q, "env": {"MCPTEST": "1"}}`, program)
	s, model := limited(t, "{call: {tokens: 1000000}}", false)
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(s.Home.Servers(), fmt.Sprintf(`{"mcpServers": {"a": %[1]s, "b": %[1]s, "c": %[1]s, "d": %[1]s}}`, server))
	tokens, _ := need(t, s)
	rules, err := os.ReadFile(s.Home.Config())
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []int64{-900, -600, -300, 0, 400} {
		write(s.Home.Config(), strings.Replace(string(rules), "1000000", fmt.Sprint(tokens+by), 1))
		if s, err = Open(s.Home, s.Process); err != nil {
			t.Fatal(err)
		}
		before := len(model.Requests())
		ag, err := s.Agent()
		if err != nil {
			t.Fatal(err)
		}
		reason, _ := s.Gate(schedule.Slot{})
		if _, err := ag.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if woken := reason == ""; woken && len(model.Requests()) == before || by == 400 && !woken {
			t.Errorf("%+d: the gate says %q, and the model was asked %d times", by, reason, len(model.Requests())-before)
		}
	}
}

// need is what the first request reserves.
func need(t *testing.T, s *Setup) (tokens int64, money budget.Money) {
	t.Helper()
	if ran := cycle(t, s); ran.Err != nil {
		t.Fatal(ran.Err)
	}
	text, err := os.ReadFile(s.Home.Spend())
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var r struct{ budget.Amount }
	if err := json.Unmarshal([]byte(line), &r); err != nil || r.Tokens == 0 {
		t.Fatal(err, line)
	}
	return int64(r.Tokens), r.Money
}

// Promise: under systemd and launchd, which start nothing beside an awake cycle, its slots
// are what they are under cron: a long cycle has none that nobody was there for.
func TestSlotsOfALongCycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, map[string]string{"rules.md": "x", "scratchpad/active.yaml": "", "rouse.yaml": "schedule: '*/5 * * * *'\n"})
		s.Slots().Since = time.Now().Add(-time.Minute)
		if err := s.RunDue(func(schedule.Slot) Ran { time.Sleep(32 * time.Minute); return Ran{} }); err != nil {
			t.Fatal(err)
		}
		list, err := s.NewestSlots(20)
		if err != nil || len(list) != 7 {
			t.Fatal(list, err)
		}
		for _, r := range list[:6] { // the newest come first
			if r.Status != schedule.Skipped || r.Reason != schedule.ReasonOverlap {
				t.Errorf("the slot of %s is %s %s, while a cycle was awake", r.Slot, r.Status, r.Reason)
			}
		}
	})
}
