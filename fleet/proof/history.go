// Package proof says of a fleet, after faults of any kind, whether it held what it promises:
// P22 of its tests. Nobody is believed alone: what stands in the store, in the homes' own ledgers
// and journals, what the model asked for and what calls did outside must be of one story.
package proof

import (
	"fmt"
	"slices"
	"time"

	"rouse/agent/schedule"
	"rouse/internal/proc"
)

// History is what a run of a fleet left.
type History struct {
	Until    time.Time // a slot up to here has had its turn
	Homes    []Home
	Asked    map[string]string // the home that the model asked for a call, by the call's id
	Mirrored map[string]bool   // calls whose intent was in the store before a version had it
	Effects  []string          // the calls that ran, by what they did outside of all homes
	Taken    []Taken
	Deaths   []Death
	Last     string // who woke homes after the others were gone
}

// Home is one, as its versions and its last journals and ledger have it.
type Home struct {
	Name     string
	Epoch    int64
	Schedule schedule.Entry
	Versions []Version
	Ledger   []schedule.Record
	Cycles   []Cycle
	Lines    int // mirrored, which no version has
}

// Version is one that was committed.
type Version struct {
	Epoch    int64
	Maker    string
	Memory   []string // what cycles said there that they did
	Journals []string // of these cycles
}

// Cycle is what the journal of one says.
type Cycle struct {
	ID    string
	Owner proc.Identity
	Slept bool
	Lost  bool // it says so itself: then a call of which it says nothing never began
	Calls []Call
	Said  []string // what it put into the memory
}

// Call is one that was to begin.
type Call struct {
	ID            string
	Result, Named bool // it has one; it is named as unknown
}

// Taken is a home that was taken under an epoch.
type Taken struct {
	Home   string
	Epoch  int64
	Holder string
	At     time.Time
	Ended  bool // by its commit
}

// Death is a worker that was cut short, with what it held.
type Death struct {
	Worker string
	At     time.Time
	Held   map[string]int64 // epochs by home
}

// Report is what a history comes to. A fleet that holds has no faults.
type Report struct {
	Faults   []string
	Slots    map[schedule.Status]int
	Versions int
	Cycles   int // that made calls
	Effects  int
	Unknown  int             // calls that are named so
	Overlaps int             // of these, those that did run
	Takeover []time.Duration // until another worker took what a dead one held, in order
}

func (r *Report) fault(format string, args ...any) {
	r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
}

// Check looks for what must not be.
func Check(h History) *Report {
	r := &Report{Slots: map[schedule.Status]int{}, Effects: len(h.Effects)}
	known := map[string]Call{}
	for _, home := range h.Homes {
		r.versions(home)
		r.memory(home)
		r.slots(h, home)
		r.attempts(home)
		for _, c := range home.Cycles {
			r.calls(h, home, c, known)
		}
	}
	r.effects(h, known)
	r.takeover(h)
	return r
}

// versions finds commits under an epoch that was over.
func (r *Report) versions(h Home) {
	r.Versions += len(h.Versions)
	last := int64(0)
	for n, v := range h.Versions {
		if v.Epoch <= last || v.Epoch > h.Epoch {
			r.fault("older epoch: %s has version %d of epoch %d after %d, and is at %d", h.Name, n+1, v.Epoch, last, h.Epoch)
		}
		last = v.Epoch
	}
	if h.Lines > 0 {
		r.fault("lost words: %s has %d mirrored lines that no version took", h.Name, h.Lines)
	}
}

// memory finds forks: what a version had must be in the next one.
func (r *Report) memory(h Home) {
	last := Version{}
	for n, v := range h.Versions {
		for what, pair := range map[string][2][]string{"memory": {last.Memory, v.Memory}, "journals": {last.Journals, v.Journals}} {
			if gone := slices.DeleteFunc(slices.Clone(pair[0]), func(x string) bool { return slices.Contains(pair[1], x) }); len(gone) > 0 {
				r.fault("fork: version %d of %s, of epoch %d by %s, lacks of its %s %v, which that of epoch %d by %s had", n+1, h.Name, v.Epoch, v.Maker, what, gone, last.Epoch, last.Maker)
			}
		}
		last = v
	}
	for _, c := range h.Cycles {
		for _, x := range c.Said {
			if !slices.Contains(last.Memory, x) {
				r.fault("loss: the memory of %s has no %s, which cycle %s put there", h.Name, x, c.ID)
			}
		}
		if !c.Slept {
			r.fault("loss: cycle %s of %s never ended", c.ID, h.Name)
		}
	}
}

