package conversation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rouse/agent/model"
	"rouse/dispatcher"
	"rouse/internal/sweep"
	"rouse/tools"
)

// shelf keeps what leaves a conversation in memory.
type shelf struct{ texts map[string]string }

func (s *shelf) Park(o dispatcher.Observation) (dispatcher.Observation, error) {
	if o.ScratchpadID != "" {
		return o, nil
	}
	id, err := s.ParkText(o.Tool, fmt.Sprint(o.Content))
	o.ScratchpadID, o.SizeBytes, o.Content = id, int64(len(s.texts[id])), nil
	return o, err
}

func (s *shelf) ParkText(_, text string) (string, error) {
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	id := fmt.Sprintf("%016x", len(s.texts)+1)
	s.texts[id] = text
	return id, nil
}

// talker drives a conversation as a cycle does.
type talker struct {
	t    *testing.T
	c    *Native
	s    *shelf
	step int
}

func newTalker(t *testing.T, limit int) *talker {
	s := &shelf{}
	return &talker{t: t, s: s, c: &Native{Options: Options{Rules: "Be good.", Notes: tools.NoteRequired, MaxTokens: limit, Park: s.Park, ParkText: s.ParkText}}}
}

// round is one iteration: calls with one note, and their results.
func (k *talker) round(note string, results ...string) (model.Request, Pruned) {
	k.t.Helper()
	r, p, err := k.c.Request(turn())
	if err != nil {
		k.t.Fatal(err)
	}
	valid(k.t, r)
	reply := model.Reply{Text: "thinking"}
	for range results {
		args, _ := json.Marshal(map[string]string{"path": "x", "task_scratchpad": note})
		reply.Calls = append(reply.Calls, model.Call{ID: "same", Name: "read", Args: args})
	}
	actions, err := k.c.Actions(reply)
	if err != nil || len(actions) != min(len(results), maxCalls) {
		k.t.Fatalf("%d actions, %v", len(actions), err)
	}
	for i := range actions {
		k.step++
		k.c.Add(dispatcher.Observation{Step: k.step, Tool: "read", OK: true, Content: results[i]})
	}
	return r, p
}

