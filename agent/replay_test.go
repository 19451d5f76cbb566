package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"rouse/agent/model"
	"rouse/agent/model/modeltest"
	"rouse/internal/disk"
	"rouse/internal/redact"
	"rouse/internal/sweep"
	"rouse/journal"
	"rouse/tools"
)

// rebuildAll rebuilds all requests of a cycle and wants each to be one that a
// server received.
func rebuildAll(t *testing.T, r *rig, cycle string, bodies []modeltest.Request) (same int) {
	t.Helper()
	byIteration := map[int]int{} // the last main request
	for _, e := range r.events(cycle) {
		if q, ok := e.Data.(*journal.Request); ok && q.For == "" {
			byIteration[q.Iteration] = 1
		}
	}
	sent := map[string]bool{}
	for _, b := range bodies {
		sent[string(b.Body)] = true
	}
	for i := range byIteration {
		asked, err := Rebuild(r.home, cycle, i)
		if err != nil {
			t.Errorf("iteration %d: %v", i, err)
			continue
		}
		if err := asked.Fill(r.home); err != nil {
			t.Errorf("iteration %d: %v", i, err)
			continue
		}
		body, err := asked.Body()
		if err != nil || !sent[string(body)] {
			t.Errorf("iteration %d: %v: no such body was sent:\n%s", i, err, body)
			continue
		}
		same++
	}
	return same
}

// replies are those of a random cycle: calls of all kinds, some wrong, some twice
// the same, some with pictures, and failures that may pass.
func replies(rnd *rand.Rand, n int) (list []modeltest.Reply) {
	for i := range n {
		usage := &model.Usage{Input: 500 + rnd.IntN(3000), Output: 10}
		var r modeltest.Reply
		switch rnd.IntN(12) {
		case 0:
			r = modeltest.Reply{Text: "I think <so> & so"}
		case 1:
			r = modeltest.Reply{Status: 503, Text: "busy", Headers: map[string]string{"Retry-After": "0"}}
		case 2:
			r = modeltest.Reply{Action: json.RawMessage(fmt.Sprintf(`{"tool":"big","args":{"n":%d,"task_scratchpad":"fact %d"}}`, 1000+rnd.IntN(9000), i))}
		case 3:
			r = modeltest.Reply{Action: json.RawMessage(`{"tool":"draw","args":{}}`)}
		case 4:
			r = modeltest.Reply{Action: json.RawMessage(fmt.Sprintf(`{"tool":"update_scratchpad","args":{"pending_actions":["<a> & %d"],"fact":%d}}`, i, i))}
		case 5:
			r = modeltest.Reply{Action: json.RawMessage(`{"tool":"nosuch","args":{"a":"<b>"}}`)}
		case 6:
			r = modeltest.Reply{Action: json.RawMessage(`{ "tool" : "effect", "args" : { "label" : "<same>" } }`)}
		case 7:
			r = modeltest.Reply{Calls: []model.Call{
				{ID: "call_1", Name: "effect", Args: json.RawMessage(`{ "label":  "spaced <\u0061>" }`)},
				{ID: "call_1", Name: "big", Args: json.RawMessage(`{"n":2000}`)},
			}}
		default:
			r = modeltest.Reply{Action: json.RawMessage(fmt.Sprintf(`{"tool":"effect","args":{"label":"%d","task_scratchpad":"saw %d"}}`, i, i))}
		}
		if r.Status == 0 {
			r.Usage = usage
		}
		list = append(list, r)
	}
	return append(list, modeltest.Reply{Action: json.RawMessage(act("done", `{"summary":"seen"}`)), Repeat: true})
}

// talker is an agent of the rig that asks a server, with tools that give back
// texts of any size and pictures.
func (r *rig) talker(server *modeltest.Server) *Agent {
	a, _ := r.agent(unsynced{disk.OS{}})
	type size struct {
		N int `json:"n"`
	}
	big := tools.New("big", "Gives back much.", func(_ context.Context, _ tools.Call, s size) tools.Result {
		return tools.Result{OK: true, Content: strings.Repeat("many words <here> & there\n", s.N/26), Metadata: map[string]any{"n": s.N, "ratio": 1.5}}
	})
	draw := tools.New("draw", "Draws.", func(context.Context, tools.Call, struct{}) tools.Result {
		return tools.Result{OK: true, Content: "a picture", Media: []tools.Media{{Type: "image/png", Data: []byte("\x89PNG" + fmt.Sprint(len(r.ran)))}}}
	})
	set, err := tools.NewSet(append(a.Tools.All(), big, draw)...)
	r.must(err)
	m, err := model.NewClient(model.Options{BaseURL: server.URL(), Name: "m", Retries: 9, MaxOutput: 512})
	r.must(err)
	a.Tools, a.Model, a.ModelName, a.MaxOutput, a.ModelID = set, m, "m", 512, "m at home"
	a.MaxTokens, a.Notes, a.MaxIterations, a.Timeout = 4000, tools.NoteRequired, 15, time.Hour
	a.Now = func() time.Time { r.now = r.now.Add(1234 * time.Millisecond); return r.now }
	return a
}

