package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"rouse/internal/text"
)

// Offline is a model without a network: it carries out a current task that is
// written as calls, one a line as [ParseCall] reads them, where empty lines and
// lines that begin with # do not count. It answers with one call after the
// other, then with done. It never says done after a call that failed, nor for a
// task that it does not understand: those are errors. A done that a check refuses it
// says once more, which ends the cycle. The same request always
// gets the same reply.
type Offline struct{}

// hint ends the errors that another model would not have.
const hint = `set OPENAI_API_KEY, or OPENAI_BASE_URL for a local server such as http://127.0.0.1:11434/v1, ` +
	`or write the task as a call, like shell command="date -u"`

// outcome is a result of an earlier step, as the request shows it.
type outcome struct {
	Step    int             `json:"step"`
	Tool    string          `json:"tool"`
	OK      bool            `json:"ok"`
	Content json.RawMessage `json:"content"`
	Summary string          `json:"summary"` // in the place of a large content
	Error   string          `json:"error"`
}

// Reply answers from the state and the results in the request. The highest step
// among the results says how many lines of the task are done. Where the request
// has tools, the answer is a native call. A request without a state is no cycle's,
// but a cell's of a notebook: it is answered with what was asked.
func (Offline) Reply(ctx context.Context, req Request) (Reply, error) {
	if ctx.Err() != nil {
		return Reply{}, context.Cause(ctx)
	}
	if _, _, ok := findState(req); !ok {
		return repeat(req)
	}
	text, err := next(req)
	if err != nil || len(req.Tools) == 0 {
		return Reply{Text: text, Finish: "stop"}, err
	}
	call := Call{ID: fmt.Sprintf("call_%d", len(req.Messages))}
	err = json.Unmarshal([]byte(text), &struct {
		Tool *string
		Args *json.RawMessage
	}{&call.Name, &call.Args})
	return Reply{Calls: []Call{call}, Finish: "tool_calls"}, err
}

// next is the next action as JSON.
func next(req Request) (string, error) {
	state, behind, _ := findState(req)
	task, err := currentTask(state)
	if err != nil {
		return "", err
	}
	calls, err := runbook(task)
	if err != nil {
		return "", err
	}
	if call := interrupted(state, behind, calls); call != "" {
		return "", fmt.Errorf("offline model: %s was interrupted, and it may have run: check, then change current_task or remove the [INTERRUPTED] line from notes", call)
	}
	results := behind
	if len(req.Tools) > 0 {
		results = answers(req)
	}
	last, err := lastOutcome(results)
	if err != nil {
		return "", err
	}
	if last.Step < len(calls) {
		return calls[last.Step], nil
	}
	return done(last), nil
}

// answers are the results of native calls in the form of the json protocol.
func answers(req Request) string {
	var b strings.Builder
	b.WriteString("\nResults:\n")
	names := map[string]string{}
	for _, m := range req.Messages {
		for _, c := range m.Calls {
			names[c.ID] = c.Name
		}
		if m.Role == Result && strings.HasPrefix(m.Content, "{") {
			fmt.Fprintf(&b, "{\"tool\":%q,%s\n", names[m.Call], m.Content[1:])
		}
	}
	return b.String()
}

// findState finds the state in the first user message, and what stands behind
// it. Its YAML is indented wherever it holds other text, so that none of its
// lines can be the closing fence.
func findState(req Request) (state, behind string, ok bool) {
	for _, m := range req.Messages {
		if m.Role == User {
			_, text, found := strings.Cut("\n"+m.Content, "\nState (scratchpad/active.yaml):\n```yaml\n")
			if !found {
				return "", "", false
			}
			state, behind, ok = strings.Cut("\n"+text, "\n```\n")
			if !ok {
				state, ok = strings.CutSuffix("\n"+text, "\n```")
			}
			return state, behind, ok
		}
	}
	return "", "", false
}

