package agent

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"time"

	"rouse/agent/made"
	"rouse/agent/notify"
	"rouse/journal"
	"rouse/scratchpad"
)

// left is how the files of the home are that only others change, and the memory:
// what each is in the journal, and what stat says of it.
type left struct {
	sums  map[string]string
	stats map[string]version
	found []journal.Changed // since the cycle before, and in this one
}

// version tells, for little, whether a file may have changed.
type version struct {
	size  int64
	mtime time.Time
}

func statOf(path string) version {
	info, err := os.Stat(path)
	if err != nil {
		return version{}
	}
	return version{info.Size(), info.ModTime()}
}

// watched are the files that only others change, by the names that the event wake
// has for them. That of the accepted tools is not among them: Rouse writes it, and
// trusts it by server.
func (a *Agent) watched() map[string]string {
	list := map[string]string{}
	for _, path := range []string{a.Home.Rules(), a.Home.Config(), a.Home.Servers()} {
		list[a.Home.Rel(path)] = path
	}
	return list
}

// look takes in how the home is at wake.
func (a *Agent) look(sums map[string]string, memory string) left {
	l := left{sums: map[string]string{madeBin: sums[madeBin], a.memory(): memory}, stats: map[string]version{}}
	for name, path := range a.watched() {
		l.sums[name], l.stats[name] = sums[name], statOf(path)
	}
	l.stats[a.memory()] = statOf(a.Home.Active())
	return l
}

// memory is what active.yaml is called here.
func (a *Agent) memory() string { return a.Home.Rel(a.Home.Active()) }

// compare names what others changed since the cycle before slept.
func (a *Agent) compare(c *cycle) error {
	for _, name := range slices.Sorted(maps.Keys(c.left.sums)) {
		was, known := c.known.Left[name]
		if is := c.left.sums[name]; known && is != was {
			d := journal.Changed{File: name, Was: was, Is: is, Since: c.known.Cycle}
			if name == a.memory() {
				d.Keys = a.differ(c.known.Cycle, c.base)
			}
			if err := a.changedFile(c, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// differ are the keys of the memory that a cycle did not leave so, as far as its
// snapshot tells.
func (a *Agent) differ(cycle string, now *scratchpad.State) []string {
	was, err := a.Home.LoadFile(a.Home.After(cycle))
	if err != nil {
		return nil
	}
	return keysOf(was, now)
}

func keysOf(was, now *scratchpad.State) (keys []string) {
	for _, d := range scratchpad.Diff(was, now) {
		if d.Key != "last_updated" {
			keys = append(keys, d.Key)
		}
	}
	return keys
}

// changedFile journals a change and tells people of it, but for an edit of the
// memory between calls: that is how a person talks to the agent.
func (a *Agent) changedFile(c *cycle, d journal.Changed) error {
	if err := c.journal.Append(&d); err != nil {
		return err
	}
	c.left.found = append(c.left.found, d)
	if a.Notify != nil && (d.Step > 0 || d.File != a.memory()) {
		_ = a.Notify.Tell(context.Background(), notify.Edited, "edited "+d.File+" "+d.Is+" "+cmp.Or(d.Since, c.id), d.String())
	}
	return nil
}

// changed names what others changed while the cycle was awake, before the memory
// is saved, and gives all that was found. A journal that cannot be written is
// reported when the end is.
func (a *Agent) changed(c *cycle) []journal.Changed {
	if c.reopened {
		return nil // the next wake compares with how it began
	}
	for name, path := range a.watched() {
		if now := statOf(path); now != c.left.stats[name] {
			a.differs(c, name, a.sum(small(path)), now.mtime)
		}
	}
	a.differs(c, madeBin, a.sum(listing(a.Home.Bin())), statOf(a.Home.Bin()).mtime)
	if now := statOf(a.Home.Active()); now != c.left.stats[a.memory()] {
		if hash, err := a.Home.Hash(); err == nil {
			a.differs(c, a.memory(), hash, now.mtime)
		}
	}
	return c.left.found
}

// differs names a file that is not what it was at wake.
func (a *Agent) differs(c *cycle, name, is string, mtime time.Time) {
	was := c.left.sums[name]
	if is == was {
		return
	}
	c.left.sums[name] = is
	d := journal.Changed{File: name, Was: was, Is: is, Step: a.stepAt(c, mtime)}
	if name == a.memory() {
		if now, _, err := a.Home.Load(); err == nil {
			d.Keys = keysOf(c.base, now)
		}
	}
	_ = a.changedFile(c, d)
}

// sum is the hash of a text as the event wake has it, "" of none.
func (a *Agent) sum(text string) string {
	if text == "" {
		return ""
	}
	return made.Sum([]byte(a.Redact.String(text)))
}

// coarse is how far the time of a file may lie before that of a clock. Of two calls
// that are nearer to each other the one is named in which that time lies.
const coarse = 10 * time.Millisecond

// stepAt is the call during which something was written, 0 where that was during
// none: then it was not a tool of ours, or one that outlived its call.
func (a *Agent) stepAt(c *cycle, when time.Time) int {
	begun, near := map[int]time.Time{}, 0
	for e, err := range journal.Read(a.Home.Journal(c.id)) {
		if err != nil {
			return 0
		}
		switch d := e.Data.(type) {
		case *journal.Intent:
			begun[d.Step] = e.Time
		case *journal.Result:
			from, ok := begun[d.Step]
			switch {
			case !ok || when.After(e.Time) || when.Before(from.Add(-coarse)):
			case when.Before(from):
				near = d.Step
			default:
				return d.Step
			}
		}
	}
	return near
}

// leave is how the home is left, for the next wake to compare with.
func (a *Agent) leave(c *cycle) map[string]string {
	if c.left.sums == nil {
		return nil
	}
	list := map[string]string{madeBin: c.left.sums[madeBin]}
	for name := range a.watched() {
		list[name] = c.left.sums[name]
	}
	if hash, err := a.Home.Hash(); err == nil {
		list[a.memory()] = hash
	}
	return list
}
