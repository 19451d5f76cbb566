package dispatcher

import (
	"slices"
	"strings"

	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/origin"
)

// Hear is [Dispatcher.Change] by tasks that a person told the home, in these files of its
// inbox.
func (d *Dispatcher) Hear(changes []scratchpad.Change, told []string) error {
	if err := d.apply(changes); err != nil {
		return err
	}
	for _, c := range changes {
		tasks, _ := c.Value.([]any)
		for _, task := range tasks { // a program may have told it
			if err := d.learn(journal.Origin{Step: d.step, Told: true}, origin.OfTask(task)); err != nil {
				return err
			}
		}
		if len(d.past) > 0 { // else the model is shown them
			d.unseen = append(d.unseen, tasks...)
		}
	}
	return d.Journal.Append(&journal.State{Changes: changes, Told: told})
}

// keepUnseen adds to a queue that the model writes the tasks that a person told meanwhile,
// and says so, once.
func (d *Dispatcher) keepUnseen(changes []scratchpad.Change) (kept string) {
	i := slices.IndexFunc(changes, func(c scratchpad.Change) bool { return c.Key == "pending_actions" })
	if i < 0 || len(d.unseen) == 0 {
		return ""
	}
	queue, _ := changes[i].Value.([]any)
	var names []string
	for _, task := range d.unseen {
		name := scratchpad.TaskText(task)
		if !slices.ContainsFunc(queue, func(t any) bool { return scratchpad.TaskText(t) == name }) {
			queue, names = append(slices.Clip(queue), task), append(names, name)
		}
	}
	changes[i].Value, d.unseen = queue, nil
	if len(names) == 0 {
		return ""
	}
	return "kept, since a person told it meanwhile: " + text.Line(strings.Join(names, "; "), 500)
}