// currentTask is the text of the task, which is a string or has a key "task".
func currentTask(state string) (string, error) {
	var s struct {
		Task yaml.Node `yaml:"current_task"`
	}
	if err := yaml.Unmarshal([]byte(state), &s); err != nil {
		return "", fmt.Errorf("offline model: state: %v", err)
	}
	task := s.Task
	if task.Kind == yaml.MappingNode {
		var entry struct{ Task yaml.Node }
		if err := task.Decode(&entry); err != nil {
			return "", fmt.Errorf("offline model: current_task: %v", err)
		}
		task = entry.Task
	}
	if task.Kind == 0 || task.Tag == "!!null" || task.Kind == yaml.ScalarNode && strings.TrimSpace(task.Value) == "" {
		return "", errors.New("offline model has no current task and cannot choose one: " + hint)
	}
	if task.Kind != yaml.ScalarNode {
		return "", errors.New("offline model cannot carry out a current task that is not text: " + hint)
	}
	return task.Value, nil
}

// interrupted is the call of the task whose outcome the notes call unknown, or
// "". A task that was completed since settles the matter. Of what is marked as from
// outside, the notes stand behind the state.
func interrupted(state, behind string, actions []string) string {
	var s struct{ Notes string }
	if yaml.Unmarshal([]byte(state), &s) != nil {
		return ""
	}
	notes := s.Notes + "\n" + behind
	since := notes[strings.LastIndex(notes, "\n[COMPLETED")+1:]
	_, line, found := strings.Cut("\n"+since, "\n[INTERRUPTED")
	if !found {
		return ""
	}
	line, _, _ = strings.Cut(line, "\n")
	for _, known := range actions {
		var a struct {
			Tool string
			Args json.RawMessage
		}
		if json.Unmarshal([]byte(known), &a) != nil {
			continue
		}
		// The line has the beginning of long arguments.
		if call := fmt.Sprintf("%s(%s)", a.Tool, a.Args); strings.Contains(line, ": step ") && strings.Contains(line, " "+call[:min(len(call), 200)]) {
			return text.CutBytes(text.Words(call), 80)
		}
	}
	return ""
}

// runbook turns the lines of a task into actions. All are read before the first
// is answered, so that a task is understood as a whole or not begun.
func runbook(task string) (actions []string, err error) {
	for i, line := range strings.Split(task, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		tool, args, err := ParseCall(line)
		if err == nil && tool == "done" {
			err = errors.New("done is said when all calls are")
		}
		if err != nil {
			return nil, fmt.Errorf("offline model cannot carry out %q: %s (line %d: %v)", text.CutBytes(text.Words(task), 80), hint, i+1, err)
		}
		actions = append(actions, action(tool, args))
	}
	if len(actions) == 0 {
		return nil, fmt.Errorf("offline model cannot carry out %q: %s", text.CutBytes(text.Words(task), 80), hint)
	}
	return actions, nil
}

// lastOutcome returns the result with the highest step, or an error if any of
// the results is a failure.
func lastOutcome(message string) (last outcome, err error) {
	_, lines, _ := strings.Cut("\n"+message, "\nResults:\n{")
	if lines == "" {
		return outcome{}, nil
	}
	for line := range strings.Lines("{" + lines) {
		if !strings.HasPrefix(line, "{") {
			break
		}
		var o outcome
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			return outcome{}, fmt.Errorf("offline model: results: %v", err) // going on would repeat a step
		}
		if !o.OK && !(o.Tool == "done" && strings.Contains(o.Error, "done again without")) { // there is nothing else to do
			return outcome{}, fmt.Errorf("offline model: step %d, %s: %s: task not done", o.Step, o.Tool, text.CutBytes(text.Words(o.Error), 300))
		}
		if o.Step > last.Step {
			last = o
		}
	}
	return last, nil
}

func done(last outcome) string {
	summary := last.Tool
	var said string
	if json.Unmarshal(last.Content, &said) != nil {
		var compact bytes.Buffer
		if json.Compact(&compact, last.Content) == nil {
			said = compact.String()
		}
	}
	if said = text.CutBytes(text.Words(cmp.Or(said, last.Summary)), 200); said != "" {
		summary += ": " + said
	}
	return action("done", encode(struct {
		Summary string `json:"summary"`
	}{summary}))
}

func action(tool string, args json.RawMessage) string {
	return string(encode(struct {
		Tool string          `json:"tool"`
		Args json.RawMessage `json:"args"`
	}{tool, args}))
}
