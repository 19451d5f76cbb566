package dispatcher

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"rouse/scratchpad"
	"rouse/scratchpad/origin"
)

// mark lets what the cycle changes of the state carry where its texts came from. What the
// state has already keeps the mark it has there, or has none, wherever it is put.
func (d *Dispatcher) mark(changes []scratchpad.Change) (list []scratchpad.Change) {
	if !d.Marks || len(d.Origins) == 0 {
		return changes
	}
	return d.unforged(changes)
}

// unforged is that also where there is nothing to mark: a mark of the model's own is none.
func (d *Dispatcher) unforged(changes []scratchpad.Change) (list []scratchpad.Change) {
	m := marking{s: d.State, from: d.Origins.Outside()}
	for _, c := range changes {
		list = append(list, m.change(c))
	}
	if d.Origins.Private() {
		m.put(origin.All, origin.Private) // one mark is enough of what is no place
	}
	if m.keys != nil {
		list = append(list, scratchpad.Change{Op: scratchpad.OpSet, Key: origin.Key, Value: m.keys})
	}
	return list
}

// marking is what it takes to mark changes of a state.
type marking struct {
	s     *scratchpad.State
	from  origin.Set
	keys  map[string]any // the marks of the keys that have no place for one, once there is a new one
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
	m.put(c.Key, m.from.String())
}

// put marks a key, unless it has the mark.
func (m *marking) put(key, mark string) {
	had, _ := m.s.Value(origin.Key)
	if m.keys == nil && origin.OfKey(had, key).String() == mark {
		return
	}
	if m.keys == nil {
		m.keys = map[string]any{}
		if keys, ok := had.(map[string]any); ok {
			maps.Copy(m.keys, keys)
		} else if had != nil {
			m.keys[origin.Key] = had // somebody's own, which nobody is to lose
		}
	}
	m.keys[key] = mark
}

// outside says that the cycle has text from outside, which could be what wants to change
// what is the operator's.
func (d *Dispatcher) outside() bool { return d.Locks && len(d.Origins.Outside()) > 0 }
