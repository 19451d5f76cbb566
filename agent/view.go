package agent

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"

	"rouse/agent/conversation"
	"rouse/internal/text"
	"rouse/scratchpad"
)

// shownTasks is how many of the completed tasks a model is shown.
const shownTasks = 20

// shownEnd is how much is shown of a text that was parked: its end, where the
// newest is, in characters.
const shownEnd = 1500

// view is the memory as the model is shown it: without secrets, with the last
// of the completed tasks, and with its largest values parked while it would take
// more than half of a request.
func (a *Agent) view(c *cycle) (yaml []byte, remark string, err error) {
	s := a.hide(c)
	if done := s.Completed(); len(done) > shownTasks {
		remark = fmt.Sprintf("Of %d completed_tasks the last %d are shown.", len(done), shownTasks)
		if err := s.Apply(set("completed_tasks", done[len(done)-shownTasks:])); err != nil {
			return nil, "", err
		}
	}
	for _, said := range c.remarks {
		remark += "\nNote: " + text.Line(a.Redact.String(said), maxNote)
	}
	for range s.Keys() {
		if yaml, err = s.Bytes(); err != nil || conversation.Est(string(yaml)) <= a.viewTokens(c) {
			return yaml, remark, err
		}
		if !a.shorten(c, s) {
			break
		}
	}
	yaml, err = s.Bytes()
	return yaml, remark, err
}

func (a *Agent) viewTokens(c *cycle) int {
	if most := a.maxTokens(c); most > 0 {
		return most / 2
	}
	return 16000
}

// shorten parks the largest value of a memory that is to be shown, unless that
// would not help.
func (a *Agent) shorten(c *cycle, s *scratchpad.State) bool {
	var key, text string
	var value any
	for _, k := range s.Keys() {
		v, _ := s.Value(k)
		if t := valueText(v); len(t) > len(text) {
			key, text, value = k, t, v
		}
	}
	if len(text) <= 2*shownEnd {
		return false
	}
	var shown any = c.parkPart(key, text)
	if _, list := value.([]any); list {
		shown = []any{shown}
	}
	return s.Apply(set(key, shown)) == nil
}

// valueText is a value as a text that can be read in parts.
func valueText(v any) string {
	if t, ok := v.(string); ok {
		return t
	}
	one := scratchpad.New()
	if one.Apply(set("value", v)) != nil {
		return fmt.Sprint(v)
	}
	text, err := one.Bytes()
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// parkPart parks a part of the memory, once for each text, and gives what is
// shown in its place.
func (c *cycle) parkPart(key, text string) string {
	sum := sha256.Sum256([]byte(text))
	if shown, ok := c.parked[sum]; ok {
		return shown
	}
	where := "and it could not be kept elsewhere"
	if id, err := c.dispatcher.ParkText("state "+key, text); err == nil {
		where = "scratchpad_id " + id + "; read it with scratchpad_read"
	}
	end := []rune(text)
	end = end[max(0, len(end)-shownEnd):]
	shown := fmt.Sprintf("[%d bytes, too long to be shown: %s. Its end:]\n%s", len(text), where, strings.TrimLeft(string(end), "\n"))
	if c.parked == nil {
		c.parked = map[[sha256.Size]byte]string{}
	}
	c.parked[sum] = shown
	return shown
}

func set(key string, value any) scratchpad.Change {
	return scratchpad.Change{Op: scratchpad.OpSet, Key: key, Value: value}
}

// hide takes the secrets out of the values of a memory that is to be sent, so
// that what is left is YAML still. In a cycle that is told again, the journal says
// what stood in their place.
func (a *Agent) hide(c *cycle) *scratchpad.State {
	s := c.state.Clone()
	for _, key := range c.state.Keys() {
		v, _ := c.state.Value(key)
		hidden, told := c.told[key]
		if !told {
			hidden = a.Redact.Any(v)
		}
		if reflect.DeepEqual(hidden, v) {
			continue
		}
		if c.hidden == nil {
			c.hidden = map[string]any{}
		}
		c.hidden[key] = hidden
		// A value that cannot be set is hidden with the text.
		_ = s.Apply(set(key, hidden))
	}
	return s
}
