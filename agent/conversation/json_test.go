package conversation

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rouse/agent/model"
	"rouse/dispatcher"
	"rouse/internal/redact"
	"rouse/tools"
)

func turn() Turn {
	return Turn{
		Tools:     []tools.Tool{tools.Echo()},
		State:     func() (Memory, error) { return Memory{YAML: []byte("goals: []\ncurrent_task: look\n")}, nil },
		Iteration: 2, Of: 20, Left: 14*time.Minute + 400*time.Millisecond,
		Now: time.Date(2026, 4, 1, 15, 1, 54, 0, time.FixedZone("", 7200)),
	}
}

// The offline model and people read this text: its form is fixed.
func TestRequest(t *testing.T) {
	c := &JSON{Options: Options{Rules: "Be good."}}
	c.Add(dispatcher.Observation{Step: 1, Tool: "echo", Args: json.RawMessage(`{"message":"a<b"}`), OK: true, Content: "ECHO: a<b\n```\n"})
	if _, err := c.Actions(model.Reply{Text: "hm"}); err == nil {
		t.Error("prose is an action")
	}
	r := ask(t, c, turn())
	if r.Messages[0].Role != "system" || r.Messages[0].Content != "Be good." {
		t.Errorf("system message %+v", r.Messages[0])
	}
	text := r.Messages[1].Content
	for _, want := range []string{
		"Time: 2026-04-01 15:01:54 +02:00 Wednesday\nIteration 2 of 20; 14m0s left in this cycle.\n",
		"\nState (scratchpad/active.yaml):\n```yaml\ngoals: []\ncurrent_task: look\n```\n",
		"\nTools:\n- echo: ",
		`args: {"type":"object","properties":{"message":`,
		"\nResults:\n" + `{"step":1,"tool":"echo","args":{"message":"a<b"},"ok":true,"content":"ECHO: a<b\n` + "```" + `\n"}` + "\n",
		"Your last reply held no valid action: no JSON object in the reply",
		"Work on current_task.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// asked is either protocol.
type asked interface {
	Request(Turn) (model.Request, Pruned, error)
}

func ask(t *testing.T, c asked, turn Turn) model.Request {
	t.Helper()
	r, _, err := c.Request(turn)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestChoose(t *testing.T) {
	for _, c := range []asked{&JSON{}, &Native{}} {
		tn := turn()
		tn.Choose = true
		if text := ask(t, c, tn).Messages[1].Content; !strings.Contains(text, "Choose one that serves the goals") {
			t.Error(text)
		}
	}
}

func TestStateThatCannotBeShown(t *testing.T) {
	for _, c := range []asked{&JSON{}, &Native{}} {
		tn := turn()
		tn.State = func() (Memory, error) { return Memory{}, errors.New("no state") }
		if _, _, err := c.Request(tn); err == nil {
			t.Errorf("%T: no error", c)
		}
	}
}

func TestOnlyTheLatestResults(t *testing.T) {
	c := &JSON{}
	for step := range 5 {
		if _, err := c.Actions(model.Reply{Text: `{"tool": "t", "args": {}}`}); err != nil {
			t.Fatal(err)
		}
		c.Add(dispatcher.Observation{Step: step + 1, Tool: "t", OK: true, Content: "x"})
	}
	text := ask(t, c, turn()).Messages[1].Content
	var steps []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, `{"step":`) {
			steps = append(steps, line[8:9])
		}
	}
	if diff := cmp.Diff([]string{"3", "4", "5"}, steps); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(text, "no valid action") {
		t.Error("a problem outlives a good reply")
	}
}

// TestJSONEarlier tells what became of results that are shown no more, within its
// room, and keeps what they held.
func TestJSONEarlier(t *testing.T) {
	s := &shelf{}
	c := &JSON{Options: Options{MaxTokens: 6000, Park: s.Park, ParkText: s.ParkText}}
	for step := range 200 {
		o := dispatcher.Observation{Step: step + 1, Tool: "t", Args: json.RawMessage(`{"n":1}`), OK: true, Content: "small"}
		if step == 190 {
			o.Content = strings.Repeat("one two ", 200) + "the fact"
		}
		c.Add(o)
	}
	r, pruned, err := c.Request(turn())
	if err != nil || pruned.Tokens > 6000 {
		t.Fatalf("%+v, %v", pruned, err)
	}
	text := r.Messages[1].Content
	held := ""
	for id, content := range s.texts {
		if strings.HasSuffix(content, "the fact") {
			held = id
		}
	}
	want := "step 191: t({\"n\":1}) → " + fmt.Sprintf("%d bytes, scratchpad_id %s\nstep 192: t({\"n\":1}) → small\n", len(s.texts[held])+2, held)
	if !strings.Contains(text, want) || !strings.Contains(text, "earlier iterations are in the scratchpad: scratchpad_id") {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// TestJSONRoom keeps the results within half of a request.
func TestJSONRoom(t *testing.T) {
	s := &shelf{}
	c := &JSON{Options: Options{MaxTokens: 6000, Park: s.Park, ParkText: s.ParkText}}
	for step := range 3 {
		c.Add(dispatcher.Observation{Step: step + 1, Tool: "t", OK: true, Content: strings.Repeat("one two ", 1000)})
	}
	r, pruned, err := c.Request(turn())
	if err != nil || len(pruned.Steps) != 2 || pruned.Tokens > 6000 || len(s.texts) != 2 {
		t.Errorf("%+v, %v, %d parked, %d tokens", pruned, err, len(s.texts), estRequest(r))
	}
}

// TestJSONBeside counts what stands beside the results: a large memory leaves them
// less than half.
func TestJSONBeside(t *testing.T) {
	c := &JSON{Options: Options{MaxTokens: 6000, Park: (&shelf{}).Park, ParkText: (&shelf{}).ParkText}}
	for step := range 2 {
		c.Add(dispatcher.Observation{Step: step + 1, Tool: "t", OK: true, Content: strings.Repeat("one two ", 450)})
	}
	large := turn()
	large.State = func() (Memory, error) {
		return Memory{YAML: []byte("notes: " + strings.Repeat("one two ", 1900) + "\n")}, nil
	}
	if _, pruned, err := c.Request(turn()); err != nil || len(pruned.Steps) != 0 {
		t.Errorf("a small memory: %+v, %v", pruned, err)
	}
	if _, pruned, err := c.Request(large); err != nil || len(pruned.Steps) == 0 || pruned.Tokens > 6000 {
		t.Errorf("a large memory: %+v, %v", pruned, err)
	}
}

// What is sent is clean even where the operator's own files are not.
func TestSecretsAreNotSent(t *testing.T) {
	const secret = "correct-horse-battery"
	opt := Options{Rules: "password " + secret, Redact: redact.New(map[string]string{"P": secret})}
	for _, c := range []asked{&JSON{Options: opt}, &Native{Options: opt}} {
		tn := turn()
		tn.State = func() (Memory, error) { return Memory{YAML: []byte("notes: " + secret + "\n")}, nil }
		for _, m := range ask(t, c, tn).Messages {
			if strings.Contains(m.Content, secret) {
				t.Errorf("%T: %s message: %s", c, m.Role, m.Content)
			}
		}
	}
}
