package agent

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"rouse/home"
	"rouse/internal/clock"
	"rouse/internal/disk"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
)

// muchLess is how much a value must lose, in bytes, before half of it gone is told.
const muchLess = 100

// shrunk are the keys that a person wrote and that the cycle emptied, removed or cut
// to half and less. What the agent itself keeps there comes and goes.
func (k *Keeper) shrunk(c *record) (list []journal.Shrunk) {
	for _, key := range c.base.Keys() {
		if c.rewind != nil || slices.Contains(ownKeys[:], key) {
			continue
		}
		before, _ := c.base.Value(key)
		after, _ := c.state.Value(key)
		was, is := weight(before), weight(after)
		if was == 0 || is > 0 && (is*2 > was || was-is < muchLess) {
			continue
		}
		if key == "goals" || k.byAPerson(c, key) {
			list = append(list, journal.Shrunk{Key: key, Was: was, Is: is})
		}
	}
	return list
}

// markShrunk puts down that a cycle cut something down, so that only then journals are
// asked which. Without the mark its own journal still says it.
func (k *Keeper) markShrunk(list []journal.Shrunk) {
	if len(list) > 0 {
		now := clock.Now(k.Now)
		_ = disk.Overwrite(k.disk(), k.Home.Shrunk(), nil, 0o600)
		_ = os.Chtimes(k.Home.Shrunk(), now, now)
	}
}

// ownKeys are those that each cycle changes, as its task wants.
var ownKeys = [...]string{"current_task", "pending_actions", "completed_tasks", "notes", "last_updated"}

// weight is about how many bytes a value says something with.
func weight(v any) (n int) {
	switch v := v.(type) {
	case nil:
	case string:
		n = len(v)
	case []any:
		for _, e := range v {
			n += 1 + weight(e)
		}
	case map[string]any:
		for key, e := range v {
			n += len(key) + weight(e)
		}
	default:
		n = 1
	}
	return n
}

// byAPerson says whether a person wrote a key of the memory that the cycle found: no
// cycle did, as far as the newest journals tell, or a person did after it.
func (k *Keeper) byAPerson(c *record, key string) bool {
	edited := func(d journal.Changed) bool {
		return d.File == k.memory() && d.Step == 0 && slices.Contains(d.Keys, key)
	}
	if slices.ContainsFunc(c.left.found, edited) {
		return true
	}
	ids, err := k.Home.Cycles(lookBackFar)
	if err != nil {
		return false
	}
	for _, id := range ids {
		if id >= c.id {
			continue
		}
		person, known := false, false
		for e, err := range journal.Read(k.Home.Journal(id)) {
			if d, ok := e.Data.(*journal.Changed); ok && err == nil && edited(*d) {
				person, known = true, true
			}
			if slices.ContainsFunc(journal.Changes(e), func(c scratchpad.Change) bool { return c.Key == key }) {
				person, known = false, true
			}
		}
		if known {
			return person
		}
	}
	return true
}

// Lost says which keys of the memory cycles cut down since a moment, where nobody put
// them back: of each the oldest, and how to do that.
func Lost(h home.Home, now *scratchpad.State, since time.Time) (list []string) {
	if newest, err := os.Stat(h.Shrunk()); err != nil || newest.ModTime().Before(since) {
		return nil // no journal has to be asked
	}
	ids, _ := h.Cycles(lookBackNight)
	lost := map[string]string{}
	for _, id := range ids {
		s, err := SummaryOf(h, id)
		if err != nil || s.Began.Add(time.Duration(s.Ms)*time.Millisecond).Before(since) {
			break
		}
		for _, d := range s.Shrunk {
			if v, _ := now.Value(d.Key); weight(v) > d.Is {
				continue
			}
			how := "cut down"
			if d.Is == 0 {
				how = "emptied"
			}
			lost[d.Key] = fmt.Sprintf("cycle %s %s %s, which a person wrote; look with rouse diff %[1]s, put it back with rouse diff %[1]s --restore %[4]s", id, how, d.Key, text.Quoted(d.Key))
		}
	}
	return slices.Sorted(maps.Values(lost))
}

// lookBackNight is how many cycles are asked what they did while nobody looked.
const lookBackNight = 500

// Restore puts a key of the memory back to what it was before a cycle. It fails with
// [home.ErrAwake] while one is awake.
func (k *Keeper) Restore(cycle, key string) error {
	unlock, err := k.Home.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	before, err := k.Home.LoadFile(k.Home.Before(cycle))
	if err != nil {
		return err
	}
	now, _, err := k.Home.Load()
	if err != nil {
		return err
	}
	was, ok := before.Value(key)
	if !ok {
		return fmt.Errorf("the memory had no key %q before cycle %s; see rouse diff %[2]s", key, cycle)
	}
	if err := now.Apply(set(key, was)); err != nil {
		return err
	}
	return now.Save(k.disk(), k.Home.Active(), k.now())
}
