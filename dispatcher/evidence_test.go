package dispatcher

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rouse/internal/proc"
	"rouse/journal"
	"rouse/scratchpad/observation"
	"rouse/tools"
)

// evidenceOf is what the journal has of the last result.
func evidenceOf(t *testing.T, r *record) (why []string) {
	t.Helper()
	last := r.events[len(r.events)-1].(*journal.Result)
	for _, e := range last.Evidence {
		why = append(why, e.Unsupported)
	}
	return why
}

func TestEvidence(t *testing.T) {
	d, r := newDispatcher(t, "current_task: count\nnotes: \"\"\n")
	do(t, d, "say", `{"text":"312 files,\r\n 1,000 dirs"}`)
	do(t, d, "say", `{"text":"fail"}`)
	do(t, d, "update_scratchpad", `{"notes":"42 cats"}`)
	o := do(t, d, "done", `{"summary":"42 cats","evidence":[{"step":1,"quote":"312 files, 1,000 dirs"},{"step":"step2","quote":"told to"},
		{"step":1,"quote":"12 files"},{"step":1,"quote":"1000"},{"step":3,"quote":"notes"},{"step":9,"quote":"a"},{"step":1,"quote":" "},{"quote":"312"}]}`)
	want := []string{"", "", notThere, notThere, "that step is no call of a tool", "there is no step 9 before this one", "it says nothing", "it is not of the form {step, quote}"}
	if diff := cmp.Diff(want, evidenceOf(t, r)); diff != "" || !o.OK || !o.Done {
		t.Errorf("ok %v, evidence (-want +got):\n%s", o.OK, diff)
	}
	if !strings.Contains(o.Warning, `step 1 "12 files": it is not there`) || strings.Contains(string(o.Args), "evidence") {
		t.Errorf("warning %q, args %s", o.Warning, o.Args)
	}
	if notes := d.State.Notes(); !strings.Contains(notes, `[COMPLETED] 42 cats [UNSUPPORTED step 1 "12 files"; step 1 "1000"; step 3 "notes";`) {
		t.Errorf("notes %s", notes)
	}
	if done := fmt.Sprint(d.State.Completed()); !strings.Contains(done, "unsupported:6") {
		t.Errorf("completed %s", done)
	}
}

// A note has evidence as done has, and a tool or a memory keeps what is its own.
func TestEvidenceOfNotes(t *testing.T) {
	d, r := newDispatcher(t, "notes: \"\"\n")
	d.Notes = "required"
	do(t, d, "say", `{"text":"7 dogs","task_scratchpad":""}`)
	o := do(t, d, "say", `{"text":"x","task_scratchpad":"8 dogs","evidence":{"step":1,"quote":"8 dogs"}}`)
	if notes := d.State.Notes(); !strings.Contains(notes, `[NOTE] 8 dogs [UNSUPPORTED step 1 "8 dogs"]`) || !strings.Contains(o.Warning, "unsupported") || !o.OK {
		t.Errorf("notes %s; warning %q, error %q", notes, o.Warning, o.Error)
	}
	if why := evidenceOf(t, r); len(why) != 1 || why[0] != notThere {
		t.Errorf("journal %q", why)
	}
	do(t, d, "update_scratchpad", `{"notes":"n","evidence":"my own"}`)
	if got := fmt.Sprint(r.events[len(r.events)-2]); !strings.Contains(got, "{set evidence my own}") || len(evidenceOf(t, r)) > 0 {
		t.Errorf("evidence is a key of the memory: %s", got)
	}
	own := say(true, "own")
	own.Raw = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"evidence":{"type":"array"}}}`)
	d.Tools, _ = tools.NewSet(own)
	if rest, list := d.takeEvidence("own", json.RawMessage(`{"evidence":[{"step":1,"quote":"a"}]}`)); len(list) > 0 {
		t.Errorf("the tool gets %s", rest)
	}
}

// What is parked is searched as a whole, and what is only in the view of it is not there.
func TestEvidenceParked(t *testing.T) {
	d, r := newDispatcher(t, "notes: \"\"\n")
	store, err := observation.Open(t.TempDir(), observation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	turn, err := store.Begin("20260401_150154", proc.Self())
	if err != nil {
		t.Fatal(err)
	}
	d.Turn = func() (*observation.Turn, error) { return turn, nil }
	text := strings.Repeat("a line of it\n", 20_000) + "the 4711 in the middle\n" + strings.Repeat("and more\n", 20_000)
	do(t, d, "say", fmt.Sprintf(`{"text":%q}`, text))
	parked := r.events[len(r.events)-1].(*journal.Result)
	do(t, d, "say", `{"text":"x","evidence":[{"step":1,"quote":"it the 4711 in"},{"step":1,"quote":"711 in"},{"step":1,"quote":"characters omitted"}]}`)
	if diff := cmp.Diff([]string{"", notThere, notThere}, evidenceOf(t, r)); diff != "" || len(parked.SHA256) != 64 {
		t.Errorf("sum %q (-want +got):\n%s", parked.SHA256, diff)
	}
}
