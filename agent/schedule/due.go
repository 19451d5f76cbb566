package schedule

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"rouse/internal/proc"
)

// Slot is a slot that is about to be taken.
type Slot struct {
	Entry    string // key of its entry, or the name under which a wake was asked for
	Cron     string
	Time     time.Time
	As       Status
	Task     string
	Check    any // as [Entry] has it
	IdleSkip bool
	Attempt  int // which cycle of the slot it is to be, from 1
}

// Gate says why a slot is not to be taken, in a word such as paused, budget or
// idle, and in a sentence; "" lets it through. It is asked at most once about each
// slot, and never while the ledger is locked.
type Gate func(Slot) (reason, sentence string)

// asking asks a gate, and knows its answers.
type asking struct {
	gate    Gate
	answers map[string][2]string
	// missed is a slot about which nobody asked before the ledger was locked.
	missed *Slot
}

func (q *asking) key(s Slot) string { return s.Entry + " " + s.Time.String() }

// ask is the gate's answer.
func (q *asking) ask(s Slot) (reason, sentence string) {
	if _, known := q.answers[q.key(s)]; !known && q.gate != nil {
		reason, sentence = q.gate(s)
		q.answers[q.key(s)] = [2]string{reason, sentence}
	}
	return q.known(s)
}

// known is the answer that the gate gave before.
func (q *asking) known(s Slot) (reason, sentence string) {
	a, known := q.answers[q.key(s)]
	if !known && q.gate != nil {
		q.missed = &s
	}
	return a[0], a[1]
}

// Attempt is a slot that was taken. It is running until it is settled.
type Attempt struct {
	Slot
	ledger  *Ledger
	entry   Entry
	entries List
	before  *Record // the attempt before
}

// Due accounts for every slot of the home up to now, and takes at most one that is
// to be run now: nil means that there is none. What it did is durable when it
// returns. Where nothing is due it only reads the end of the ledger.
func (l *Ledger) Due(entries List, gate Gate) (*Attempt, error) {
	a, _, err := l.account(entries)
	if err != nil || len(a.lines) == 0 && len(a.ready) == 0 {
		return nil, wrap(err)
	}
	q := &asking{gate: gate, answers: map[string][2]string{}}
	a.choose(q.ask, l.owner()) // what the gate says is found out before the ledger is locked
	for ended := false; ; {
		attempt, replace, err := l.take(entries, q)
		switch {
		case q.missed != nil && err == nil: // it came due meanwhile
			q.ask(*q.missed)
			q.missed = nil
		case replace != nil && err == nil && !ended:
			l.end(*replace)
			ended = true
		default:
			return attempt, wrap(err)
		}
	}
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("slots: %w", err)
}

// account looks at all that is due. It writes nothing.
func (l *Ledger) account(entries List) (*accounting, loaded, error) {
	have, err := l.load()
	if err != nil {
		return nil, have, err
	}
	a := &accounting{
		state: have.state, now: l.now(), since: l.Since, salt: l.salt(), entries: entries, began: l.lookUp(), lives: l.lives,
	}
	a.run()
	return a, have, nil
}

func (l *Ledger) salt() string {
	if l.home != "" {
		return l.home
	}
	dir, err := filepath.Abs(filepath.Dir(l.Path))
	if err != nil {
		return l.Path
	}
	return dir
}

// take accounts and takes under the lock, but does nothing where the gate's answer
// is not known. The second result is a cycle that has to end first.
func (l *Ledger) take(entries List, q *asking) (*Attempt, *Record, error) {
	unlock, err := l.lock()
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	a, have, err := l.account(entries)
	if err != nil {
		return nil, nil, err
	}
	taken := a.choose(q.known, l.owner())
	if q.missed != nil {
		return nil, nil, nil
	}
	if err := l.tell(have, a.lines); err != nil {
		return nil, nil, err
	}
	if taken == nil {
		return nil, a.replace, nil
	}
	return &Attempt{taken.asSlot(), l, taken.entry, entries, taken.before}, nil, nil
}

// choose takes the oldest slot that nothing speaks against; the others wait.
func (a *accounting) choose(gate Gate, owner proc.Identity) (taken *candidate) {
	for _, c := range a.ready {
		switch {
		case len(a.Open) > 0:
			if !c.waits {
				a.wait(c.entry, c.as, c.slot)
			}
		case !c.entry.Open(a.now):
			a.skip(c, ReasonWindow, "")
		default:
			s := c.asSlot()
			if reason, sentence := gate(s); reason != "" {
				a.skip(c, reason, sentence)
				continue
			}
			a.put(Record{
				Event: eventSlot, Entry: s.Entry, Cron: s.Cron, Slot: s.Time, Status: Running, As: s.As, Owner: &owner, Attempt: beyondFirst(s.Attempt),
			})
			taken = &c
		}
	}
	return taken
}

// skip puts down that a slot has no cycle, or no further one.
func (a *accounting) skip(c candidate, reason, sentence string) {
	if c.before != nil {
		a.giveUp(c.entry.key, reason)
		return
	}
	r := c.entry.record(Skipped, c.slot)
	r.Reason, r.Error = reason, sentence
	a.put(r)
}

// Result is how an attempt went.
type Result struct {
	Cycle string // "" if none woke
	Exit  int
	Error string
	// Awake says that another cycle was awake, so that none could wake.
	Awake bool
	// Again is when the slot is tried again, as [Attempt.Again] said; zero if it is not.
	Again time.Time
}

