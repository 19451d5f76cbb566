package agent

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"rouse/internal/disk"
	"rouse/internal/sweep"
	"rouse/journal"
	"rouse/tools"
)

// day is what one cycle after the other of a day does, which is the same each day.
func day(cycle int) []string {
	var replies []string
	for i := range 5 {
		args := fmt.Sprintf(`{"label":"look at part %d of the log of hour %d: %s","task_scratchpad":"part %d of hour %d has no errors"}`,
			i, cycle, strings.Repeat("all lines with errors, ", 8), i, cycle)
		replies = append(replies, act("effect", args))
	}
	return append(replies, act("done", fmt.Sprintf(`{"summary":"the log of hour %d is fine"}`, cycle)))
}

// tokensOf is what the requests of a cycle take.
func (r *rig) tokensOf(cycle string) (n int) {
	for _, e := range r.events(cycle) {
		if d, ok := e.Data.(*journal.Request); ok {
			n += d.Tokens
		}
	}
	return n
}

// Equal days cost equal tokens, within a twentieth, once there is something to remember:
// from the second day on, and with one cycle a day from the third.
func TestEqualDaysCostEqualTokens(t *testing.T) {
	for _, cycles := range sweep.Of([]int{1, 4}, []int{1, 4, 24}, []int{1, 4, 24, 96}) {
		r := newRig(t, "", oldState)
		r.must(os.WriteFile(r.home.Rules(), []byte(strings.Repeat("Mind what the person wants, and be brief about it.\n", 120)), 0o600))
		days := make([]int, 5)
		for d := range days {
			for i := range cycles {
				r.now = begun.AddDate(0, 0, d).Add(time.Duration(i) * 24 * time.Hour / time.Duration(cycles))
				a, _ := r.agent(unsynced{disk.OS{}}, day(i)...)
				a.NotesMax, a.CompletedMax, a.Notes = 16<<10, 100, tools.NoteRequired
				a.Task = fmt.Sprintf("look at the log of hour %d", i)
				report, err := a.RunOnce(t.Context())
				if err != nil || report.Outcome != journal.Done {
					t.Fatal(report, err)
				}
				days[d] += r.tokensOf(report.Cycle)
			}
		}
		t.Logf("%d cycles a day: %d tokens", cycles, days)
		later := days[1:]
		if cycles == 1 {
			later = days[2:]
		}
		if least, most := slices.Min(later), slices.Max(later); most*20 > least*21 {
			t.Errorf("%d cycles a day: from %d to %d tokens a day", cycles, least, most)
		}
	}
}
