package dispatcher

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"rouse/internal/object"
	"rouse/scratchpad"
	"rouse/scratchpad/origin"
)

// mark lets what the cycle changes of the state carry where its texts came from.
func (d *Dispatcher) mark(changes []scratchpad.Change) []scratchpad.Change {
	if !d.Marks || len(d.Origins) == 0 {
		return changes
	}
	return marks(d.State, d.Origins, changes)
}

// marks are changes of a state with the marks of a set in all that they bring in. What
// the state has already keeps the mark it has there, or has none, wherever it is put.
func marks(s *scratchpad.State, from origin.Set, changes []scratchpad.Change) (list []scratchpad.Change) {
	m := marking{s: s, from: from}
	for _, c := range changes {
		list = append(list, m.change(c))
	}
	if m.keys != nil {
		list = append(list, scratchpad.Change{Op: scratchpad.OpSet, Key: origin.Key, Value: m.keys})
	}
	return list
}

// marking is the state of [marks].
type marking struct {
	s     *scratchpad.State
	from  origin.Set
	keys  map[string]any // the marks of the keys that have no place for one, if there are new ones
	tasks map[string]any // of the state, by their JSON with and without their marks
}

func (m *marking) change(c scratchpad.Change) scratchpad.Change {
	text, isText := c.Value.(string)
	list, isList := c.Value.([]any)
	switch {
	case c.Key == "notes" && c.Op == scratchpad.OpAppend:
		c.Value = m.from.Text(text)
	case c.Key == "notes" && isText:
		c.Value = m.notes(text)
	case c.Key == "current_task":
		c.Value = m.task(c.Value)
	case isList && (c.Key == "pending_actions" || c.Key == "completed_tasks"):
		list = slices.Clone(list)
		for i, task := range list {
			list[i] = m.task(task)
		}
		c.Value = list
	default:
		m.key(c)
	}
	return c
}

// notes are those that are put in the place of the state's.
func (m *marking) notes(text string) string {
	had, lines := map[string]string{}, strings.Split(m.s.Notes(), "\n")
	for _, line := range lines {
		if from, plain := origin.Unmark(line); from != nil {
			_, bare, _ := strings.Cut(plain, "] ")
			had[plain], had[bare] = line, line
		}
	}
	for _, line := range append(lines, "") {
		had[line] = line
	}
	lines = strings.Split(text, "\n")
	for i, line := range lines {
		was, ok := had[line]
		if !ok {
			was = m.from.Line(line)
		}
		lines[i] = was
	}
	return strings.Join(lines, "\n")
}

func (m *marking) task(task any) any {
	if m.tasks == nil {
		m.tasks = map[string]any{}
		tasks := slices.Concat(queue(m.s), m.s.Completed())
		for _, t := range tasks {
			m.tasks[asJSON(origin.Bare(t))] = t
		}
		for _, t := range tasks {
			m.tasks[asJSON(t)] = t
		}
	}
	for _, t := range []any{task, origin.Bare(task)} {
		if was, ok := m.tasks[asJSON(t)]; ok {
			return was
		}
	}
	return m.from.Task(task)
}

func asJSON(v any) string {
	text, _ := json.Marshal(v) // what has no JSON form cannot be in a state
	return string(text)
}

// key marks a key that is neither of those.
func (m *marking) key(c scratchpad.Change) {
	if was, _ := m.s.Value(c.Key); len(m.from) == 0 || equal(was, c.Value) {
		return
	}
	if m.keys == nil {
		had, _ := m.s.Value(origin.Key)
		keys, ok := had.(map[string]any)
		if m.keys = maps.Clone(keys); m.keys == nil {
			m.keys = map[string]any{}
		}
		if !ok && had != nil {
			m.keys[origin.Key] = had // somebody's own, which nobody is to lose
		}
	}
	m.keys[c.Key] = m.from.String()
}

// locked says what of an update is not the model's to change in a cycle with text from
// outside: such a text could be the one that wants it.
func (d *Dispatcher) locked(args json.RawMessage) error {
	from := d.Origins.Outside()
	given, err := object.Parse(args)
	if !d.Locks || len(from) == 0 || err != nil {
		return nil // what is no object is refused at once
	}
	for _, m := range given.Members {
		var v any
		_ = json.Unmarshal(m.Value, &v) // a member is JSON
		switch m.Key {
		case "goals":
			return refusef("goals are locked, as this cycle has text from outside (%s): write what you would change into notes, for the operator to see; nothing was changed", from)
		case "current_task", "pending_actions", "completed_tasks":
			if holdsReference(v) {
				return refusef("%s: no reference can stand in a task, as this cycle has text from outside (%s): say in your own words what is to be done; nothing was changed", m.Key, from)
			}
		}
	}
	return nil
}
