package agent

import (
	"cmp"
	"strings"

	"rouse/dispatcher"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
)

// guard keeps in an edit of the memory what a person gave a check, and marks all other
// checks as the agent's, where a tool may have made it: as update_scratchpad does. An edit
// between calls is a person's. The error is [ErrEdited] where that changed the file.
func (k *Keeper) guard(c *record, theirs *scratchpad.State, hash string) error {
	changes, kept := dispatcher.Guard(c.base, theirs)
	if len(changes) == 0 || !k.byTool(c) {
		return nil
	}
	what := "checks that are new there are the agent's"
	if len(kept) > 0 {
		what = "what a person gave a check stays as it was: " + text.Line(strings.Join(kept, "; "), 500)
	}
	told := c.journal.Append(&journal.Warning{Text: k.Home.Rel(k.Home.Active()) + " was written while a tool ran, from which no sandbox keeps it; " + what + ". If that was you, write it again while no cycle is awake"})
	err := theirs.Apply(changes...)
	if err == nil {
		err = theirs.Save(unlessEdited{k.disk(), k.Home, hash}, k.Home.Active(), k.now())
	}
	return cmp.Or(told, err, ErrEdited) // by ourselves: it is merged then
}

// byTool says whether a call was under way when the memory's file was written.
func (k *Keeper) byTool(c *record) bool {
	return !k.Walled && (c.open || k.stepOf(c, k.Home.Active()) > 0)
}

// given are the checks with which a task comes. Those of a schedule that a tool wrote count
// for nothing, until somebody else has written it.
func (c *cycle) given() []any {
	if len(c.Checks.Task) == 0 || c.Waking.Attempt == 0 || c.left == nil || c.trust.ByTool == "" || c.trust.ByTool != c.left.sums[c.Home.Rel(c.Home.Config())] {
		return c.Checks.Task
	}
	// A journal that cannot be written is met again at once.
	_ = c.journal.Append(&journal.Warning{Text: "a tool wrote rouse.yaml last, so that the checks of its schedule count for nothing; look at it, and change it yourself"})
	return nil
}
