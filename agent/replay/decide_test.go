package replay

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"rouse/agent"
	"rouse/agent/budget"
	"rouse/agent/config"
	"rouse/agent/model"
	"rouse/tools"
)

// In both protocols a model is asked each request as it was sent, under other rules where
// there are some, and what it would do is set beside what was done.
func TestDecide(t *testing.T) {
	for _, protocol := range []string{agent.ProtocolTools, agent.ProtocolJSON} {
		for _, notes := range []tools.NoteMode{tools.NoteRequired, tools.NoteOff} {
			r := newRig(t, 2)
			var sent []model.Request
			steps := []func(model.Request) model.Reply{
				func(req model.Request) model.Reply {
					return act(req, "effect", `{"label":"picture","task_scratchpad":"x"}`)
				},
				func(req model.Request) model.Reply { return act(req, "effect", `{"label":"<b>"}`) },
				func(model.Request) model.Reply { return model.Reply{Text: "so <be> it", Finish: "stop"} },
				func(req model.Request) model.Reply { return act(req, "done", `{"summary":"seen","idle":false}`) },
			}
			id := r.cycle(r.agent(asker(func(req model.Request) (model.Reply, error) {
				sent = append(sent, req)
				return steps[len(sent)-1](req), nil
			}), func(a *agent.Agent, _ *config.Config) { a.Protocol, a.Notes = protocol, notes }))
			now := []func(model.Request) (model.Reply, error){
				func(req model.Request) (model.Reply, error) {
					return act(req, "effect", `{ "task_scratchpad": "y", "label": "picture" }`), nil
				},
				func(req model.Request) (model.Reply, error) { return act(req, "effect", `{"label":"<c>"}`), nil },
				func(req model.Request) (model.Reply, error) { return act(req, "big", `{"n":1}`), nil },
				func(req model.Request) (model.Reply, error) { return model.Reply{}, errors.New("away") },
			}
			for _, rules := range []string{"", "Be < careful.\n"} {
				asked := 0
				who := &Asker{Price: budget.Price{Output: 1e9}, Priced: true, Model: asker(func(req model.Request) (model.Reply, error) {
					asked++
					was := sent[asked-1]
					if asked == 1 && rules == "" && req.Hash() != was.Hash() {
						t.Errorf("it is asked %v, not %v", req, was)
					}
					system := strings.Replace(was.Messages[0].Content, "Be <brief> & kind.", "Be < careful.", 1)
					if rules != "" && strings.TrimSpace(req.Messages[0].Content) != strings.TrimSpace(system) {
						t.Errorf("under other rules it is told %q, not %q", req.Messages[0].Content, system)
					}
					return now[asked-1](req)
				})}
				list, missing, err := Ask(r.home, []string{id}, rules, func(string) (*Asker, error) { return who, nil })
				if err != nil || len(missing) > 0 {
					t.Fatal(err, missing)
				}
				before := r.ran
				var got []string
				for _, q := range list {
					d, err := Decide(t.Context(), r.home, q)
					r.must(err)
					got = append(got, d.Verdict)
					if line, err := json.Marshal(d); err != nil {
						t.Errorf("%s: %v", line, err)
					}
				}
				if want := "same arguments another unasked"; strings.Join(got, " ") != want || r.ran != before {
					t.Errorf("%s, %s, %q: %v, want %s; %d calls", protocol, notes, rules, got, want, r.ran-before)
				}
				if e := Estimated(list, "USD"); e.Requests != 4 || e.Cycles != 1 || *e.Money != 60_000 || e.Output != 60 {
					t.Errorf("%+v", e)
				}
			}
		}
	}
}
