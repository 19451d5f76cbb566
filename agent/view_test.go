package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rouse/agent/model"
	"rouse/internal/disk"
	"rouse/journal"
	"rouse/scratchpad/observation"
	"rouse/tools"
)

// listener is a model that keeps what it is asked.
type listener struct {
	script
	heard []model.Request
	// refuse, unless nil, gives an error in the place of the nth reply.
	refuse func(n int) error
}

func (m *listener) Reply(ctx context.Context, req model.Request) (model.Reply, error) {
	m.heard = append(m.heard, req)
	if m.refuse != nil {
		if err := m.refuse(len(m.heard)); err != nil {
			return model.Reply{}, err
		}
	}
	return m.script.Reply(ctx, req)
}

// listen runs a cycle and gives what the model was asked.
func (r *rig) listen(change func(*Agent, *listener), replies ...string) ([]model.Request, Report) {
	r.t.Helper()
	a, _ := r.agent(disk.OS{}, replies...)
	m := &listener{script: script{replies: replies}}
	a.Model = m
	change(a, m)
	report, err := a.RunOnce(r.t.Context())
	r.must(err)
	return m.heard, report
}

// TestLastTasksAreShown has more completed tasks than a model is shown.
func TestLastTasksAreShown(t *testing.T) {
	state := "current_task: look\ncompleted_tasks:\n"
	for i := range 50 {
		state += fmt.Sprintf("  - task number %d.\n", i)
	}
	r := newRig(t, "", state)
	heard, _ := r.listen(func(*Agent, *listener) {}, act("done", `{"summary":"seen"}`))
	first := heard[0].Messages[1].Content
	for want, n := range map[string]int{"task number 29.": 0, "task number 30.": 1, "task number 49.": 1, "Of 50 completed_tasks the last 20 are shown.": 1} {
		if strings.Count(first, want) != n {
			t.Errorf("%q is there %d times, want %d", want, strings.Count(first, want), n)
		}
	}
	if n := len(r.state(r.home.Active()).Completed()); n != 51 {
		t.Errorf("the memory holds %d tasks, want 51", n)
	}
}

// TestLargeMemoryIsShownInPart parks the largest values of a memory that does not
// fit, in both protocols. The memory itself is not touched, and what is parked
// can be read.
func TestLargeMemoryIsShownInPart(t *testing.T) {
	for _, protocol := range []string{ProtocolTools, ProtocolJSON} {
		state := "current_task: look\ngoals:\n  - " + strings.Repeat("a goal ", 3000) + "\nnotes: " + strings.Repeat("a note ", 5000) + "the newest\n"
		r := newRig(t, "", state)
		heard, report := r.listen(func(a *Agent, _ *listener) {
			a.MaxTokens, a.Protocol = 6000, protocol
		}, act("scratchpad_read", `{"scratchpad_id":"0000000000000000"}`), act("done", `{"summary":"seen"}`))
		first := heard[0].Messages[1].Content
		if n := strings.Count(first, "too long to be shown: scratchpad_id "); n != 2 || !strings.Contains(first, "the newest") || !strings.Contains(first, "current_task: look") {
			t.Errorf("%s: %d parts are parked:\n%s", protocol, n, first)
		}
		offered := fmt.Sprint(heard[len(heard)-1].Tools) + heard[len(heard)-1].Messages[1].Content
		if !strings.Contains(offered, "scratchpad_read") || report.Outcome != journal.Done {
			t.Errorf("%s: %+v", protocol, report)
		}
		if s := r.state(r.home.Active()); !strings.HasPrefix(s.Notes(), "a note a note ") || len(s.Goals()[0].(string)) < 20000 {
			t.Errorf("%s: the memory was changed: %.100q", protocol, s.Notes())
		}
	}
}

// A large memory is parked once for each of its versions: not anew in each cycle, a day
// after the other.
func TestLargeMemoryIsParkedOnce(t *testing.T) {
	state := "current_task: look\ngoals:\n  - " + strings.Repeat("a goal ", 30000) + "\n"
	r := newRig(t, "", state)
	var ids []string
	for i := range 4 {
		r.now = begun.AddDate(0, 0, i)
		replies := []string{act("done", `{"summary":"seen"}`)}
		if i == 2 {
			replies = append([]string{act("update_scratchpad", `{"goals":["`+strings.Repeat("a goal ", 31000)+`"]}`)}, replies...)
		}
		heard, report := r.listen(func(a *Agent, _ *listener) {
			a.MaxTokens, a.Observations.Now = 6000, func() time.Time { return r.now }
			a.Task = fmt.Sprint("look ", i)
		}, replies...)
		first := heard[0].Messages[1].Content
		_, rest, ok := strings.Cut(first, "scratchpad_id ")
		if !ok || report.Outcome != journal.Done {
			t.Fatalf("%+v: %.300s", report, first)
		}
		ids = append(ids, rest[:16])
		if _, err := Rebuild(r.home, report.Cycle, 1); err != nil {
			t.Error(err)
		}
	}
	if ids[0] != ids[1] || ids[1] != ids[2] || ids[2] == ids[3] {
		t.Errorf("parked as %q", ids)
	}
	store, err := observation.Open(r.home.Memory(), observation.Options{})
	r.must(err)
	defer store.Close()
	list, err := store.List(observation.Filter{Expired: true})
	if err != nil || len(list) > 2 {
		t.Errorf("%d entries, %v", len(list), err)
	}
}

