package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"rouse/agent"
	"rouse/agent/check"
	"rouse/agent/config"
	"rouse/agent/model"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/redact"
	"rouse/scratchpad/observation"
	"rouse/tools"
)

func TestMain(m *testing.M) { disktest.Main(m) }

// rig is a home in which cycles are recorded.
type rig struct {
	t    testing.TB
	home home.Home
	rnd  *rand.Rand
	now  time.Time
	stop func(error) // ends the cycle that runs
	ran  int         // calls that were carried out
	hide *redact.Redactor
}

const memory = `# what a person wrote
goals:   [ "see the house" ]  # always
current_task: look around
pending_actions:
  - write the <report> & go
rooms: {north: 012}
key: the-house-in-the-north
`

func newRig(t testing.TB, seed uint64) *rig {
	t.Helper()
	r := &rig{t: t, home: home.Home{Dir: t.TempDir()}, rnd: rand.New(rand.NewPCG(seed, 7)), now: time.Date(2026, 4, 1, 15, 1, 54, 0, time.Local)}
	if seed%2 == 0 {
		r.hide = redact.FromEnv([]string{"A_TOKEN=the-house-in-the-north"}, nil)
	}
	r.must(r.home.MakeFolders(disk.Unsynced{}))
	r.must(os.WriteFile(r.home.Rules(), []byte("Be <brief> & kind.\n"), 0o600))
	r.must(os.WriteFile(r.home.Active(), []byte(memory), 0o600))
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) read(path string) string {
	data, err := os.ReadFile(path)
	r.must(err)
	return string(data)
}

// asker is a model that is a function.
type asker func(model.Request) (model.Reply, error)

func (f asker) Reply(_ context.Context, req model.Request) (model.Reply, error) { return f(req) }

// act is a reply that asks for one tool, natively where there are tools.
func act(req model.Request, tool, args string) model.Reply {
	r := model.Reply{Finish: "stop", Usage: model.Usage{Input: 500, Output: 20}}
	if len(req.Tools) > 0 {
		r.Calls = []model.Call{{ID: "call", Name: tool, Args: json.RawMessage(args)}}
	} else {
		r.Text = fmt.Sprintf(`{"tool":%q,"args":%s}`, tool, args)
	}
	return r
}

// agent is one whose calls have effects that nothing could give twice.
func (r *rig) agent(m agent.Model, change func(*agent.Agent, *config.Config)) *agent.Agent {
	type size struct {
		N int `json:"n"`
	}
	type label struct {
		Label string `json:"label"`
	}
	big := tools.New("big", "Gives back much.", func(_ context.Context, _ tools.Call, s size) tools.Result {
		r.ran++
		return tools.Result{OK: true, Content: strings.Repeat(fmt.Sprintf("words <here> & there %d\n", r.ran), s.N/22), Metadata: map[string]any{"n": s.N, "ratio": 1.5, "big": strings.Repeat("x", s.N/50)}}
	})
	effect := tools.New("effect", "Changes the world.", func(_ context.Context, _ tools.Call, a label) tools.Result {
		r.ran++
		switch {
		case a.Label == "kill" && r.stop != nil:
			r.stop(agent.Signal{Signal: syscall.SIGTERM})
		case a.Label == "edit":
			text := strings.Replace(r.read(r.home.Active()), "goals:", fmt.Sprintf("edited%d: by a person\ngoals:", r.ran), 1)
			r.must(os.WriteFile(r.home.Active(), []byte(text), 0o600))
		case a.Label == "same":
			return tools.Result{OK: true, Content: "as ever"}
		case strings.HasPrefix(a.Label, "bad"):
			return tools.Fail("it is broken <%d>", r.ran)
		case a.Label == "picture":
			return tools.Result{OK: true, Content: "a picture", Media: []tools.Media{{Type: "image/png", Data: fmt.Appendf(nil, "\x89PNG%d", r.ran)}}}
		case a.Label == "bytes":
			return tools.Result{OK: true, Content: "half a character \xc3"}
		}
		return tools.Result{OK: true, Content: fmt.Sprintf("did %s, the %d. of all, in the-house-in-the-north", a.Label, r.ran)}
	})
	effect.Verbatim = []string{"label"}
	set, err := tools.NewSet(effect, big)
	r.must(err)
	c := config.Default()
	a := &agent.Agent{
		Keeper: agent.Keeper{Home: r.home, Disk: disk.Unsynced{}, Redact: r.hide, Now: r.tick},
		Asking: agent.Asking{Model: m, ModelName: "m", ModelID: "m", MaxIterations: 15, Timeout: time.Hour, MaxTokens: 4000, Notes: tools.NoteRequired},
		Tools:  set, Observations: observation.Options{TTL: 10 * 365 * 24 * time.Hour, Now: func() time.Time { return r.now }},
	}
	if change != nil {
		change(a, &c)
	}
	a.Checks.World = func(began time.Time) (check.World, error) {
		return check.World{Began: began, Redact: r.hide, Open: func(path string, _ bool) (*os.File, error) { return os.Open(path) }, Run: func(context.Context, check.Check, tools.Call) error {
			if r.ran++; r.rnd.IntN(3) == 0 {
				return fmt.Errorf("%w: no such program <%d>", check.ErrStuck, r.ran)
			}
			return nil
		}}, nil
	}
	a.Locked, a.NotesMax, a.CompletedMax = c.Cycle.Locked, int(c.Cycle.NotesMax), int(c.Cycle.CompletedMax)
	a.Waking.Min, a.Waking.Max = time.Duration(c.Cycle.NextWake.Min), time.Duration(c.Cycle.NextWake.Max)
	a.Config = c.Held()
	return a
}

