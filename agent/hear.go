package agent

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"rouse/agent/inbox"
	"rouse/home"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/origin"
)

// hear takes in the tasks that people left since, behind what is pending: the journal has
// each with its change before the next thing happens.
func (c *cycle) hear() error {
	if c.Past != nil {
		for _, then := range c.Past.heard() {
			if err := c.hearOf(then.Changes, then.Told); err != nil {
				return err
			}
		}
		return nil
	}
	items, problem := inbox.List(c.Home.Inbox(), c.took...)
	if problem != nil {
		c.remark(problem)
	}
	for _, item := range items {
		task := withChecks(item.Task, item.Check)
		if c.Consent.Marks {
			task = origin.Set{}.With(item.Origin).Task(task)
		}
		err := c.hearOf([]scratchpad.Change{{Op: scratchpad.OpExtend, Key: "pending_actions", Value: []any{task}}}, []string{item.ID})
		if errors.Is(err, scratchpad.ErrFull) {
			return nil // it stays where it is until there is room
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hearOf takes one of them in.
func (c *cycle) hearOf(changes []scratchpad.Change, told []string) error {
	err := c.dispatcher.Hear(changes, told)
	if !errors.Is(err, scratchpad.ErrFull) {
		c.took = append(c.took, told...) // the memory has it, also where the journal has not
	}
	return err
}

// Took is the cycle since a moment that took in the task with an ID from the inbox, "" for
// none. One that was awake already may have.
func Took(h home.Home, id string, since time.Time) (string, error) {
	ids, err := h.Cycles(0)
	for _, cycle := range ids {
		for e, failed := range journal.Read(h.Journal(cycle)) {
			if d, ok := e.Data.(*journal.State); ok && failed == nil && slices.ContainsFunc(d.Told, func(name string) bool { return inbox.Is(name, id) }) {
				return cycle, nil
			}
		}
		if cycle < since.Format(home.CycleForm) {
			break
		}
	}
	return "", err
}

// remark journals once what a person should look at.
func (c *cycle) remark(problem error) {
	if c.remarked == problem.Error() {
		return
	}
	c.remarked = problem.Error()
	// A journal that cannot be written is met again at once.
	_ = c.journal.Append(&journal.Warning{Text: problem.Error()})
}

// heard are the tasks that were taken in before the next request.
func (p *Past) heard() (list []*journal.State) {
	end := cmp.Or(max(p.next(p.at), 0), len(p.events))
	for ; p.ears < end; p.ears++ {
		if d, ok := p.events[p.ears].Data.(*journal.State); ok && len(d.Told) > 0 {
			list = append(list, d)
		}
	}
	return list
}
