package setup

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"rouse/home"
)

// lived is a home in which a cycle ran that tells into a file.
func lived(t *testing.T) *Setup {
	t.Helper()
	s := open(t, map[string]string{"rules.md": "x", "rouse.yaml": "notify: [{file: told.jsonl}]\n", "scratchpad/active.yaml": "current_task: echo message=hello\n"})
	ag, err := s.Agent()
	if err == nil {
		_, err = ag.RunOnce(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A configuration that cannot be read is told of by the sinks of the last one that
// was good, once, and not by what somebody wrote into a journal.
func TestAlarmByTheLastGood(t *testing.T) {
	for _, forged := range []bool{false, true} {
		s := lived(t)
		if err := os.WriteFile(s.Home.Config(), []byte("notify: ["), 0o600); err != nil {
			t.Fatal(err)
		}
		if forged {
			ids, err := s.Home.Cycles(1)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(s.Home.Journal(ids[0]))
			if err == nil {
				err = os.WriteFile(s.Home.Journal(ids[0]), []byte(strings.Replace(string(text), `"settled":""`, `"settled":"x"`, 1)), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		_, why := Open(s.Home, s.Process)
		for range 3 {
			AlarmAt(s.Home.Dir, s.Process, why)
		}
		got := told(t, s)
		switch {
		case forged && len(got) > 0:
			t.Errorf("a forged journal tells %v", got)
		case !forged && (len(got) != 1 || got[0].Text != "no cycle can begin: "+why.Error()):
			t.Errorf("told %v", got)
		}
	}
}

// rouse schedule starts nothing in such a home, and alarms all the same.
func TestAlarmOfTheScheduler(t *testing.T) {
	s := lived(t)
	if err := os.WriteFile(s.Home.Config(), []byte("notify: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &Waker{Process: s.Process.Alone()}
	for range 2 {
		if _, err := w.load(s.Home.Dir); err == nil {
			t.Error("the configuration can be read")
		}
		w.alarms.Wait()
	}
	if got := told(t, s); len(got) != 1 || !strings.HasPrefix(got[0].Text, "no cycle can begin: read rouse.yaml") {
		t.Errorf("told %v", got)
	}
}

// Who runs rouse in a folder that is no home alarms nobody, nor does a home that
// never was in order.
func TestNoAlarm(t *testing.T) {
	s := open(t, map[string]string{"rouse.yaml": "notify: [{file: told.jsonl}]\n"})
	AlarmAt(s.Home.Dir, s.Process, errors.New("not a home"))
	if err := os.WriteFile(s.Home.Rules(), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	AlarmAt(s.Home.Dir, s.Process, errors.New("no configuration"))
	if got := told(t, s); len(got) > 0 {
		t.Errorf("told %v", got)
	}
}

// What keeps every cycle from its work is in the standing before the night.
func TestStandingWithoutRules(t *testing.T) {
	s := lived(t)
	for _, spoil := range []func() error{
		func() error { return os.WriteFile(s.Home.Rules(), []byte(" \n"), 0o600) },
		func() error { return os.Remove(s.Home.Rules()) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		h, err := home.Open(s.Home.Dir)
		if err != nil {
			t.Fatal(err)
		}
		problems := strings.Join(StandingOf(h, s.Process, nil).Problems, "\n")
		if !strings.Contains(problems, "read the rules: rules.md is ") || !strings.Contains(problems, "in the home: cp logs/made/") {
			t.Errorf("problems: %s", problems)
		}
	}
}