func (r *rig) tick() time.Time {
	r.now = r.now.Add(1234 * time.Millisecond)
	return r.now
}

// cycle records one, and gives its id.
func (r *rig) cycle(a *agent.Agent) string {
	r.t.Helper()
	ctx, cancel := context.WithCancelCause(r.t.Context())
	defer cancel(nil)
	r.stop = cancel
	report, err := a.RunOnce(ctx)
	if _, dies := a.Disk.(*disktest.Faulty); !dies && !errors.As(err, new(*agent.Conflict)) {
		r.must(err)
		return report.Cycle
	}
	newest, err := r.home.Newest()
	r.must(err)
	return newest
}

// random is a model that does all sorts of things, and at last is done.
func (r *rig) random(most int) asker {
	asked := 0
	return func(req model.Request) (model.Reply, error) {
		if asked++; asked >= most {
			return act(req, "done", `{"summary":"seen {{step1.content}}","evidence":[{"step":1,"quote":"did"},{"step":2,"quote":"words <here> & there"}]}`), nil
		}
		i, n := asked, r.rnd.IntN(100)
		note := fmt.Sprintf(`"task_scratchpad":"fact %d"`, i)
		switch r.rnd.IntN(22) {
		case 0:
			return model.Reply{Text: "I think <so> & so", Finish: "stop"}, nil
		case 1:
			return act(req, "big", fmt.Sprintf(`{"n":%d,%s}`, 1000+100*n, note)), nil
		case 2:
			return act(req, "effect", `{"label":"picture"}`), nil
		case 3:
			return act(req, "update_scratchpad", fmt.Sprintf(`{"pending_actions":["<a> & %d"],"fact":%d,"notes":"new {{step1.ok}}"}`, i, i)), nil
		case 4:
			return act(req, "nosuch", `{"a":"<b>"}`), nil
		case 5:
			return act(req, "effect", `{"label":"same"}`), nil
		case 6:
			return act(req, "effect", `{"label":"{{step1.content}}"}`), nil
		case 7:
			return act(req, "effect", `{"label":7}`), nil
		case 8:
			return act(req, "update_scratchpad", `{"goals":[],"next_wake":"2h"}`), nil
		case 9:
			return act(req, "scratchpad_read", `{"scratchpad_id":"nowhere","mode":"head"}`), nil
		case 10:
			return act(req, "effect", fmt.Sprintf(`{"label":"bad %d"}`, n)), nil
		case 11:
			return act(req, "update_scratchpad", `{"completed_tasks":["one thing","another"]}`), nil
		case 12:
			many := act(req, "effect", fmt.Sprintf(`{ "label":  "spaced <\u0061>",%s}`, note))
			if len(many.Calls) > 0 {
				many.Calls = append(many.Calls, model.Call{ID: "call", Name: "big", Args: json.RawMessage(`{"n":2000}`)}, many.Calls[0])
			}
			return many, nil
		case 13:
			if n < 30 {
				return act(req, "done", `{"summary":"early & <well>","idle":true}`), nil
			}
			return act(req, "effect", `{"label":"bytes"}`), nil
		case 14:
			switch {
			case n < 10:
				return act(req, "effect", `{"label":"kill"}`), nil
			case n > 80:
				return act(req, "effect", `{"label":"edit","task_scratchpad":"it gave","evidence":[{"step":1,"quote":"of all"}]}`), nil
			case n < 20:
				return model.Reply{}, errors.New("the model is away: 503 <busy>")
			case n < 30:
				return model.Reply{}, fmt.Errorf("it has 9000 tokens: %w", model.ErrTooLong)
			case n < 50 && len(req.Tools) > 0:
				return model.Reply{}, fmt.Errorf("m takes none: %w", model.ErrNoTools)
			}
		}
		return act(req, "effect", fmt.Sprintf(`{"label":"%d",%s}`, i, note)), nil
	}
}
