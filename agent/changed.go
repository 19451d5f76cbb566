package agent

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"rouse/agent/made"
	"rouse/agent/notify"
	"rouse/internal/disk"
	"rouse/journal"
	"rouse/scratchpad"
)

// left is how the files of the home are that only others change, and the memory:
// what each is in the journal, and what stat says of it.
type left struct {
	sums  map[string]string
	stats map[string]disk.Stamp
	found []journal.Changed // since the cycle before, and in this one
}

// watched are the files that only others change, by the names that the event wake
// has for them. That of the accepted tools is not among them: Rouse writes it, and
// trusts it by server.
func (k *Keeper) watched() map[string]string {
	list := map[string]string{}
	for _, path := range []string{k.Home.Rules(), k.Home.Config(), k.Home.Servers()} {
		list[k.Home.Rel(path)] = path
	}
	return list
}

// look takes in how the home is at wake.
func (k *Keeper) look(sums map[string]string, memory string) *left {
	l := &left{sums: map[string]string{madeBin: sums[madeBin], k.memory(): memory}, stats: map[string]disk.Stamp{}}
	for name, path := range k.watched() {
		l.sums[name], l.stats[name] = sums[name], disk.StampOf(path)
	}
	l.stats[k.memory()] = disk.StampOf(k.Home.Active())
	return l
}

// memory is what active.yaml is called here.
func (k *Keeper) memory() string { return k.Home.Rel(k.Home.Active()) }

// compare names what others changed since the cycle before slept.
func (k *Keeper) compare(c *woken) error {
	for _, name := range slices.Sorted(maps.Keys(c.left.sums)) {
		was, known := c.known.Left[name]
		if is := c.left.sums[name]; known && is != was && !c.known.Written(name, is) {
			d := journal.Changed{File: name, Was: was, Is: is, Since: c.known.Cycle}
			if name == k.memory() {
				d.Keys = k.differ(c.known.Cycle, c.base)
			}
			if err := k.changedFile(&c.record, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// differ are the keys of the memory that a cycle did not leave so, as far as its
// snapshot tells.
func (k *Keeper) differ(cycle string, now *scratchpad.State) []string {
	was, err := k.Home.LoadFile(k.Home.After(cycle))
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
func (k *Keeper) changedFile(c *record, d journal.Changed) error {
	if err := c.journal.Append(&d); err != nil {
		return err
	}
	c.left.found = append(c.left.found, d)
	if k.Notify != nil && (d.Step > 0 || d.File != k.memory()) {
		_ = k.Notify.Tell(context.Background(), notify.Edited, "edited "+d.File+" "+d.Is+" "+cmp.Or(d.Since, c.id), d.String())
	}
	return nil
}

// changed names what others changed while the cycle was awake, before the memory
// is saved, and gives all that was found. A journal that cannot be written is
// reported when the end is.
func (k *Keeper) changed(c *record) []journal.Changed {
	if c.reopened {
		return nil // the next wake compares with how it began
	}
	for name, path := range k.watched() {
		if now := disk.StampOf(path); now != c.left.stats[name] {
			k.differs(c, name, k.sum(small(path)), path)
		}
	}
	k.differs(c, madeBin, k.sum(listing(k.Home.Bin())), k.Home.Bin())
	if now := disk.StampOf(k.Home.Active()); now != c.left.stats[k.memory()] {
		if hash, err := k.Home.Hash(); err == nil {
			k.differs(c, k.memory(), hash, k.Home.Active())
		}
	}
	return c.left.found
}

// differs names a file that is not what it was at wake.
func (k *Keeper) differs(c *record, name, is, path string) {
	was := c.left.sums[name]
	if is == was {
		return
	}
	c.left.sums[name] = is
	d := journal.Changed{File: name, Was: was, Is: is, Step: k.stepOf(c, path)}
	if name == k.memory() {
		if now, _, err := k.Home.Load(); err == nil {
			d.Keys = keysOf(c.base, now)
		}
	}
	if name == k.Home.Rel(k.Home.Config()) && d.Step > 0 && c.trust != nil {
		c.trust.ByTool = is
	}
	_ = k.changedFile(c, d)
}

// sum is the hash of a text as the event wake has it, "" of none.
func (k *Keeper) sum(text string) string {
	if text == "" {
		return ""
	}
	return made.Sum([]byte(k.Redact.String(text)))
}

// coarse is how far the time of a file may lie before that of a clock. Of two calls
// that are nearer to each other the one is named in which that time lies, or else the
// first.
const coarse = 10 * time.Millisecond

// stepOf is the call during which a file was written, by its time or else by the one that
// no program can set; 0 as [Keeper.stepAt] has it.
func (k *Keeper) stepOf(c *record, path string) int {
	if step := k.stepAt(c, disk.StampOf(path).Mod); step > 0 {
		return step
	}
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return 0
	}
	return k.stepAt(c, time.Unix(0, st.Ctim.Nano()))
}

// stepAt is the call during which something was written, 0 where that was during
// none: then it was not a tool of ours, or one that outlived its call.
func (k *Keeper) stepAt(c *record, when time.Time) int {
	begun, near := map[int]time.Time{}, 0
	for e, err := range journal.Read(k.Home.Journal(c.id)) {
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
				near = cmp.Or(near, d.Step)
			default:
				return d.Step
			}
		}
	}
	return near
}

// leave is how the home is left, for the next wake to compare with; saved is the
// hash of the memory, "" where it was not saved.
func (k *Keeper) leave(c *record, saved string) map[string]string {
	if c.left.sums == nil {
		return nil
	}
	list := map[string]string{madeBin: c.left.sums[madeBin]}
	for name := range k.watched() {
		list[name] = c.left.sums[name]
	}
	if saved != "" {
		list[k.memory()] = saved
	} else if hash, err := k.Home.Hash(); err == nil {
		list[k.memory()] = hash
	}
	return list
}
