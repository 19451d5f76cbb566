package agent

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"rouse/agent/model"
	"rouse/agent/model/modeltest"
	"rouse/internal/disk"
	"rouse/journal"
)

var finished = modeltest.Reply{Action: json.RawMessage(act("done", `{"summary":"seen"}`)), Repeat: true}

// pair is an agent with a model and one to fall back on.
func (r *rig) pair(first, second *modeltest.Server) *Agent {
	a, _ := r.agent(unsynced{disk.OS{}})
	client := func(s *modeltest.Server, name string) Model {
		m, err := model.NewClient(model.Options{BaseURL: s.URL(), API: model.Chat, Name: name, Retries: 1, IdleTimeout: 200 * time.Millisecond, Key: "key"})
		r.must(err)
		return m
	}
	a.Model, a.ModelName, a.ModelID = client(first, "one"), "one", "one"
	a.Fallback = []Target{{client(second, "two"), "two", "two", ""}}
	a.Timeout = time.Minute
	return a
}

func servers(t *testing.T, first ...modeltest.Reply) (one, two *modeltest.Server) {
	t.Helper()
	one, two = modeltest.New(first...), modeltest.New(finished)
	t.Cleanup(one.Close)
	t.Cleanup(two.Close)
	return one, two
}

// asked are how often each was asked.
func count(one, two *modeltest.Server) [2]int {
	return [2]int{len(one.Requests()), len(two.Requests())}
}

// A model that refuses is not asked for half an hour; then it is.
func TestFallback(t *testing.T) {
	r := newRig(t, "", oldState)
	one, two := servers(t, modeltest.Reply{Status: 401, Text: "no such key"}, finished)
	a := r.pair(one, two)
	for i, want := range [][2]int{{1, 1}, {1, 2}, {2, 2}} {
		r.now = begun.Add(time.Duration(i) * 20 * time.Minute)
		report, err := a.RunOnce(t.Context())
		if err != nil || report.Exit != 0 || report.Silent {
			t.Fatalf("cycle %d: %+v %v", i, report, err)
		}
		if got := count(one, two); got != want {
			t.Errorf("cycle %d: asked %v, want %v", i, got, want)
		}
		list, err := Summaries(r.home, 1)
		r.must(err)
		instead := i < 2
		if s := list[0]; (s.Fallback != nil) != instead || instead && (s.Fallback.Name != "two" || !strings.Contains(s.Fallback.Reason, "no such key")) {
			t.Errorf("cycle %d: %+v", i, s.Fallback)
		}
		if said := len(list[0].Attention(r.home)) > 0; said != instead {
			t.Errorf("cycle %d: said %v", i, said)
		}
		r.wantModel(report.Cycle, map[bool]string{true: "two", false: "one"}[instead], instead)
	}
}

// wantModel wants the replies of a cycle to be of a model, which is named where it
// is not the first.
func (r *rig) wantModel(cycle, name string, named bool) {
	r.t.Helper()
	for _, e := range r.events(cycle) {
		switch d := e.Data.(type) {
		case *journal.Reply:
			if d.Model != name {
				r.t.Errorf("cycle %s: a reply of %s, want %s", cycle, d.Model, name)
			}
		case *journal.Model:
			named = !named
		}
	}
	if named {
		r.t.Errorf("cycle %s: the event model is wrong", cycle)
	}
}

// Once the model has answered the cycle stays with it; the next one asks another.
func TestNoFallbackInTheMiddle(t *testing.T) {
	r := newRig(t, "", oldState)
	one, two := servers(t, modeltest.Reply{Action: json.RawMessage(act("effect", `{"label":"a"}`))}, modeltest.Reply{Status: 402}, finished)
	a := r.pair(one, two)
	report, err := a.RunOnce(t.Context())
	if err != nil || report.Outcome != journal.Failed || count(one, two) != [2]int{2, 0} {
		t.Fatalf("%+v %v, asked %v", report, err, count(one, two))
	}
	r.now = r.now.Add(time.Minute)
	if report, err = a.RunOnce(t.Context()); err != nil || report.Exit != 0 || count(one, two) != [2]int{2, 1} {
		t.Errorf("%+v %v, asked %v", report, err, count(one, two))
	}
}

// What lets a cycle ask another model, and what does not.
func TestAway(t *testing.T) {
	for name, tt := range map[string]struct {
		reply modeltest.Reply
		away  bool
	}{
		"refused":     {modeltest.Reply{Status: 401}, true},
		"forbidden":   {modeltest.Reply{Status: 403}, true},
		"unpaid":      {modeltest.Reply{Status: 402}, true},
		"quota":       {modeltest.Reply{Status: 429, Text: "You exceeded your current quota, check your plan and billing details"}, true},
		"busy":        {modeltest.Reply{Status: 429, Text: "slow down"}, false},
		"overloaded":  {modeltest.Reply{Status: 503}, true},
		"silent":      {modeltest.Reply{Delay: "2s"}, true},
		"reset":       {modeltest.Reply{Text: "half of it", Cut: 20}, true},
		"bad request": {modeltest.Reply{Status: 400}, false},
		"unknown":     {modeltest.Reply{Status: 404}, false},
		"in 200":      {modeltest.Reply{Body: `{"error": {"message": "no credits left", "code": 402}}`}, true},
		"nonsense":    {modeltest.Reply{Body: "<html>"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "", oldState)
			tt.reply.Repeat = true
			one, two := servers(t, tt.reply)
			report, err := r.pair(one, two).RunOnce(t.Context())
			if err != nil || (report.Exit == 0) != tt.away || (len(two.Requests()) > 0) != tt.away {
				t.Errorf("%+v %v; asked %v", report, err, count(one, two))
			}
			if n := len(one.Requests()); n > 2 {
				t.Errorf("asked %d times before the other one", n)
			}
		})
	}
}

// Where all are away the cycle is silent, its failure names both, and the next one
// asks both again.
func TestAllAway(t *testing.T) {
	r := newRig(t, "", oldState)
	one, two := servers(t, modeltest.Reply{Status: 403, Text: "not you", Repeat: true})
	two.Close()
	a := r.pair(one, two)
	for i := range 2 {
		report, err := a.RunOnce(t.Context())
		if err != nil || !report.Silent || !strings.Contains(report.Err.Error(), "not you") || !strings.Contains(report.Err.Error(), "refused") || len(one.Requests()) != i+1 {
			t.Errorf("%+v %v; asked %d", report, err, len(one.Requests()))
		}
		r.now = r.now.Add(time.Minute)
	}
}

// What a fallback was sent can be rebuilt, also where it takes no tools and the first
// was asked before.
func TestRebuildFallback(t *testing.T) {
	r := newRig(t, "", oldState)
	one := modeltest.New(modeltest.Reply{Status: 402, Repeat: true})
	two := modeltest.New(modeltest.Reply{Status: 400, Text: "this model does not support tools"}, modeltest.Reply{Action: json.RawMessage(act("effect", `{"label":"a"}`))}, finished)
	defer one.Close()
	defer two.Close()
	for i, sent := range []int{1, 3} { // the second cycle begins with the fallback
		report, err := r.pair(one, two).RunOnce(t.Context())
		r.must(err)
		asked, err := Rebuild(r.home, report.Cycle, 1)
		if err != nil {
			t.Fatal(err)
		}
		body, err := asked.Body()
		if err != nil || !bytes.Equal(body, two.Requests()[sent].Body) {
			t.Errorf("cycle %d: %v: rebuilt\n%s\nsent\n%s", i, err, body, two.Requests()[sent].Body)
		}
		r.now = r.now.Add(time.Minute)
	}
}
