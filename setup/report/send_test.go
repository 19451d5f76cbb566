package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/agent/notify"
	"rouse/setup"
)

// TestSend lets time pass in a home that sends reports at eight.
func TestSend(t *testing.T) {
	now := time.Date(2026, 11, 21, 7, 0, 0, 0, time.Local)
	h := night(t, 3, now).Home
	look := func(when string) *setup.Setup {
		text := "history: {workspace: off}\nnotify: [{file: told.jsonl}]\nreport: {at: '0 8 * * *', when: " + when + "}\n"
		if err := os.WriteFile(h.Config(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(h.Config(), now, now); err != nil {
			t.Fatal(err)
		}
		s, err := setup.Open(h, setup.Process{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := look("always")
	for _, tt := range []struct {
		what  string
		hours int // that pass
		first func()
		sent  int
		since string // of the newest
	}{
		{"before eight", 0, nil, 0, ""},
		{"at eight", 1, nil, 1, "Fri 2026-11-20 08:00 to Sat 2026-11-21 08:00"},
		{"once", 1, nil, 1, ""},
		{"a missed day is caught up once", 48, nil, 2, "Sat 2026-11-21 08:00 to Mon 2026-11-23 09:00"},
		{"who died before it was put down that it is over sends nothing twice", 0, func() { put(t, s, `{"slot": "2026-11-21T09:00:00Z", "since": "2026-11-21T08:00:00Z"}`) }, 2, ""},
		{"nor what nobody needs", 24, func() { s = look("attention") }, 2, ""},
		{"of which the next one tells", 24, func() { s = look("always") }, 3, "Mon 2026-11-23 09:00 to Wed 2026-11-25 09:00"},
	} {
		now = now.Add(time.Duration(tt.hours) * time.Hour)
		if tt.first != nil {
			tt.first()
		}
		Send(s)
		list := told(t, filepath.Join(h.Dir, "told.jsonl"))
		if len(list) != tt.sent {
			t.Fatalf("%s: %d were sent, the newest:\n%s", tt.what, len(list), list[len(list)-1].Text)
		}
		if tt.since == "" {
			continue
		}
		l := list[len(list)-1]
		if !strings.Contains(l.Text, tt.since) || !strings.Contains(l.HTML, "</html>") || l.Kind != notify.Report || !strings.Contains(l.Subject, "cycles, 0 failed") {
			t.Errorf("%s: %s, %s", tt.what, l.Subject, l.Text)
		}
	}
	now = now.Add(26 * time.Hour)
	if st := s.Standing(nil); !strings.Contains(strings.Join(st.Problems, "\n"), "the report of 2026-11-26 08:00:00 +0000 was not sent, as nobody woke") && time.Local == time.UTC {
		t.Errorf("%q", st.Problems)
	}
	s.Config.Report.To = []string{"nobody"}
	Send(s)
	if st := s.Standing(nil); !strings.Contains(strings.Join(st.Problems, "\n"), `was not sent: no sink of notify is called "nobody"`) {
		t.Errorf("%q", st.Problems)
	}
}

func put(t *testing.T, s *setup.Setup, text string) {
	t.Helper()
	if err := os.WriteFile(s.Home.Reported(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// told is what a file sink got.
func told(t *testing.T, path string) (list []notify.Event) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var l notify.Event
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	return list
}
