package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"rouse/home"
	"rouse/journal"
)

// Only what a person wrote is missed: by hand before the first cycle, or after the
// last one that wrote it; and only until it is put back.
func TestShrunk(t *testing.T) {
	long := strings.Repeat("what a person knows of plants, ", 20)
	set := func(key, value string) string { return act("update_scratchpad", fmt.Sprintf(`{%q:%q}`, key, value)) }
	for _, tt := range []struct {
		name, first, edited, now string // the memory at first, what the cycle before and then a person wrote, and what the cycle does
		want                     string
	}{
		{"emptied", long, "", "", "[{plan 620 0}]"},
		{"cut down", long, "", long[:100], "[{plan 620 100}]"},
		{"cut a little", long, "", long[:500], "[]"},
		{"of an agent's own", "", "", "", "[]"},
		{"of an agent's own, edited since", "", long, "", "[{plan 620 0}]"},
		{"short", "short words", "", "words", "[]"},
	} {
		r := newRig(t, t.TempDir(), "current_task: look\nplan: "+tt.first+"\n")
		var before []string
		if tt.first == "" {
			before = append(before, set("plan", long))
		}
		a, _ := r.agent(nil, append(before, act("done", `{"summary":"seen"}`))...)
		_, err := a.RunOnce(t.Context())
		r.must(err)
		if tt.edited != "" {
			r.must(os.WriteFile(r.home.Active(), []byte("plan: "+strings.TrimSpace(tt.edited)+".\n"), 0o600))
		}
		r.now = r.now.Add(time.Minute)
		a, _ = r.agent(nil, set("plan", tt.now), act("done", `{"summary":"seen"}`))
		a.Task = "tidy up"
		report, err := a.RunOnce(t.Context())
		r.must(err)
		events := r.events(report.Cycle)
		got := fmt.Sprint(events[len(events)-1].Data.(*journal.Sleep).Shrunk)
		if !strings.HasPrefix(strings.ReplaceAll(got, "619", "620"), tt.want) {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		lost := Lost(r.home, r.state(r.home.Active()), begun)
		if (len(lost) > 0) != (tt.want != "[]") {
			t.Errorf("%s: %q", tt.name, lost)
		}
		if len(lost) == 0 {
			continue
		}
		unlock, err := r.home.Lock()
		r.must(err)
		if err := a.Restore(report.Cycle, "plan"); err != home.ErrAwake {
			t.Errorf("%s: while a cycle is awake: %v", tt.name, err)
		}
		unlock()
		r.must(a.Restore(report.Cycle, "plan"))
		if lost := Lost(r.home, r.state(r.home.Active()), begun); len(lost) > 0 {
			t.Errorf("%s: put back, and still %q", tt.name, lost)
		}
	}
}