// What the model saw can be rebuilt byte for byte: of random cycles in both
// protocols, with pruning, parking, pictures, retries, and requests that were too
// long or had tools that the server does not take.
func TestRebuild(t *testing.T) {
	seeds, same, met := sweep.Of(4, 12, 300), 0, map[string]int{}
	for seed := range uint64(seeds) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		state := oldState + "goals2: <x> & y\n"
		if seed%3 == 0 {
			state += "long: |\n" + strings.Repeat("  many words of an old memory <x>\n", 500)
		}
		r := newRig(t, t.TempDir()+"/home", state)
		r.must(os.WriteFile(r.home.Rules(), []byte("Be <brief> & kind.\n"), 0o600))
		list := replies(rnd, 10)
		if seed%4 == 1 {
			list = append([]modeltest.Reply{{Status: 400, Text: "m does not support tools"}}, list...)
		}
		if seed%4 == 2 {
			list = append(append(list[:3:3], modeltest.Reply{Status: 400, Text: "context length exceeded"}), list[3:]...)
		}
		server := modeltest.New(list...)
		a := r.talker(server)
		if seed%2 == 0 { // it has calls marshalled anew
			a.Redact = redact.FromEnv([]string{"A_TOKEN=nowhere-to-be-found"}, nil)
		}
		a.Protocol = []string{ProtocolAuto, ProtocolJSON}[seed%2]
		if seed%4 == 1 {
			a.Protocol = ProtocolAuto
		}
		report, err := a.RunOnce(t.Context())
		r.must(err)
		same += rebuildAll(t, r, report.Cycle, server.Requests())
		server.Close()
		for _, e := range r.events(report.Cycle) {
			met[e.Event]++
			if d, ok := e.Data.(*journal.Result); ok && len(d.Images) > 0 {
				met["pictures"]++
			}
			if d, ok := e.Data.(*journal.Reply); ok && d.Args != nil {
				met["spaced"]++
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d, %s", seed, a.Protocol)
		}
	}
	for _, what := range []string{"prune", "parked", "protocol", "retry", "pictures", "spaced"} {
		if met[what] == 0 {
			t.Errorf("no cycle had %s", what)
		}
	}
	t.Logf("%v", met)
	t.Logf("%d requests of %d cycles, byte for byte", same, seeds)
}

// A request cannot be rebuilt without what it was made of, and then it is said what
// is missing; nothing else is ever given in its place.
func TestRebuildSaysWhatIsMissing(t *testing.T) {
	r := newRig(t, "", oldState)
	server := modeltest.New(
		modeltest.Reply{Action: json.RawMessage(act("draw", `{}`))}, modeltest.Reply{Action: json.RawMessage(act("done", `{"summary":"seen"}`))})
	defer server.Close()
	a := r.talker(server)
	a.Redact = redact.FromEnv([]string{"A_TOKEN=the-house-in-the-north"}, nil)
	r.must(os.WriteFile(r.home.Active(), []byte(oldState+"place: the-house-in-the-north\n"), 0o600))
	report, err := a.RunOnce(t.Context())
	r.must(err)
	if same := rebuildAll(t, r, report.Cycle, server.Requests()); same != 2 { // no redactor: the journal says what was hidden
		t.Fatalf("%d requests", same)
	}
	asked, err := Rebuild(r.home, report.Cycle, 2)
	r.must(err)
	if len(asked.Pictures) != 1 || strings.Contains(fmt.Sprint(asked.Request), "the-house-in") {
		t.Errorf("%v", asked)
	}
	id := report.Cycle
	wants := func(want string) {
		t.Helper()
		if _, err := Rebuild(r.home, id, 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, not %v", want, err)
		}
	}
	// A cycle that was killed has what it came to.
	whole := r.read(r.home.Journal(id))
	at := strings.Index(whole, `"event":"reply"`)
	at = at + strings.Index(whole[at:], `"event":"request"`)
	at += strings.Index(whole[at:], "\n")
	r.must(os.WriteFile(r.home.Journal(id), []byte(whole[:at+20]), 0o600))
	if asked, err := Rebuild(r.home, id, 2); err != nil || asked.Said.Iteration != 2 {
		t.Errorf("killed: %v", err)
	}
	r.must(os.WriteFile(r.home.Journal(id), []byte(whole), 0o600))
	if _, err := Rebuild(r.home, id, 3); err == nil || !strings.Contains(err.Error(), "no such request") {
		t.Error(err)
	}
	r.must(os.WriteFile(r.home.Journal(id), []byte(strings.Replace(whole, "a picture", "a portrait", 1)), 0o600))
	wants("not what was sent")
	r.must(os.WriteFile(r.home.Journal(id), []byte(whole), 0o600))
	r.must(os.RemoveAll(r.home.Memory() + "/observations"))
	stores, err := os.ReadDir(r.home.Memory())
	r.must(err)
	for _, e := range stores {
		if strings.HasPrefix(e.Name(), "observations") {
			r.must(os.RemoveAll(r.home.Memory() + "/" + e.Name()))
		}
	}
	if err := asked.Fill(r.home); err == nil || !strings.Contains(err.Error(), "picture sha256 ") || !strings.Contains(err.Error(), "is gone") {
		t.Error(err)
	}
	r.must(os.RemoveAll(r.home.Made()))
	wants("rules: the copy ")
	old := regexp.MustCompile(`,"(sum|made)":("[^"]*"|\{[^}]*\})`).ReplaceAllString(whole, "")
	r.must(os.WriteFile(r.home.Journal(id), []byte(old), 0o600))
	wants("older rouse")
	r.must(os.Remove(r.home.Before(id)))
	wants("the memory as the cycle found it")
}
