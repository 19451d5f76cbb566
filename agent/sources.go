package agent

import (
	"encoding/json"
	"os"

	"rouse/agent/history"
	"rouse/agent/source"
	"rouse/journal"
	"rouse/scratchpad/origin"
)

// unversioned begins what is said where the workspace could not be kept.
const unversioned = "history of the workspace: "

// mark writes down what a cycle leaves that carries text from outside. Where it cannot,
// the cycle does not sleep, and the next wake does it. What is put back carries what it did.
func (k *Keeper) mark(c *record) error {
	if k.Sources == nil || c.rewind != nil || len(c.origins) == 0 && !c.effects && c.tidied == nil {
		return nil
	}
	left := source.Left{Cycle: c.id, From: c.origins, Shed: c.shed(), Effects: c.effects, Cells: c.cells}
	if info, err := os.Stat(k.Home.Before(c.id)); err == nil {
		left.Began = info.ModTime()
	}
	left.Versions = func() (was, is *history.Version) { return k.around(c) }
	return k.Sources.Leave(k.disk(), left)
}

// shed are the origins of the finished tasks that left the memory.
func (c *record) shed() (from origin.Set) {
	if c.tidied == nil {
		return nil
	}
	for _, line := range c.tidied.Tasks {
		var task any
		_ = json.Unmarshal(line, &task) // it was made of one
		from = from.With(origin.OfTask(task)...)
	}
	return from
}

// around is the workspace before and after a cycle, nil where that is not known.
func (k *Keeper) around(c *record) (was, is *history.Version) {
	if k.History == nil || c.unkept {
		return nil, nil
	}
	was, errWas := k.History.At(history.Before(c.id))
	is, err := k.History.At(history.After(c.id))
	if errWas != nil || err != nil || was.Of != is.Of {
		return nil, nil
	}
	return was, is
}

// cutOff are the origins of calls that have no result: nobody knows what they read.
func cutOff(open []journal.Intent) (from []string) {
	for _, i := range open {
		if effectOf(&i).Touches(i.Tool) && i.Tool != "write_file" {
			from = append(from, i.Tool+" (interrupted)")
		}
	}
	return from
}
