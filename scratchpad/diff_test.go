package scratchpad

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiff(t *testing.T) {
	for _, tt := range []struct {
		name, before, after string
		want                string // as JSON
	}{
		{"nothing", "goals: [a]\n", "goals:\n  - 'a'\nnotes: \"\"\n", `null`},
		{"key added", "", "k: 1\n", `[{"key":"k","kind":"added","after":1}]`},
		{"key removed", "k: [a]\n", "", `[{"key":"k","kind":"removed","before":["a"]}]`},
		{"text set", "current_task: a\n", "current_task: b\n", `[{"key":"current_task","kind":"changed","before":"a","after":"b"}]`},
		{"task taken", "", "current_task: b\n", `[{"key":"current_task","kind":"changed","after":"b"}]`},
		{"text from nothing", "", "notes: b\n", `[{"key":"notes","kind":"changed","before":"","after":"b"}]`},
		{"text extended", "notes: a\n", "notes: ab\n", `[{"key":"notes","kind":"extended","appended":"b"}]`},
		{"number", "k: 1\n", "k: 1.0\n", `[{"key":"k","kind":"changed","before":1,"after":1.0}]`},
		{"list extended", "goals: [a]\n", "goals: [a, a, b]\n", `[{"key":"goals","kind":"extended","added":["a","b"]}]`},
		{"list shortened", "goals: [a, b, a]\n", "goals: [b]\n", `[{"key":"goals","kind":"shortened","removed":["a","a"]}]`},
		{"list changed", "goals: [a, b]\n", "goals: [b, c]\n",
			`[{"key":"goals","kind":"changed","before":["a","b"],"after":["b","c"],"added":["c"],"removed":["a"]}]`},
		{"list turned", "goals: [a, b]\n", "goals: [b, a]\n", `[{"key":"goals","kind":"changed","before":["a","b"],"after":["b","a"]}]`},
		{"stamp", "", "last_updated: x\n", `[{"key":"last_updated","kind":"changed","after":"x"}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := mustParse(t, tt.before), mustParse(t, tt.after)
			got, err := json.Marshal(Diff(a, b))
			if err != nil || string(got) != tt.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
			}
			if want := tt.want == "null" || tt.name == "stamp"; Equal(a, b) != want {
				t.Errorf("Equal is %v", !want)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	const base = "goals: [a]\nnotes: n\nk: 1\nlast_updated: x\n"
	for _, tt := range []struct {
		name         string
		ours         []Change
		theirs, want string
		conflicts    []string
	}{
		{"only ours", []Change{{OpAppend, "notes", "m"}}, base,
			"goals: [a]\nnotes: nm\nk: 1\nlast_updated: x\ncurrent_task: null\npending_actions: []\ncompleted_tasks: []\n", nil},
		{"only theirs", nil, "# hi\nnotes: z\nk: 1\n", "# hi\nnotes: z\nk: 1\n", nil},
		{"different keys", []Change{{OpAppend, "notes", "m"}, {OpSet, "new", "v"}}, "# hi\nk: 2 # two\nnotes: n\nlast_updated: y\n\ngoals: [a]\n",
			"# hi\nk: 2 # two\nnotes: nm\nlast_updated: y\n\ngoals: [a]\ncurrent_task: null\npending_actions: []\ncompleted_tasks: []\nnew: v\n", nil},
		{"the same change", []Change{{OpSet, "k", 2}}, "k: 2\ngoals: [a]\nnotes: n\n", "k: 2\ngoals: [a]\nnotes: n\n", nil},
		{"ours put back the default", []Change{{OpSet, "notes", ""}}, "k: 1\ngoals: [a]\n", "k: 1\ngoals: [a]\n", nil},
		{"they took a key away", nil, "goals: [a]\nnotes: n\n", "goals: [a]\nnotes: n\n", nil},
		{"both changed", []Change{{OpSet, "notes", "o"}, {OpSet, "k", 2}, {OpSet, "goals", nil}}, "goals: [a]\nnotes: t\nk: 3\n", "", []string{"notes", "k"}},
		{"both added", []Change{{OpSet, "new", 1}}, base + "new: 2\n", "", []string{"new"}},
		{"changed here, away there", []Change{{OpSet, "k", 2}}, "goals: [a]\nnotes: n\n", "", []string{"k"}},
		{"reset", []Change{{OpAppend, "notes", "m"}}, "", "", []string{"notes"}},
		{"the stamp never conflicts", []Change{{OpSet, "last_updated", "o"}}, "goals: [a]\nnotes: n\nk: 1\nlast_updated: t\n", "goals: [a]\nnotes: n\nk: 1\nlast_updated: t\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, ours, theirs := mustParse(t, base), mustParse(t, base), mustParse(t, tt.theirs)
			mustApply(t, ours, tt.ours...)
			got, conflicts := Merge(b, ours, theirs)
			if diff := cmp.Diff(tt.conflicts, conflicts); diff != "" {
				t.Fatalf("conflicts (-want +got):\n%s", diff)
			}
			if (got == nil) != (len(conflicts) > 0) {
				t.Fatalf("state %v with conflicts %v", got, conflicts)
			}
			if got != nil && mustBytes(t, got) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", mustBytes(t, got), tt.want)
			}
			if mustBytes(t, theirs) != tt.theirs {
				t.Error("Merge changed theirs")
			}
		})
	}
}
