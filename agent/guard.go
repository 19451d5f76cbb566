package agent

import (
	"cmp"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"rouse/dispatcher"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
)

// guard keeps in an edit of the memory what a person gave a check, and marks all other
// checks as the agent's, where a tool may have made it: as update_scratchpad does. An edit
// between calls is a person's. The error is [errEdited] where that changed the file.
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
	return cmp.Or(told, err, errEdited) // by ourselves: it is merged then
}

// byTool says whether a call was under way when the memory's file was written. That is
// asked of the one time that a program cannot set.
func (k *Keeper) byTool(c *record) bool {
	var st unix.Stat_t
	if k.Walled || unix.Stat(k.Home.Active(), &st) != nil {
		return false
	}
	return c.open || k.stepAt(c, time.Unix(0, st.Ctim.Nano())) > 0
}
