package journal

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

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
		return fmt.Sprintf("reply  %s, %d+%d tokens: %s", ms(d.Ms), d.Usage.Input, d.Usage.Output, Line(d.said(), textRunes))
	case *Intent:
		return fmt.Sprintf("call   step %d: %s(%s)", d.Step, Line(d.Tool, 64), Line(string(d.Args), textRunes))
	case *Result:
		return d.text()
	case *Note:
		return fmt.Sprintf("note   step %d: %s", d.Step, Line(d.Text, textRunes))
	case *Prune:
		return fmt.Sprintf("prune  %d results, %d iterations folded, about %d tokens left", len(d.Steps), d.Folded, d.Tokens)
	case *Protocol:
		return fmt.Sprintf("model  protocol %s: %s", d.Name, Line(d.Reason, textRunes))
	case *Warning:
		return "warn   " + Line(d.Text, textRunes)
	case *State:
		return "state  " + changeText(d.Changes)
	case *Limit:
		return "limit  " + d.Name + ": " + d.Text
	case *Retry:
		return fmt.Sprintf("retry  %d, in %s: %s", d.Attempt, ms(d.Wait), Line(d.Error, textRunes))
	case *Sleep:
		return d.text(e.Cycle)
	}
	return ""
}

// said is the text of a reply and the names of its calls.
func (r *Reply) said() string {
	var calls []struct{ Name string }
	if json.Unmarshal(r.Calls, &calls) != nil || len(calls) == 0 {
		return r.Text
	}
	var names []string
	for _, c := range calls {
		names = append(names, c.Name)
	}
	return strings.TrimSpace(r.Text + " calls " + strings.Join(names, ", "))
}

func (w *Wake) text(cycle string) string {
	text := "wake   cycle " + cycle
	if w.Settled != "" {
		text += ", after settling the interrupted cycle " + w.Settled
	}
	if w.Warning != "" {
		text += "; warning: " + Line(w.Warning, textRunes)
	}
	return text
}

func (r *Result) text() string {
	state := "ok"
	if !r.OK {
		state = "failed: " + Line(r.Error, textRunes)
	}
	text := fmt.Sprintf("result step %d, %s: %s, %d bytes, %s", r.Step, Line(r.Tool, 64), state, r.SizeBytes, ms(r.Ms))
	if content := r.Shown(); content != "" {
		text += ": " + Line(content, textRunes)
	}
	return text
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
	text := fmt.Sprintf("sleep  cycle %s: %s, exit %d, %d iterations, %d tokens, %s", cycle, s.Outcome, s.Exit, s.Iterations, s.Tokens, ms(s.Ms))
	if s.Error != "" {
		text += ": " + Line(s.Error, textRunes)
	}
	return text
}

func changeText(changes []scratchpad.Change) string {
	var parts []string
	for _, c := range changes {
		parts = append(parts, fmt.Sprintf("%s %s %s", c.Op, Line(c.Key, 64), Line(shown(c.Value), 300)))
	}
	return strings.Join(parts, "; ")
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

// Line makes a text one line of at most limit characters, so that it cannot
// forge another record: line breaks and what a terminal would obey are escaped,
// and a cut is marked.
func Line(s string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == limit {
			b.WriteRune('…')
			break
		}
		n++
		b.WriteString(escape(r))
	}
	return b.String()
}

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r == ' ' || unicode.IsPrint(r):
		return string(r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}
