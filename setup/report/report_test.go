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
	write(h.Config(), "history: {workspace: off}\nposture: careful\nsandbox: {hosts: [a.example]}\n")
	if err := os.Mkdir(filepath.Join(h.Dir, "scratchpad"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range cycles {
		id := now.Add(time.Duration(i-cycles) * time.Minute).Format(home.CycleForm)
		j := fmt.Sprintf(`{"v":1,"seq":1,"event":"intent","step":1,"tool":"http_get","args":{"url":"https://example.com/a"}}
{"v":1,"seq":2,"event":"result","step":1,"tool":"http_get","ok":true,"size_bytes":1}
{"v":1,"seq":3,"event":"note","step":2,"text":"note %[1]d"}
{"v":1,"seq":4,"event":"reply","text":"","usage":{"input":100,"output":10}}
{"v":1,"seq":5,"event":"policy","step":3,"do":"deny"}
{"v":1,"seq":6,"event":"result","step":3,"tool":"shell","ok":false,"error":"denied %[1]d","changes":[{"op":"append","key":"notes","value":"\n[TOOL] shell({\"command\":\"rm a)b\"}) → error: denied"}]}
{"v":1,"seq":7,"event":"origin","step":3,"from":["http_get example.com","private"]}
{"v":1,"seq":8,"event":"sleep","outcome":"done","exit":0,"task":"claimed","unsupported":1,"refused":[{"what":"host a.example","count":2}]}
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
	if r.Tally != (Tally{Cycles: 60, Claimed: 60, Denied: 60}) || r.Cost.Input != 6000 || r.Cost.Usual == nil || r.Cost.Usual.Tokens != 30*110/(7*24) {
		t.Errorf("%+v, %+v, usual %+v", r.Tally, r.Cost, r.Cost.Usual)
	}
	if len(r.Hosts) != 1 || r.Hosts[0] != (Count{"example.com", 60}) || len(r.Wanted) != 1 || r.Wanted[0].Count != 120 || r.Wanted[0].Mend != ", which is allowed now" {
		t.Errorf("hosts %v, wanted %v", r.Hosts, r.Wanted)
	}
	if len(r.Said) != mostSaid || r.Said[mostSaid-1].Text != "note 89" || r.Undo != r.Cycles[0].Cycle {
		t.Errorf("said %v, undo %s", r.Said, r.Undo)
	}
	last := r.Cycles[59].Cycle
	if len(r.Calls) != 1 || r.Calls[0] != (Call{last, 3, "shell", "rm a)b", CallDenied, "denied 89", 60}) || len(r.Doubts) != 1 || r.Doubts[0].Cycle != last {
		t.Errorf("calls %v, doubts %v", r.Calls, r.Doubts)
	}
	if len(r.Origins) != 1 || r.Origins[0] != (Origin{Count{"http_get example.com", 60}, false}) {
		t.Errorf("origins %v", r.Origins)
	}
	if len(r.Memory) != 1 || fmt.Sprintf("%v %v", r.Memory[0].Before, r.Memory[0].After) != "30 90" {
		t.Errorf("memory %v", r.Memory)
	}
}

// Of what has one cause the newest is kept, the newest first, and not of too many causes.
func TestAlike(t *testing.T) {
	var a alike[int]
	for i := range 2 * mostAlike {
		a.add(fmt.Sprint(i%3, i/mostAlike), func(was int) int { return was + 1 })
	}
	if got := fmt.Sprint(a.list()); got != "[17 17 16 17 17 16]" {
		t.Error(got)
	}
	for i := range 2 * mostAlike {
		a.add(fmt.Sprint("new", i), func(int) int { return i })
	}
	if list := a.list(); len(list) != mostAlike || len(a.of) != mostAlike || list[0] != 2*mostAlike-1 {
		t.Errorf("%d: %v", len(list), list)
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
