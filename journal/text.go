package journal

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"rouse/internal/text"
	"rouse/scratchpad"
)

// textRunes bounds the part of an event that a text line quotes.
const textRunes = 2000

// Text is the event as one line for people, or "" for one that says nothing
// new to them. Line breaks and control characters are escaped.
func (e Event) Text() string {
	switch d := e.Data.(type) {
	case *Wake:
		return d.text(e.Cycle)
	case *Request:
		return fmt.Sprintf("ask    iteration %d, about %d tokens", d.Iteration, d.Tokens)
	case *Reply:
		return fmt.Sprintf("reply  %s, %d+%d tokens: %s", ms(d.Ms), d.Usage.Input, d.Usage.Output, text.Line(d.Said(), textRunes))
	case *Intent:
		return fmt.Sprintf("call   step %d: %s(%s)", d.Step, text.Line(d.Tool, 64), text.Line(string(d.Args), textRunes))
	case *Result:
		return d.text()
	case *Refused:
		return fmt.Sprintf("refuse step %d: the sandbox refused: %s", d.Step, text.Line(d.What, textRunes))
	case *Policy:
		return fmt.Sprintf("policy step %d: %s by %s: %s", d.Step, d.Do, text.Line(d.Rule, 80), text.Line(d.Why, textRunes))
	case *Approval:
		return "approval " + text.Line(strings.TrimSpace(d.Said()), textRunes)
	case *Origin:
		return fmt.Sprintf("origin step %d: from here on with text from %s", d.Step, text.Line(strings.Join(d.From, ", "), textRunes))
	case *Note:
		return fmt.Sprintf("note   step %d: %s", d.Step, text.Line(d.Text, textRunes))
	case *Prune:
		return fmt.Sprintf("prune  %d results, %d iterations folded, about %d tokens left", len(d.Steps), d.Folded, d.Tokens)
	case *Protocol:
		return fmt.Sprintf("model  protocol %s: %s", d.Name, text.Line(d.Reason, textRunes))
	case *Model:
		return fmt.Sprintf("model  asks %s instead of %s: %s", text.Line(d.Name, 80), text.Line(d.Instead, 80), text.Line(d.Reason, textRunes))
	case *Warning:
		return "warn   " + text.Line(d.Text, textRunes)
	case *Changed:
		return "warn   " + d.String()
	case *Accepted:
		return fmt.Sprintf("accept the tools of mcp %q, as .mcp.lock.json has them", text.Line(d.Server, 80))
	case *State:
		return "state  " + changeText(d.Changes)
	case *Tidied:
		return d.text()
	case *Checked:
		return d.text()
	case *Rewound:
		return d.text()
	case *Kept:
		return d.text()
	case *Limit:
		return "limit  " + d.Name + ": " + d.Text
	case *Retry:
		return fmt.Sprintf("retry  %d, in %s: %s", d.Attempt, ms(d.Wait), text.Line(d.Error, textRunes))
	case *Sleep:
		return d.text(e.Cycle)
	}
	return ""
}

// Said is the text of a reply and the names of its calls.
func (r *Reply) Said() string {
	var calls []struct{ Name string }
	if r.Refusal != "" {
		return strings.TrimSpace(r.Text + " refuses: " + r.Refusal)
	}
	if json.Unmarshal(r.Calls, &calls) != nil || len(calls) == 0 {
		return r.Text
	}
	names := text.Join(calls, ", ", func(c struct{ Name string }) string { return c.Name })
	return strings.TrimSpace(r.Text + " calls " + names)
}

func (w *Wake) text(cycle string) string {
	line := "wake   cycle " + cycle
	if w.Settled != "" {
		line += ", after settling the interrupted cycle " + w.Settled
	}
	if w.Sandbox != "" {
		line += "; sandbox: " + text.Line(w.Sandbox, textRunes)
	}
	if w.Warning != "" {
		line += "; warning: " + text.Line(w.Warning, textRunes)
	}
	return line
}

func (r *Result) text() string {
	state := "ok"
	if !r.OK {
		state = "failed: " + text.Line(r.Error, textRunes)
	}
	line := fmt.Sprintf("result step %d, %s: %s, %d bytes, %s", r.Step, text.Line(r.Tool, 64), state, r.SizeBytes, ms(r.Ms))
	if content := r.Shown(); content != "" {
		line += ": " + text.Line(content, textRunes)
	}
	if no := Unsupported(r.Evidence); len(no) > 0 {
		line += "; unsupported: " + text.Join(no, "; ", Evidence.String)
	}
	return line
}

// Shown is the content as text: a text itself, else its JSON.
func (r *Result) Shown() string {
	var text string
	if json.Unmarshal(r.Content, &text) == nil {
		return text
	}
	return string(r.Content)
}

func (s *Sleep) text(cycle string) string {
	line := fmt.Sprintf("sleep  cycle %s: %s, exit %d, %d iterations, %d tokens, %s", cycle, s.Outcome, s.Exit, s.Iterations, s.Tokens, ms(s.Ms))
	if s.Task != "" && s.Task != TaskNone {
		line += ", task " + s.Task
	}
	if s.Error != "" {
		line += ": " + text.Line(s.Error, textRunes)
	}
	return line
}

func changeText(changes []scratchpad.Change) string {
	return text.Join(changes, "; ", func(c scratchpad.Change) string {
		return fmt.Sprintf("%s %s %s", c.Op, text.Line(c.Key, 64), text.Line(shown(c.Value), 300))
	})
}

// shown is a text as it is, and any other value as JSON.
func shown(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	data, err := encode(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

func ms(n int64) string { return (time.Duration(n) * time.Millisecond).String() }
