package agent

import (
	"slices"

	"rouse/scratchpad"
)

// leaveDemo drops the tasks of the demo where there is another one, in the memory or
// given to the cycle: whoever gives a task wants that done, and nothing else first.
func leaveDemo(s *scratchpad.State, demo []string, task string) (changes []scratchpad.Change) {
	is := func(t any) bool { return slices.Contains(demo, scratchpad.TaskText(t)) }
	current, pending := s.CurrentTask(), s.Pending()
	left := slices.DeleteFunc(slices.Clone(pending), is)
	busy := scratchpad.TaskText(current) != ""
	if task == "" && len(left) == 0 && (!busy || is(current)) {
		return nil
	}
	if busy && is(current) && task != current {
		changes = append(changes, scratchpad.Change{Op: scratchpad.OpSet, Key: "current_task", Value: nil})
	}
	if len(left) < len(pending) {
		changes = append(changes, scratchpad.Change{Op: scratchpad.OpSet, Key: "pending_actions", Value: left})
	}
	return changes
}