// TestTooLongIsAnsweredOnce shortens a request that the server finds too long,
// and remembers it for later cycles.
func TestTooLongIsAnsweredOnce(t *testing.T) {
	for _, times := range []int{1, 2} {
		r := newRig(t, "", oldState)
		change := func(a *Agent, m *listener) {
			a.ModelID, a.Tools = "m", mustSet(t, a.Tools, talkative())
			m.refuse = func(n int) error {
				if n > 3 && n <= 3+times {
					return fmt.Errorf("400 Bad Request: %w", model.ErrTooLong)
				}
				return nil
			}
		}
		heard, report := r.listen(change, act("talk", `{"n":1}`), act("talk", `{"n":2}`), act("talk", `{"n":3}`), act("done", `{"summary":"seen"}`))
		if want := map[int]string{1: journal.Done, 2: journal.Failed}[times]; report.Outcome != want {
			t.Fatalf("refused %d times: %+v", times, report)
		}
		if long, short := size(heard[3]), size(heard[4]); short >= long {
			t.Errorf("%d bytes, then %d", long, short)
		}
		if text := r.read(r.home.Models()); !strings.Contains(text, `"max_tokens"`) {
			t.Errorf("not remembered: %s", text)
		}
	}
}

// TestTooLongMemory shows less of a memory that the server finds too long: in
// the request that follows, and in later cycles from the first one on.
func TestTooLongMemory(t *testing.T) {
	for _, protocol := range []string{ProtocolTools, ProtocolJSON} {
		state := "current_task: look\nplan: " + strings.Repeat("a house with rooms ", 2000) + "the end\n"
		r := newRig(t, "", state)
		for cycle, want := range [][]bool{{true, false}, {false}} {
			var refused []bool
			r.listen(func(a *Agent, m *listener) {
				a.ModelID, a.Protocol, a.Task = "m", protocol, "look"
				m.refuse = func(n int) error {
					refused = append(refused, size(m.heard[n-1]) > 20000)
					if refused[n-1] {
						return fmt.Errorf("400 Bad Request: %w", model.ErrTooLong)
					}
					return nil
				}
			}, act("done", `{"summary":"seen"}`))
			if diff := cmp.Diff(want, refused); diff != "" {
				t.Errorf("%s, cycle %d: refused requests: %s", protocol, cycle, diff)
			}
			r.now = r.now.Add(time.Minute)
		}
		if !strings.Contains(r.active(), "the end") {
			t.Errorf("%s: the memory was changed", protocol)
		}
	}
}

func size(r model.Request) (n int) {
	for _, m := range r.Messages {
		n += len(m.Content)
	}
	return n
}

// talkative is a tool that says much.
func talkative() tools.Tool {
	type args struct {
		N int `json:"n"`
	}
	return tools.New("talk", "Talks.", func(_ context.Context, _ tools.Call, a args) tools.Result {
		return tools.Result{OK: true, Content: strings.Repeat(fmt.Sprintf("word %d ", a.N), 400)}
	})
}

func mustSet(t *testing.T, s *tools.Set, more ...tools.Tool) *tools.Set {
	t.Helper()
	set, err := tools.NewSet(append(s.All(), more...)...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestSummary lets a model sum up a large text; where it fails, the view is as
// it would have been.
func TestSummary(t *testing.T) {
	long := tools.New("long", "Says much.", func(_ context.Context, c tools.Call, _ struct{}) tools.Result {
		for i := range 3000 {
			fmt.Fprintf(c.Output, "line %d of many, and nothing else\n", i)
		}
		return tools.Result{OK: true}
	})
	for _, fails := range []bool{false, true} {
		r := newRig(t, "", oldState)
		heard, report := r.listen(func(a *Agent, m *listener) {
			a.Summaries, a.MaxTokens, a.Tools = true, 8000, mustSet(t, a.Tools, long)
			if fails {
				m.replies = []string{m.replies[0], m.replies[2]}
				m.refuse = func(n int) error {
					if n == 2 {
						return errors.New("overloaded")
					}
					return nil
				}
			}
		}, act("long", `{}`), "Three thousand lines, all alike.", act("done", `{"summary":"seen"}`))
		if report.Outcome != journal.Done || len(heard) != 3 {
			t.Fatalf("%+v after %d requests", report, len(heard))
		}
		if asked := heard[1].Messages[1].Content; len(asked) > 40_000 || !strings.Contains(asked, "line 0 of many") || !strings.Contains(asked, "bytes left out") || len(heard[1].Tools) > 0 {
			t.Errorf("%d bytes asked: %.200s", len(asked), asked)
		}
		view := heard[2].Messages[len(heard[2].Messages)-1].Content
		if strings.Contains(view, "Summary by a model: Three thousand lines, all alike.") == fails || !strings.Contains(view, "line 2999 of many") {
			t.Errorf("fails %v: %s", fails, view)
		}
	}
}

// TestUrge tells the model to come to an end before it has to.
func TestUrge(t *testing.T) {
	r := newRig(t, "", oldState)
	var replies []string
	for i := range 10 {
		replies = append(replies, act("effect", fmt.Sprintf(`{"label":"%d"}`, i)))
	}
	heard, report := r.listen(func(a *Agent, _ *listener) { a.MaxIterations, a.Timeout = 10, time.Hour }, replies...)
	for i, req := range heard {
		if told := strings.Contains(fmt.Sprint(req.Messages), "Come to an end"); told != (i >= 8) {
			t.Errorf("request %d: told %v", i+1, told)
		}
	}
	if report.Exit != 3 {
		t.Errorf("%+v", report)
	}
}