// valid wants what servers want: each call answered once, right behind it, by
// its id, and no id twice.
func valid(t *testing.T, r model.Request) {
	t.Helper()
	seen := map[string]bool{}
	var open []string
	for i, m := range r.Messages {
		if m.Role == model.Result {
			if !slices.Contains(open, m.Call) {
				t.Fatalf("message %d answers %q, of %q", i, m.Call, open)
			}
			open = slices.DeleteFunc(open, func(id string) bool { return id == m.Call })
			continue
		}
		if len(open) > 0 {
			t.Fatalf("message %d, and no answer to %q", i, open)
		}
		for _, c := range m.Calls {
			if seen[c.ID] || c.ID == "" {
				t.Fatalf("id %q twice", c.ID)
			}
			seen[c.ID] = true
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		t.Fatalf("no answer to %q", open)
	}
}

// TestNativeOnlyGrows compares each request with the one before: it is its
// beginning, byte for byte.
func TestNativeOnlyGrows(t *testing.T) {
	k := newTalker(t, 0)
	last, _ := k.round("", "one")
	for i := range 20 {
		r, p := k.round(fmt.Sprintf("fact %d", i), "x", "y")
		if len(p.Steps) > 0 {
			t.Fatalf("pruned %v", p.Steps)
		}
		if diff := cmp.Diff(last.Messages, r.Messages[:len(last.Messages)]); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(last.Tools, r.Tools); diff != "" {
			t.Fatal(diff)
		}
		last = r
	}
}

// TestNativePrunes fills a small conversation for long, and looks after each
// request at what the model can still get at.
func TestNativePrunes(t *testing.T) {
	for _, limit := range []int{4000, 8000, 32000} {
		k := newTalker(t, limit)
		pruned, folded, batches := 0, 0, 0
		for i := range 300 {
			fact := fmt.Sprintf("fact-%d-%d", i, i*7919)
			r, p := k.round("noted "+fact, fact+strings.Repeat(" a line of a log, 12:30\n", 10+i%50))
			pruned, folded = pruned+len(p.Steps), folded+p.Folded
			if len(p.Steps) > 0 {
				batches++
			}
			if got := int(float64(estRequest(r)) * margin); got > limit+1 || p.Tokens > limit {
				t.Fatalf("limit %d, iteration %d: %d tokens, said %d", limit, i, got, p.Tokens)
			}
		}
		k.reachable(300)
		if batches == 0 || folded == 0 || batches > 150 {
			t.Errorf("limit %d: %d batches, %d folded", limit, batches, folded)
		}
		t.Logf("limit %d: %d results pruned in %d batches, %d iterations folded, %d parked", limit, pruned, batches, folded, len(k.s.texts))
	}
}

// TestNativeKeepsNotes parks the lines of calls before what the model noted of them.
func TestNativeKeepsNotes(t *testing.T) {
	k := newTalker(t, 32000)
	var r model.Request
	for i := range 200 {
		r, _ = k.round(fmt.Sprintf("door %03d opens at %d", i, i%10), strings.Repeat(" a line of a log, 12:30\n", 60))
	}
	text, err := json.Marshal(r.Messages)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 199 {
		if note := fmt.Sprintf("door %03d opens", i); !strings.Contains(string(text), note) {
			t.Fatalf("%q is lost, though all notes are 4 kB", note)
		}
	}
	for i := range sweep.Of(500, 3000, 3000) { // which do not fit
		r, p := k.round(fmt.Sprintf("gate %04d is shut", i), "x")
		if notes, _ := k.c.folded.cost(); notes > 8000 || p.Tokens > 32000 {
			t.Fatalf("iteration %d: %d tokens of notes in %d", i, notes, estRequest(r))
		}
	}
}

// reachable wants each fact of a result to be shown, or parked under an id that
// is shown or stands in something that is.
func (k *talker) reachable(facts int) {
	k.t.Helper()
	r, _, err := k.c.Request(turn())
	if err != nil {
		k.t.Fatal(err)
	}
	var all strings.Builder
	for _, m := range r.Messages {
		all.WriteString(m.Content)
		for _, c := range m.Calls {
			all.Write(c.Args)
		}
	}
	for text, more := all.String(), true; more; text = all.String() {
		more = false
		for id, parked := range k.s.texts {
			if strings.Contains(text, id) && !strings.Contains(text, "\n<"+id+">") {
				all.WriteString("\n<" + id + ">" + parked)
				more = true
			}
		}
	}
	for i := range facts {
		if fact := fmt.Sprintf("fact-%d-%d", i, i*7919); strings.Count(all.String(), fact) < 2 {
			k.t.Errorf("%s, noted and found, can be read %d times", fact, strings.Count(all.String(), fact))
		}
	}
}

// TestNativeStub is what a model reads in the place of a result.
func TestNativeStub(t *testing.T) {
	k := newTalker(t, 4000)
	k.round("", "the port is 4711 "+strings.Repeat("word ", 1500))
	k.round("port 4711", strings.Repeat("word ", 1000))
	k.round("", "small")
	for range 3 {
		k.round("", strings.Repeat("word ", 300))
	}
	r, _ := k.round("", "x")
	got := r.Messages[3].Content
	want := `{"step":1,"ok":true,"scratchpad_id":"0000000000000001","size_bytes":7519,` +
		`"_note":"Pruned: what read gave back, 7519 bytes. Read it again with scratchpad_read. Facts you recorded: port 4711"}`
	if got != want {
		t.Errorf("%s", got)
	}
}

// TestNativeHuge gives more at once than a request may hold.
func TestNativeHuge(t *testing.T) {
	k := newTalker(t, 8000)
	results := make([]string, 100)
	for i := range results {
		results[i] = strings.Repeat("word ", 3000)
	}
	k.round("", results...)
	r, p := k.round("", "x")
	if p.Tokens > 8000 || len(p.Steps) == 0 {
		t.Errorf("%d tokens, pruned %v", p.Tokens, p.Steps)
	}
	if n := strings.Count(fmt.Sprint(r.Messages), "not carried out"); n != 100-maxCalls {
		t.Errorf("%d calls are said not to be carried out", n)
	}
}

func TestNativeShrinks(t *testing.T) {
	k := newTalker(t, 0)
	for range 5 {
		k.round("", strings.Repeat("word ", 2000))
	}
	before, _ := k.round("", "x")
	k.c.Shrink()
	after, p := k.round("", "x")
	if got, was := estRequest(after), estRequest(before); got > was*3/4 || len(p.Steps) == 0 {
		t.Errorf("%d tokens after %d", got, was)
	}
}

// TestNativeIsCorrected takes the server's count for truth.
func TestNativeIsCorrected(t *testing.T) {
	c := &Native{}
	first, p, _ := c.Request(turn())
	if want := int(float64(estRequest(first)) * margin); p.Tokens != want {
		t.Errorf("%d tokens, want %d", p.Tokens, want)
	}
	_, _ = c.Actions(model.Reply{Usage: model.Usage{Input: 3 * estRequest(first)}})
	_, p, _ = c.Request(turn())
	if p.Tokens < 3*estRequest(first) {
		t.Errorf("%d tokens after the server counted %d", p.Tokens, 3*estRequest(first))
	}
}

func TestNativePicturesAreShownOnce(t *testing.T) {
	k := newTalker(t, 0)
	k.round("", "x")
	_, _ = k.c.Actions(model.Reply{Calls: []model.Call{{Name: "plot", Args: json.RawMessage(`{}`)}}})
	k.c.Add(dispatcher.Observation{Step: 9, OK: true, Content: "a plot", Images: []tools.Media{{Type: "image/png", Data: []byte("png")}}})
	for i, want := range []int{1, 0, 0} {
		r := ask(t, k.c, turn())
		n := 0
		for _, m := range r.Messages {
			n += len(m.Images)
		}
		if n != want {
			t.Errorf("request %d has %d pictures, want %d", i, n, want)
		}
		valid(t, r)
	}
}

// A picture that the server counts high prunes nothing that the model has not seen.
func TestPictureCountedHigh(t *testing.T) {
	for _, protocol := range []string{"tools", "json"} {
		opt := Options{Rules: "Be good.", MaxTokens: 20000}
		var c interface {
			Request(Turn) (model.Request, Pruned, error)
			Actions(model.Reply) ([]dispatcher.Action, error)
			Add(dispatcher.Observation)
		} = &Native{Options: opt}
		if protocol == "json" {
			c = &JSON{Options: opt}
		}
		call := model.Reply{Text: `{"tool":"read","args":{}}`, Calls: []model.Call{{Name: "read", Args: json.RawMessage(`{}`)}}}
		for i := range 4 {
			o := dispatcher.Observation{Step: i + 1, OK: true, Content: strings.Repeat("a word ", 500)}
			if i == 1 {
				o.Images = []tools.Media{{Type: "image/png", Data: []byte("png")}}
			}
			r, p, err := c.Request(turn())
			if err != nil || len(p.Steps) > 0 {
				t.Fatalf("%s: request %d lost %v, %v", protocol, i, p.Steps, err)
			}
			reply := call
			if reply.Usage.Input = estRequest(r); i == 2 {
				reply.Usage.Input += 36000 // as some count one picture
			}
			if _, err := c.Actions(reply); err != nil {
				t.Fatal(err)
			}
			c.Add(o)
		}
		if _, p, _ := c.Request(turn()); len(p.Steps) > 0 {
			t.Errorf("%s: %v are gone", protocol, p.Steps)
		}
	}
}

func TestNativeUrges(t *testing.T) {
	k := newTalker(t, 0)
	k.round("", "x")
	for range 3 {
		tn := turn()
		tn.Urge = "Come to an end."
		r := ask(t, k.c, tn)
		if n := strings.Count(fmt.Sprint(r.Messages), "Come to an end."); n != 1 {
			t.Errorf("said %d times", n)
		}
	}
}

// TestNativeAnyCourse drives conversations of every kind.
func TestNativeAnyCourse(t *testing.T) {
	for seed := range sweep.Of[uint64](20, 200, 200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		k := newTalker(t, 4000+rnd.IntN(20000))
		for range rnd.IntN(60) {
			if rnd.IntN(10) == 0 {
				if _, err := k.c.Actions(model.Reply{Text: "prose", Finish: []string{"stop", "length"}[rnd.IntN(2)]}); err == nil {
					t.Fatal("prose is an action")
				}
				continue
			}
			results := make([]string, rnd.IntN(6)+1)
			for i := range results {
				results[i] = strings.Repeat("word 17 ", rnd.IntN(1+rnd.IntN(2000)))
			}
			if k.step == 0 {
				ask(t, k.c, turn())
			}
			k.round([]string{"", "a note"}[rnd.IntN(2)], results...)
		}
		r, p, err := k.c.Request(turn())
		if err != nil || p.Tokens > k.c.MaxTokens {
			t.Fatalf("seed %d: %d tokens of %d, %v", seed, p.Tokens, k.c.MaxTokens, err)
		}
		valid(t, r)
	}
}
