package agent

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // so that no machine lacks the zone

	"github.com/google/go-cmp/cmp"
)

// Whatever the clock does, a cycle's id is after that of the newest log, or where
// there is none of the newest snapshot, and nothing is ever overwritten.
func TestIDs(t *testing.T) {
	rome, err := time.LoadLocation("Europe/Rome")
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) time.Time {
		now, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return now.In(rome)
	}
	tests := []struct {
		name  string
		files []string // in the home, beforehand
		runs  []string // when cycles start
		want  []string
	}{
		{"local time", nil, []string{"2026-07-01T10:00:00Z"}, []string{"20260701_120000"}},
		{"the same second", nil,
			[]string{"2026-07-01T10:00:00Z", "2026-07-01T10:00:00Z", "2026-07-01T10:00:00Z"},
			[]string{"20260701_120000", "20260701_120001", "20260701_120002"}},
		{"an hour back", nil,
			[]string{"2026-07-01T10:00:00Z", "2026-07-01T09:00:00Z", "2026-07-01T09:30:00Z", "2026-07-01T10:00:03Z"},
			[]string{"20260701_120000", "20260701_120001", "20260701_120002", "20260701_120003"}},
		{"the hour that comes twice", nil,
			[]string{"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"},
			[]string{"20261025_023000", "20261025_023001", "20261025_033000"}},
		{"the hour that is left out", nil,
			[]string{"2026-03-29T00:59:59Z", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z"},
			[]string{"20260329_015959", "20260329_020000", "20260329_030000"}},
		{"the end of a year", nil,
			[]string{"2026-12-31T22:59:59Z", "2026-12-31T22:59:59Z"},
			[]string{"20261231_235959", "20270101_000000"}},
		{"the newest is from the future", []string{"logs/cycle_20990101_000000.jsonl"},
			[]string{"2026-07-01T10:00:00Z", "2026-07-01T10:00:01Z"},
			[]string{"20990101_000001", "20990101_000002"}},
		{"no time at all", []string{"logs/cycle_20269999_999999.jsonl", "scratchpad/99999999_999999_before.yaml"},
			[]string{"2026-07-01T10:00:00Z", "2026-07-01T10:00:00Z"},
			[]string{"20260701_120000", "20260701_120001"}},
		{"all logs were removed", []string{"scratchpad/20260701_120500_before.yaml"},
			[]string{"2026-07-01T10:00:00Z"}, []string{"20260701_120501"}},
		{"the newest log was removed", []string{"logs/cycle_20260701_110000.jsonl", "scratchpad/20260701_120000_before.yaml"},
			[]string{"2026-07-01T10:00:00Z"}, []string{"20260701_120001"}},
		{"all but a reset was removed", []string{"scratchpad/20260701_120500_reset.yaml"},
			[]string{"2026-07-01T10:00:00Z"}, []string{"20260701_120501"}},
		{"the snapshot is there already", []string{"scratchpad/20260701_120000_after.yaml"},
			[]string{"2026-07-01T10:00:00Z"}, []string{"20260701_120001"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, "", oldState)
			for _, name := range tt.files {
				text := "goals: []\n"
				if strings.HasPrefix(name, "logs/") {
					text = `{"v":1,"seq":1,"event":"sleep"}` + "\n"
				}
				r.must(os.WriteFile(filepath.Join(r.home.Dir, name), []byte(text), 0o600))
			}
			var got []string
			for _, text := range tt.runs {
				r.now = at(text)
				got = append(got, r.cycleID())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// cycleID runs a cycle that does nothing to what was there, and gives its id.
func (r *rig) cycleID() string {
	r.t.Helper()
	before := r.contents()
	a, _ := r.agent(nil, act("done", `{"summary":"seen"}`))
	report, err := a.RunOnce(r.t.Context())
	r.must(err)
	after := r.contents()
	for name, text := range before {
		if name != r.home.Active() && after[name] != text {
			r.t.Errorf("%s was overwritten", name)
		}
	}
	return report.Cycle
}

// contents are all files of the home.
func (r *rig) contents() map[string]string {
	r.t.Helper()
	all := map[string]string{}
	for _, dir := range []string{r.home.Memory(), r.home.Logs()} {
		names, err := filepath.Glob(filepath.Join(dir, "*.*"))
		r.must(err)
		for _, name := range names {
			all[name] = r.read(name)
		}
	}
	return all
}

// A reset that removes all that earlier cycles left does not give their ids to
// others: what the store of observations holds is still theirs.
func TestIDsAfterAReset(t *testing.T) {
	r := newRig(t, "", oldState)
	last := ""
	for i := range 4 {
		if id := r.cycleID(); id <= last {
			t.Errorf("cycle %s after %s", id, last)
		} else {
			last = id
		}
		r.now = r.now.Add(-time.Hour * time.Duration(i))
		a, _ := r.agent(nil)
		if _, err := a.Reset(true); err != nil {
			t.Fatal(err)
		}
	}
}

// A name of a reset is never one that is taken.
func TestResetsOfOneSecond(t *testing.T) {
	r := newRig(t, "", oldState)
	a, _ := r.agent(nil)
	for range 3 {
		r.must(os.WriteFile(r.home.Active(), []byte(oldState), 0o600))
		if _, err := a.Reset(false); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"20260401_150154_reset.yaml", "20260401_150155_reset.yaml", "20260401_150156_reset.yaml"}
	var got []string
	for _, name := range slices.Sorted(maps.Keys(r.contents())) {
		got = append(got, filepath.Base(name))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
