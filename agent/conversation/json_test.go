package conversation

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rouse/dispatcher"
	"rouse/internal/redact"
	"rouse/tools"
)

func turn() Turn {
	return Turn{
		Tools: []tools.Tool{tools.Echo()},
		State: []byte("goals: []\ncurrent_task: look\n"), Iteration: 2, Of: 20, Left: 14*time.Minute + 400*time.Millisecond,
		Now: time.Date(2026, 4, 1, 15, 1, 54, 0, time.FixedZone("", 7200)),
	}
}

// The offline model and people read this text: its form is fixed.
func TestRequest(t *testing.T) {
	c := &JSON{Rules: "Be good."}
	c.Add(dispatcher.Observation{Step: 1, Tool: "echo", Args: json.RawMessage(`{"message":"a<b"}`), OK: true, Content: "ECHO: a<b\n```\n"})
	c.Problem("no JSON object in the reply")
	r := c.Request(turn())
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
		"Your last reply held no valid action: no JSON object in the reply\n",
		"Work on current_task.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestChoose(t *testing.T) {
	c := &JSON{}
	tn := turn()
	tn.Choose = true
	if text := c.Request(tn).Messages[1].Content; !strings.Contains(text, "Choose one that serves the goals") {
		t.Error(text)
	}
}

func TestOnlyTheLatestResults(t *testing.T) {
	c := &JSON{}
	for step := range 5 {
		c.Problem("old")
		c.Add(dispatcher.Observation{Step: step + 1, Tool: "t", OK: true, Content: "x"})
	}
	text := c.Request(turn()).Messages[1].Content
	var steps []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, `{"step":`) {
			steps = append(steps, line[8:9])
		}
	}
	if diff := cmp.Diff([]string{"3", "4", "5"}, steps); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(text, "old") {
		t.Error("a problem outlives a good reply")
	}
}

// What is sent is clean even where the operator's own files are not.
func TestSecretsAreNotSent(t *testing.T) {
	const secret = "correct-horse-battery"
	c := &JSON{Rules: "password " + secret, Redact: redact.New(map[string]string{"P": secret})}
	tn := turn()
	tn.State = []byte("notes: " + secret + "\n")
	for _, m := range c.Request(tn).Messages {
		if strings.Contains(m.Content, secret) {
			t.Errorf("%s message: %s", m.Role, m.Content)
		}
	}
}
