package report

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rouse/home"
	"rouse/setup"
)

// night makes a home with so many cycles, a minute apart, the newest a minute before now.
func night(t testing.TB, cycles int, now time.Time) *setup.Setup {
	t.Helper()
	h := home.Home{Dir: t.TempDir()}
	if err := os.Mkdir(h.Logs(), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(h.Rules(), "be good")
	write(h.Config(), "history: {workspace: off}\n")
	if err := os.Mkdir(filepath.Join(h.Dir, "scratchpad"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range cycles {
		id := now.Add(time.Duration(i-cycles) * time.Minute).Format(home.CycleForm)
		j := fmt.Sprintf(`{"v":1,"seq":1,"event":"intent","step":1,"tool":"http_get","args":{"url":"https://example.com/a"}}
{"v":1,"seq":2,"event":"result","step":1,"tool":"http_get","ok":true,"size_bytes":1}
{"v":1,"seq":3,"event":"note","step":2,"text":"note %d"}
{"v":1,"seq":4,"event":"reply","text":"","usage":{"input":100,"output":10}}
{"v":1,"seq":5,"event":"sleep","outcome":"done","exit":0,"task":"claimed","refused":[{"what":"host a.example","count":2}]}
`, i)
		write(h.Journal(id), j)
		write(h.Before(id), fmt.Sprintf("count: %d\n", i))
		write(h.After(id), fmt.Sprintf("count: %d\n", i+1))
	}
	s, err := setup.Open(h, setup.Process{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestReport counts over several cycles what each of them has.
func TestReport(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.Local)
	s := night(t, 90, now)
	r, err := Since(s, "1h")
	if err != nil {
		t.Fatal(err)
	}
	if r.Tally != (Tally{Cycles: 60, Claimed: 60}) || r.Cost.Input != 6000 || r.Cost.Usual == nil || r.Cost.Usual.Tokens != 30*110/(7*24) {
		t.Errorf("%+v, %+v, usual %+v", r.Tally, r.Cost, r.Cost.Usual)
	}
	if len(r.Hosts) != 1 || r.Hosts[0] != (Count{"example.com", 60}) || len(r.Wanted) != 1 || r.Wanted[0].Count != 120 || r.Wanted[0].Mend == "" {
		t.Errorf("hosts %v, wanted %v", r.Hosts, r.Wanted)
	}
	if len(r.Said) != mostSaid || r.Said[mostSaid-1].Text != "note 89" || r.Undo != r.Cycles[0].Cycle {
		t.Errorf("said %v, undo %s", r.Said, r.Undo)
	}
	if len(r.Memory) != 1 || fmt.Sprintf("%v %v", r.Memory[0].Before, r.Memory[0].After) != "30 90" {
		t.Errorf("memory %v", r.Memory)
	}
}

// BenchmarkReport is a thousand cycles.
func BenchmarkReport(b *testing.B) {
	s := night(b, 1000, time.Now())
	for b.Loop() {
		if _, err := Since(s, "7d"); err != nil {
			b.Fatal(err)
		}
	}
}
