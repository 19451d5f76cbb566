package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"rouse/internal/jsonl"
	"rouse/scratchpad"
	"rouse/scratchpad/origin"
)

// Origins are where the texts of a memory came from, as its marks say, as far as it is
// shown to the model.
func Origins(s *scratchpad.State) (from origin.Set) {
	for line := range strings.Lines(s.Notes()) {
		named, _ := origin.Unmark(line)
		from = from.With(named...)
	}
	done := s.Completed()
	done = done[max(0, len(done)-shownTasks):]
	if slices.ContainsFunc(done, func(task any) bool { return origin.OfTask(task) != nil }) {
		done = done[len(done)-lastTasks(done):]
	}
	for _, task := range slices.Concat([]any{s.CurrentTask()}, s.Pending(), done) {
		from = from.With(origin.OfTask(task)...)
	}
	keys := keyOrigins(s)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		from = from.With(keys[key]...)
	}
	return from
}

// keyOrigins are the marks of the keys that a memory has.
func keyOrigins(s *scratchpad.State) map[string]origin.Set {
	list := map[string]origin.Set{}
	v, _ := s.Value(origin.Key)
	marks, _ := v.(map[string]any)
	for key, mark := range marks {
		if _, ok := s.Value(key); ok && origin.OfName(mark) != nil {
			list[key] = origin.OfName(mark)
		}
	}
	return list
}

// Marking says what a posture has a cycle do with text from outside: whether what it
// writes is marked, and goals are locked.
func Marking(posture string) (marks, locks bool) {
	return posture != "", posture == "careful" || posture == "strict"
}

// remember takes in where the texts came from that the memory brings.
func (c *cycle) remember() error {
	if !c.Consent.Marks {
		return nil
	}
	c.dispatcher.Marks = true // what came before is the operator's
	if c.Past != nil {
		return c.dispatcher.Learn(0, c.Past.of(0).From)
	}
	return c.dispatcher.Learn(0, Origins(c.state))
}

// part takes what came from outside out of a memory that is to be shown: it is shown
// apart, so that nothing of it passes for what the operator or the agent said.
func part(s *scratchpad.State) (own *scratchpad.State, outside string, err error) {
	p := parting{}
	var notes []string
	for _, line := range strings.Split(s.Notes(), "\n") {
		if from, _ := origin.Unmark(line); len(from.Outside()) == 0 {
			notes = append(notes, line)
		} else {
			p.outside.WriteString(line + "\n")
		}
	}
	p.own = append(p.own, set("notes", strings.Join(notes, "\n")))
	if from := origin.OfTask(s.CurrentTask()).Outside(); len(from) > 0 {
		p.show("current_task", s.CurrentTask())
		p.own = append(p.own, set("current_task", fmt.Sprintf("(it came from outside, %s, and stands below; what the goals and the rules say comes before it)", from)))
	}
	p.list("pending_actions", s.Pending())
	p.list("completed_tasks", s.Completed())
	gone := []string{origin.Key}
	for key, from := range keyOrigins(s) {
		if len(from.Outside()) > 0 {
			gone = append(gone, key)
		}
	}
	slices.Sort(gone[1:])
	for _, key := range gone[1:] {
		v, _ := s.Value(key)
		p.show(key, v)
	}
	if err := s.Apply(p.own...); err != nil {
		return nil, "", err
	}
	own, err = s.Without(gone...)
	return own, p.outside.String(), err
}

// parting is what [part] makes of a memory.
type parting struct {
	own     []scratchpad.Change
	outside strings.Builder
}

func (p *parting) show(key string, v any) {
	line, _ := jsonl.Marshal(map[string]any{key: v}) // plain values have a JSON form
	p.outside.Write(line)
}

// list parts a list of tasks.
func (p *parting) list(key string, tasks []any) {
	ours := func(task any) bool { return len(origin.OfTask(task).Outside()) == 0 }
	if theirs := slices.DeleteFunc(slices.Clone(tasks), ours); len(theirs) > 0 {
		p.show(key, theirs)
		p.own = append(p.own, set(key, slices.DeleteFunc(slices.Clone(tasks), func(task any) bool { return !ours(task) })))
	}
}
