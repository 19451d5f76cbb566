package agent

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"rouse/agent/conversation"
	"rouse/internal/text"
	"rouse/scratchpad"
)

// Of the completed tasks a model is shown the last shownTasks, or as many of these as
// take taskTokens, but no fewer than leastTasks: what was done long ago is not to
// cost more each day.
const (
	shownTasks = 20
	leastTasks = 3
	taskTokens = 300
)

// lastTasks is how many of the completed tasks are shown.
func lastTasks(done []any) (n int) {
	tokens := 0
	for _, task := range slices.Backward(done) {
		text, err := json.Marshal(task)
		if tokens += conversation.Est(string(text)); err != nil || n == shownTasks || n >= leastTasks && tokens > taskTokens {
			break
		}
		n++
	}
	return n
}

// shownEnd is how much is shown of a text that was parked: its end, where the
// newest is, in characters.
const shownEnd = 1500

// view is the memory as the model is shown it: without secrets, with the last
// of the completed tasks, what came from outside apart, and with its largest values
// parked while it would take more than half of a request.
func (d *dialogue) view() (m conversation.Memory, err error) {
	s, remark, most := d.hide(), "", d.viewTokens()
	done := s.Completed()
	if n := lastTasks(done); n < len(done) {
		remark = fmt.Sprintf("Of %d completed_tasks the last %d are shown.", len(done), n)
		if err := s.Apply(set("completed_tasks", done[len(done)-n:])); err != nil {
			return m, err
		}
	}
	if from := d.dispatcher.Origins.Outside(); len(from) > 0 {
		if s, m.Outside, err = part(s); err != nil {
			return m, err
		}
		m.From = from.String()
		if conversation.Est(m.Outside) > most/2 {
			m.Outside = d.parkPart("from outside", m.Outside)
		}
		most -= conversation.Est(m.Outside)
	}
	if d.archive != "" {
		remark += fmt.Sprintf("\nTasks finished before these are in %s, one a line.", d.archive)
	}
	for _, said := range d.remarks {
		remark += "\nNote: " + text.Line(d.keeper.Redact.String(said), maxNote)
	}
	m.Remark = remark
	for range s.Keys() {
		if m.YAML, err = s.Bytes(); err != nil || conversation.Est(string(m.YAML)) <= most {
			return m, err
		}
		if !d.shorten(s) {
			break
		}
	}
	m.YAML, err = s.Bytes()
	return m, err
}

func (d *dialogue) viewTokens() int {
	if most := d.maxTokens(); most > 0 {
		return most / 2
	}
	return 16000
}

// shorten parks the largest value of a memory that is to be shown, unless that
// would not help.
func (d *dialogue) shorten(s *scratchpad.State) bool {
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
	var shown any = d.parkPart(key, text)
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
func (d *dialogue) parkPart(key, text string) string {
	sum := sha256.Sum256([]byte(text))
	if shown, ok := d.parked[sum]; ok {
		return shown
	}
	where := "and it could not be kept elsewhere"
	if id, err := d.dispatcher.ParkState("state "+key, text); err == nil {
		where = "scratchpad_id " + id + "; read it with scratchpad_read"
	}
	end := []rune(text)
	end = end[max(0, len(end)-shownEnd):]
	shown := fmt.Sprintf("[%d bytes, too long to be shown: %s. Its end:]\n%s", len(text), where, strings.TrimLeft(string(end), "\n"))
	if d.parked == nil {
		d.parked = map[[sha256.Size]byte]string{}
	}
	d.parked[sum] = shown
	return shown
}

func set(key string, value any) scratchpad.Change {
	return scratchpad.Change{Op: scratchpad.OpSet, Key: key, Value: value}
}

// hide takes the secrets out of the values of a memory that is to be sent, so
// that what is left is YAML still. In a cycle that is told again, the journal says
// what stood in their place.
func (d *dialogue) hide() *scratchpad.State {
	s := d.state.Clone()
	for _, key := range d.state.Keys() {
		v, _ := d.state.Value(key)
		hidden, told := d.told[key]
		if !told {
			hidden = d.keeper.Redact.Any(v)
		}
		if reflect.DeepEqual(hidden, v) {
			continue
		}
		if d.hidden == nil {
			d.hidden = map[string]any{}
		}
		d.hidden[key] = hidden
		// A value that cannot be set is hidden with the text.
		_ = s.Apply(set(key, hidden))
	}
	return s
}