// slots finds those of which nobody says what became of them.
func (r *Report) slots(h History, home Home) {
	words, from := map[int64]schedule.Status{}, time.Time{}
	for _, l := range home.Ledger {
		switch {
		case l.Event == "entry" && from.IsZero():
			from = l.Slot
		case l.Event == "slot":
			for s := range home.Schedule.Between(l.Slot.Add(-1), slices.MaxFunc([]time.Time{l.Slot, l.Last}, time.Time.Compare)) {
				words[s.Unix()] = l.Status
			}
		}
	}
	if from.IsZero() {
		r.fault("silence: %s has no ledger", home.Name)
		return
	}
	for s := range home.Schedule.Between(from, h.Until) {
		switch is := words[s.Unix()]; is {
		case "", schedule.Running, schedule.Waiting:
			r.fault("silence: %s says of its slot of %s %q", home.Name, s.UTC().Format(time.DateTime), is)
		default:
			r.Slots[is]++
		}
	}
}

// attempts finds slots that were begun twice. The owner of a slot that is running is the process
// that its cycle's journal names.
func (r *Report) attempts(h Home) {
	owners, begun := map[proc.Identity]string{}, map[string]string{}
	for _, l := range h.Ledger {
		if l.Status == schedule.Running && l.Owner != nil {
			owners[*l.Owner] = fmt.Sprint(l.Entry, " ", l.Slot.Unix(), " ", max(l.Attempt, 1))
		}
	}
	for _, c := range h.Cycles {
		attempt, ok := owners[c.Owner]
		switch other := begun[attempt]; {
		case len(c.Calls) == 0: // a cycle that did nothing may be begun again
			continue
		case !ok:
			r.fault("twice: cycle %s of %s made calls, and its ledger knows no slot of it", c.ID, h.Name)
		case other != "":
			r.fault("twice: cycles %s and %s of %s are both of the attempt %s", other, c.ID, h.Name, attempt)
		}
		begun[attempt] = c.ID
		r.Cycles++
	}
}

// calls finds calls of which a journal does not say what became.
func (r *Report) calls(h History, home Home, c Cycle, known map[string]Call) {
	for _, call := range c.Calls {
		if _, twice := known[call.ID]; twice {
			r.fault("repeated: the call %s stands in two journals", call.ID)
		}
		if !call.Result && !call.Named && (!c.Lost || slices.Contains(h.Effects, call.ID)) {
			r.fault("unnamed: cycle %s of %s does not say what became of %s", c.ID, home.Name, call.ID)
		}
		if h.Asked[call.ID] != home.Name {
			r.fault("strange: %s began the call %s, which the model asked %q for", home.Name, call.ID, h.Asked[call.ID])
		}
		if call.Named {
			r.Unknown++
		}
		known[call.ID] = call
	}
}

// effects finds what happened outside twice, or without a word.
func (r *Report) effects(h History, known map[string]Call) {
	seen := map[string]bool{}
	for _, id := range h.Effects {
		call, ok := known[id]
		switch {
		case seen[id]:
			r.fault("repeated: the call %s had its effect twice", id)
		case !ok:
			r.fault("unnamed: the call %s of %q ran, and no journal has it", id, h.Asked[id])
		case !h.Mirrored[id]:
			r.fault("unnamed: the call %s ran, and the store never heard that it would", id)
		case call.Named:
			r.Overlaps++
		}
		seen[id] = true
	}
	for id, call := range known {
		if call.Result && !seen[id] {
			r.fault("strange: the call %s has a result, and did nothing", id)
		}
	}
}

// takeover measures how long it took until others woke what a worker held when it died. What it
// came to end itself, or took again first, does not count.
func (r *Report) takeover(h History) {
	for _, d := range h.Deaths {
		for name, epoch := range d.Held {
			is := func(t Taken) bool { return t.Home == name && t.Epoch == epoch && t.Ended }
			next := slices.IndexFunc(h.Taken, func(t Taken) bool { return t.Home == name && t.Epoch > epoch })
			if slices.ContainsFunc(h.Taken, is) || next >= 0 && (h.Taken[next].Holder == d.Worker || h.Taken[next].Holder == h.Last) {
				continue
			}
			if next < 0 {
				r.fault("silence: nobody took %s, which %s held when it died", name, d.Worker)
				continue
			}
			r.Takeover = append(r.Takeover, h.Taken[next].At.Sub(d.At))
		}
	}
	slices.Sort(r.Takeover)
}