// Settle writes down what became of the slot. One whose cycle did not wake has
// not run: it is skipped, or waits again. Slots that came while the cycle was
// awake are accounted for first, as nobody else may have been there to do so.
func (t *Attempt) Settle(res Result) error {
	r := Record{
		V: 1, Time: t.ledger.now().Round(0), Event: eventSlot, Entry: t.Entry, Cron: t.Cron, Slot: t.Time,
		Status: t.As, Cycle: res.Cycle, Exit: &res.Exit, Error: res.Error, Attempt: beyondFirst(t.Slot.Attempt), Again: res.Again.Round(0),
	}
	switch {
	case t.before != nil && res.Cycle == "":
		r = t.putOff(r, res.Awake)
	case res.Awake && t.entry.Overlap == OverlapQueue:
		r.Status, r.As, r.Exit = Waiting, Late, nil
	case res.Awake:
		r.Status, r.Reason, r.Exit = Skipped, ReasonOverlap, nil
	case res.Cycle == "":
		r.Status, r.Reason = Skipped, ReasonError
	}
	return wrap(t.ledger.settle(t.entries, r))
}

func (l *Ledger) settle(entries List, r Record) error {
	_, err := l.look(entries, r)
	return err
}

// look accounts for every slot up to now and takes none; more is written behind that.
func (l *Ledger) look(entries List, more ...Record) (*accounting, error) {
	unlock, err := l.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	a, have, err := l.account(entries)
	if err != nil {
		return nil, err
	}
	for _, c := range a.ready {
		if !c.waits && len(a.Open) > 0 {
			a.wait(c.entry, c.as, c.slot)
		}
	}
	for _, r := range more {
		a.lines = append(a.lines, a.add(r))
	}
	return a, l.tell(have, a.lines)
}

// Look accounts for the slots that came while the cycle is awake, as systemd and
// launchd start nothing beside it that would. It says whether one of them replaces
// the cycle, which is then to end.
func (t *Attempt) Look() (replaced bool, err error) {
	a, err := t.ledger.look(t.entries)
	return err == nil && a.replace != nil, wrap(err)
}

// tell writes lines, and says so.
func (l *Ledger) tell(have loaded, lines []Record) error {
	err := l.write(have, lines)
	if err == nil && l.Wrote != nil && len(lines) > 0 {
		l.Wrote(lines)
	}
	return err
}

// add writes the lines that are wanted with what the ledger comes to.
func (l *Ledger) add(wanted func(*state) []Record) error {
	unlock, err := l.lock()
	if err != nil {
		return wrap(err)
	}
	defer unlock()
	have, err := l.load()
	if err != nil {
		return wrap(err)
	}
	lines := wanted(have.state)
	for _, r := range lines {
		have.apply(r)
	}
	return wrap(l.write(have, lines))
}

// Names under which a home is woken beside its schedule.
const (
	NextWake = "next_wake" // the cycle asked for it
	Watch    = "watch"     // a file has changed
)

// Ask has the home woken at a time, once, beside its schedule. A later call with
// the same name replaces an earlier one; the zero time takes it back. Such a wake is
// accounted for like a slot.
func (l *Ledger) Ask(name string, when time.Time) error {
	return l.add(func(*state) []Record {
		return []Record{{V: 1, Time: l.now().Round(0), Event: eventAsk, Entry: name, Slot: when.Round(0)}}
	})
}

// Begin lets the slots of entries that the ledger does not know count from now on.
func (l *Ledger) Begin(entries List) error {
	return l.add(func(have *state) (lines []Record) {
		for _, e := range entries {
			if _, known := have.Marks[e.key]; !known {
				lines = append(lines, Record{V: 1, Time: l.now().Round(0), Event: eventEntry, Entry: e.key, Cron: e.Cron, Slot: l.now().Round(0)})
			}
		}
		return lines
	})
}

// lookUp tells whether a slot was begun. The whole ledger is read, at the first question.
func (l *Ledger) lookUp() func(string, time.Time) bool {
	begun := sync.OnceValues(l.begun)
	return func(key string, slot time.Time) bool {
		single, counted := begun()
		return single[slotKey{key, slot.Unix()}] || slices.ContainsFunc(counted, func(r Record) bool {
			return r.Entry == key && !slot.Before(r.Slot) && !slot.After(r.end())
		})
	}
}

// begun gives the slots that were begun: those of which a line tells, and the
// lines that count several. A slot between such counts as begun.
func (l *Ledger) begun() (single map[slotKey]bool, counted []Record) {
	single = map[slotKey]bool{}
	for r, err := range l.Records() {
		switch {
		case err != nil || !r.Status.Began():
		case r.Count > 1:
			counted = append(counted, r)
		default:
			single[slotKey{r.Entry, r.Slot.Unix()}] = true
		}
	}
	return single, counted
}

// endWait is how long a cycle that is replaced may take to save its memory.
const endWait = 30 * time.Second

// end tells the process of an attempt to end, and waits until it has.
func (l *Ledger) end(r Record) {
	if !l.lives(r) {
		return
	}
	_ = syscall.Kill(r.Owner.PID, syscall.SIGTERM)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(endWait); l.lives(r) && time.Now().Before(deadline); {
		<-tick.C
	}
}
