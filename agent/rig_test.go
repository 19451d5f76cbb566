package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rouse/agent/model"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/tools"
)

// begun is when the clock of a rig starts.
var begun = time.Date(2026, 4, 1, 15, 1, 54, 203_841_000, time.Local)

const oldState = `# what a person wrote
goals:   [ "see the house" ]  # always
current_task: look around
pending_actions:
  - write the report
rooms: {north: 012}
`

// whole are the replies of a whole cycle.
var whole = []string{
	act("effect", `{"label":"a"}`),
	act("update_scratchpad", `{"fact":42}`),
	act("effect", `{"label":"b"}`),
	act("done", `{"summary":"seen"}`),
}

func act(tool, args string) string { return fmt.Sprintf(`{"tool":%q,"args":%s}`, tool, args) }

// script is a model that answers with its replies in order.
type script struct {
	replies []string
	asked   int
	// during, unless nil, is called before each reply with its number.
	during func(i int)
}

func (m *script) Reply(_ context.Context, req model.Request) (model.Reply, error) {
	i := m.asked
	m.asked++
	if m.during != nil {
		m.during(i)
	}
	if i >= len(m.replies) {
		return model.Reply{}, errors.New("no more replies")
	}
	r := model.Reply{Text: m.replies[i], Finish: "stop", Usage: model.Usage{Input: 10, Output: 2}}
	if len(req.Tools) > 0 {
		r = native(r)
	}
	return r, nil
}

// native makes a call of a reply that is an action.
func native(r model.Reply) model.Reply {
	var a struct {
		Tool string
		Args json.RawMessage
	}
	if json.Unmarshal([]byte(r.Text), &a) == nil && a.Tool != "" {
		r.Text, r.Calls = "", []model.Call{{ID: "call", Name: a.Tool, Args: a.Args}}
	}
	return r
}

// rig is a home and what its tool did to the world outside it.
type rig struct {
	t    testing.TB
	home home.Home
	now  time.Time
	// ran has the label of each call of the tool effect that really happened.
	ran []string
}

// newRig makes a home in dir, which must not exist; "" means a fresh one.
func newRig(t testing.TB, dir, state string) *rig {
	t.Helper()
	if dir == "" {
		dir = filepath.Join(t.TempDir(), "home")
	}
	r := &rig{t: t, home: home.Home{Dir: dir}, now: begun}
	for _, d := range []string{r.home.Memory(), r.home.Logs()} {
		r.must(os.MkdirAll(d, 0o700))
	}
	r.must(os.WriteFile(r.home.Rules(), []byte("Be brief.\n"), 0o600))
	if state != "" {
		r.must(os.WriteFile(r.home.Active(), []byte(state), 0o600))
	}
	return r
}

// in is the rig in a copy of its home.
func (r *rig) in(dir string) *rig {
	return &rig{t: r.t, home: home.Home{Dir: dir}, now: r.now, ran: slices.Clone(r.ran)}
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// agent is an agent of the home whose model answers with these replies.
func (r *rig) agent(f disk.FS, replies ...string) (*Agent, *script) {
	type args struct {
		Label string `json:"label"`
	}
	effect := tools.New("effect", "Changes the world.", func(_ context.Context, _ tools.Call, a args) tools.Result {
		r.ran = append(r.ran, a.Label)
		return tools.Result{OK: true, Content: "did " + a.Label}
	})
	set, err := tools.NewSet(effect)
	r.must(err)
	m := &script{replies: replies}
	return &Agent{
		Keeper: Keeper{Home: r.home, Disk: f, Mark: "mark", Now: func() time.Time { return r.now }},
		Asking: Asking{Model: m, MaxIterations: 20, Timeout: time.Minute},
		Tools:  set,
	}, m
}

// wakeAgain runs a cycle on a healthy disk a minute later, which must go well.
func (r *rig) wakeAgain(context string) {
	r.t.Helper()
	r.now = r.now.Add(time.Minute)
	a, _ := r.agent(unsynced{disk.OS{}}, act("done", `{"summary":"went on"}`))
	report, err := a.RunOnce(r.t.Context())
	if err != nil || report.Exit != 0 {
		r.t.Fatalf("%s: the next wake: %+v, %v", context, report, err)
	}
}

func (r *rig) read(path string) string {
	r.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Fatal(err)
	}
	return string(data)
}

func (r *rig) active() string { return r.read(r.home.Active()) }

// state parses a state that must be whole.
func (r *rig) state(path string) *scratchpad.State {
	r.t.Helper()
	s, err := scratchpad.Load(path)
	r.must(err)
	return s
}

func (r *rig) cycles() []string {
	r.t.Helper()
	ids, err := r.home.Cycles(0)
	r.must(err)
	slices.Reverse(ids)
	return ids
}

func (r *rig) events(cycle string) (all []journal.Event) {
	r.t.Helper()
	for e, err := range journal.Read(r.home.Journal(cycle)) {
		r.must(err)
		all = append(all, e)
	}
	return all
}

// told counts how often the notes tell of the call with this label: as carried
// out, or as of unknown outcome.
func told(notes, label string) (done, unknown int) {
	call := fmt.Sprintf(`effect({"label":%q})`, label)
	for line := range strings.Lines(notes) {
		switch {
		case strings.HasPrefix(line, "[TOOL] "+call+" → error: not carried out"): // it never began
		case strings.HasPrefix(line, "[TOOL] "+call):
			done++
		case strings.HasPrefix(line, "[INTERRUPTED]") && strings.Contains(line, call):
			unknown++
		}
	}
	return done, unknown
}

// checkSettled wants a home in which nothing is left to do: no temporary file,
// and every cycle asleep with both its snapshots or, if it never began, none.
func (r *rig) checkSettled(context string) {
	r.t.Helper()
	for _, id := range r.cycles() {
		events := r.events(id)
		if len(events) == 0 || events[len(events)-1].Event != "sleep" {
			r.t.Fatalf("%s: cycle %s never slept", context, id)
		}
		if disk.Exists(r.home.Before(id)) != disk.Exists(r.home.After(id)) {
			r.t.Fatalf("%s: cycle %s has half a pair of snapshots", context, id)
		}
	}
	if left := r.temps(); len(left) > 0 {
		r.t.Fatalf("%s: temporary files are left: %q", context, left)
	}
}

func (r *rig) temps() (names []string) {
	entries, err := os.ReadDir(r.home.Memory())
	r.must(err)
	for _, e := range entries {
		if disk.IsTemp(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// unsynced spares the test machine's disk: syncing is for what comes after a
// loss of power, which [disktest.PowerLoss] models.
type unsynced struct{ disk.FS }

type unsyncedFile struct{ disk.File }

func (unsyncedFile) Sync() error { return nil }

func (unsynced) SyncDir(string) error { return nil }

func (u unsynced) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}
