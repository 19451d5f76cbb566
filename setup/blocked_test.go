package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"rouse/agent"
	"rouse/agent/notify"
	"rouse/agent/schedule"
	"rouse/home"
)

// openOften opens a home that is to wake each ten minutes. due runs one slot,
// and goes on to the next.
func openOften(t *testing.T) (s *Setup, due func(run func(schedule.Slot) Ran)) {
	t.Helper()
	now := time.Date(2026, 1, 1, 9, 59, 30, 0, time.UTC)
	s = open(t, map[string]string{
		"rules.md": "x", "scratchpad/active.yaml": "",
		"rouse.yaml": "schedule: [{cron: '*/10 * * * *', timezone: UTC}]\nnotify: [{file: told.jsonl}]\n",
	})
	s.Now = func() time.Time { return now }
	l := s.Slots()
	l.Now, l.Since = s.Now, now
	due = func(run func(schedule.Slot) Ran) {
		t.Helper()
		if err := s.RunDue(run); err != nil {
			t.Fatal(err)
		}
		now = now.Add(10 * time.Minute)
	}
	due(nil)
	return s, due
}

// awake is a run that finds another cycle awake.
func awake(schedule.Slot) Ran { return Ran{Exit: 75, Err: home.ErrAwake} }

// Promise: that a home is blocked for longer than two slots and a quarter of an hour is told once, with who
// is in the way, is in its ledger and its standing, and its end is told once; cron
// has nothing to mail.
func TestBlockedIsTold(t *testing.T) {
	s, due := openOften(t)
	unlock, err := s.Home.Lock()
	if err != nil {
		t.Fatal(err)
	}
	due(awake)
	due(awake)
	if got := told(t, s); len(got) > 0 {
		t.Errorf("told after two slots: %v", got)
	}
	due(awake)
	due(awake)
	got := told(t, s)
	if len(got) != 1 || got[0].Kind != notify.Blocked || !strings.Contains(got[0].Text, "3 slots since ") {
		t.Fatalf("told %v", got)
	}
	who := fmt.Sprintf("pid %d (", os.Getpid())
	slots, err := s.NewestSlots(1)
	if err != nil || len(slots) != 1 {
		t.Fatal(slots, err)
	}
	problems := strings.Join(s.Standing(nil).Problems, "\n")
	if _, err := os.Stat("/proc/locks"); err == nil && !(strings.Contains(got[0].Text, who) && strings.Contains(slots[0].Error, who)) {
		t.Errorf("without %q: %q, %q", who, got[0].Text, slots[0].Error)
	}
	if !strings.Contains(problems, "4 slots since ") {
		t.Errorf("problems: %s", problems)
	}

	unlock()
	done := func(schedule.Slot) Ran { return Ran{Report: agent.Report{Cycle: "20260101_100401"}} }
	due(done)
	due(done)
	if got := told(t, s); len(got) != 2 || got[1].Kind != notify.Freed || !strings.Contains(got[1].Text, "4 slots since ") {
		t.Errorf("told %v", got)
	}
	if problems := strings.Join(s.Standing(nil).Problems, "\n"); strings.Contains(problems, "had no cycle") {
		t.Errorf("problems: %s", problems)
	}
}

// The end is told also where no cycle wakes, such as in a home that is paused; but
// not while the lock is held.
func TestBlockedEndsWhilePaused(t *testing.T) {
	s, due := openOften(t)
	unlock, err := s.Home.Lock()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		due(awake)
	}
	if err := os.WriteFile(s.Home.Stop(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kinds := func() (list []string) {
		due(nil)
		for _, e := range told(t, s) {
			list = append(list, e.Kind)
		}
		return list
	}
	if got := fmt.Sprint(kinds()); got != "[blocked paused]" {
		t.Errorf("while it is held: %s", got)
	}
	unlock()
	kinds()
	if got := fmt.Sprint(kinds()); got != "[blocked paused freed]" {
		t.Errorf("after that: %s", got)
	}
}

// told is what the file of the notifications was given.
func told(t *testing.T, s *Setup) (list []notify.Event) {
	t.Helper()
	data, err := os.ReadFile(s.Home.Folder("told.jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var e notify.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}
