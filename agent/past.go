package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"rouse/agent/check"
	"rouse/agent/model"
	"rouse/dispatcher"
	"rouse/home"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/observation"
)

// Past is a recorded cycle for an agent that runs it again: what the world and the
// model gave then it gives again, and nothing else is asked.
type Past struct {
	*teller
	ID    string
	base  *scratchpad.State
	sleep *journal.Sleep
	end   *journal.End
	held  map[string]string // the configuration, by key
	steps map[int]*dispatcher.Recorded
	done  map[int][]*journal.Checked // what was tested, by step

	lacks  error // why it cannot go on
	store  *observation.Store
	tidied bool
	begun  bool
	at     int       // how many events are behind
	ears   int       // how many were looked at for what a person told
	step   int       // the last one that was made again
	now    time.Time // as the cycle read it
}

// ErrRewind says that a cycle was none.
var ErrRewind = errors.New("it is a rewind, in which nothing ran")

// ReadPast reads a cycle that is to be run again. The error says what is missing
// for that.
func ReadPast(h home.Home, cycle string) (*Past, error) {
	p := &Past{teller: &teller{home: h}, ID: cycle, steps: map[int]*dispatcher.Recorded{}, done: map[int][]*journal.Checked{}, held: map[string]string{}}
	if err := p.read(); err != nil {
		return nil, err
	}
	var err error
	p.now, err = time.Parse(home.CycleForm, cycle)
	return p, err
}

func (p *Past) read() (err error) {
	if p.base, err = p.load(p.ID); err != nil {
		return err
	}
	for i, e := range p.events {
		if err := p.take(i, e); err != nil {
			return err
		}
	}
	switch {
	case p.sleep == nil:
		return errors.New("it has not slept: it is awake, or the next wake settles it")
	case p.sleep.Rewound != "":
		return ErrRewind
	case p.sleep.Unproven > 0 || p.sleep.Vouched != nil:
		return errors.New("lines of its journal are not proven")
	case p.end == nil:
		return errors.New("its end is not in the journal: it was never saved")
	case p.killed() && p.next(p.at) < 0:
		return errors.New("it was killed before it came to ask its model")
	case p.killed() && p.halfway():
		return errors.New("it was killed between two lines of one step")
	case p.talked() && p.dialogue.talk == nil:
		return errors.New("the journal does not say how its requests were made: it is of an older rouse")
	}
	return nil
}

// take takes in one event.
func (p *Past) take(i int, e journal.Event) error {
	switch d := e.Data.(type) {
	case *journal.Wake:
		if d.Base != "" && d.Base != p.base.Hash() {
			return errors.New("its _before is not the memory that it found: it was changed")
		}
		if err := p.hold(d); err != nil {
			return err
		}
		return p.wake(d)
	case *journal.Made:
		return p.made(d)
	case *journal.Model:
		p.at = i + 1 // what was asked before found no answer
	case *journal.Intent:
		p.of(d.Step).Begun = true
	case *journal.Policy:
		p.of(d.Step).Consent = append(p.of(d.Step).Consent, d)
	case *journal.Approval:
		if d.Decision == "asked" || d.ID == "" {
			p.of(d.Step).Consent = append(p.of(d.Step).Consent, d)
		}
	case *journal.Refused:
		p.of(d.Step).Refused = append(p.of(d.Step).Refused, d.What)
	case *journal.Origin:
		if !d.Told { // which it learns as it hears of it again
			p.of(d.Step).From = append(p.of(d.Step).From, d.From...)
		}
	case *journal.Result:
		p.of(d.Step).Result, p.of(d.Step).Line = d, e.Line
	case *journal.Checked:
		p.done[d.Step] = append(p.done[d.Step], d)
	case *journal.Tidied:
		p.tidied = true
	case *journal.End:
		p.end = d
	case *journal.Sleep:
		p.sleep = d
	}
	return nil
}

func (p *Past) of(step int) *dispatcher.Recorded {
	if p.steps[step] == nil {
		p.steps[step] = &dispatcher.Recorded{}
	}
	return p.steps[step]
}

// hold reads the configuration that held.
func (p *Past) hold(w *journal.Wake) error {
	sum, ok := w.Made[madeConfig]
	if !ok {
		return nil
	}
	text, err := p.dialogue.keeper.copies().Read(sum)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		p.held[key] = value
	}
	return nil
}

// killed says that the cycle never came to sleep by itself.
func (p *Past) killed() bool { return strings.HasPrefix(p.end.Error, "interrupted") }

// settled says that the next cycle put this one to sleep.
func (p *Past) settled() bool {
	ids, err := p.home.Cycles(0)
	i := slices.Index(ids, p.ID)
	if err != nil || i < 1 {
		return false
	}
	first, _ := journal.First(p.home.Journal(ids[i-1])) // one that cannot be read says nothing
	w, ok := first.Data.(*journal.Wake)
	return ok && w.Settled == p.ID
}

// halfway says that a cycle ended in the middle of a step that was no call of a tool.
func (p *Past) halfway() (half bool) {
	for _, e := range p.events {
		switch e.Data.(type) {
		case *journal.Reply, *journal.Note, *journal.State, *journal.Checked, *journal.Policy, *journal.Approval:
			half = true
		case *journal.Request, *journal.Intent, *journal.Result:
			half = false
		case *journal.End:
			return half
		}
	}
	return half
}

// talked says that the model was asked.
func (p *Past) talked() bool {
	return slices.ContainsFunc(p.events, asks)
}

// asks says that an event is a request for the next action.
func asks(e journal.Event) bool {
	d, ok := e.Data.(*journal.Request)
	return ok && d.For == ""
}

// Before and After are the snapshots of the cycle.
func (p *Past) Before() string { return p.home.Before(p.ID) }

// After is the snapshot with which the cycle ended.
func (p *Past) After() string { return p.home.After(p.ID) }

// Events are those of its journal.
func (p *Past) Events() []journal.Event { return p.events }

// begin gives a cycle what the other one began with.
func (p *Past) begin(c *cycle) {
	then := p.dialogue
	*c.asking = p.asking
	c.asking.Model = p
	c.kept, c.guide, c.archive, c.models = then.kept, then.guide, then.archive, then.models
	c.dispatcher.Kept, c.dispatcher.Parked, c.dispatcher.Past = c.kept != "", p.park, p.result
	c.dispatcher.Contents = p.contents
	c.reopened = !p.tidied && (p.killed() || p.settled()) // who settles a cycle does not tidy
	c.speak(c.protocol())
	p.begun = true
}

// result is what the journal has of a step.
func (p *Past) result(step int) (dispatcher.Recorded, error) {
	r, ok := p.steps[step]
	if !ok || r.Result == nil {
		return dispatcher.Recorded{}, p.ending()
	}
	return *r, nil
}

// contents gives an observation of the cycle, which may be gone.
func (p *Past) contents(id string) (c *observation.Content, err error) {
	if strings.HasPrefix(id, observation.SharedPrefix) {
		then := observation.Shared{Dir: p.home.Memory(), Now: func() time.Time { return time.Time{} }}
		if c, err = then.Get(id); err != nil {
			p.lacks = fmt.Errorf("a call referred to what another home does not share any more, %s: %w", id, err)
		}
		return c, err
	}
	if p.store == nil && observation.Exists(p.home.Memory()) {
		p.store, err = observation.Open(p.home.Memory(), observation.Options{})
	}
	if p.store != nil {
		c, err = p.store.Get(id)
	} else if err == nil {
		err = errors.New("there is no scratchpad")
	}
	if err != nil {
		p.lacks = fmt.Errorf("a call referred to what the scratchpad does not have any more, %s: %w", id, err)
	}
	return c, err
}

// Close ends its use, and says what was missing.
func (p *Past) Close() error {
	if p.store != nil {
		_ = p.store.Close() // it was only read
	}
	return p.lacks
}

// tested gives what came of checks at a step.
func (p *Past) tested(_ context.Context, step int, _ string, _ []check.Check) iter.Seq2[*journal.Checked, error] {
	return func(yield func(*journal.Checked, error) bool) {
		for _, e := range p.done[step] {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// next is the next request from an event on, -1 without one.
func (p *Past) next(from int) int {
	i := slices.IndexFunc(p.events[from:], asks)
	if i < 0 {
		return i
	}
	return from + i
}

// ahead fills in what a request says of the time, and what it hid.
func (p *Past) ahead(c *cycle, said *journal.Request) {
	i := p.next(p.at)
	if i < 0 {
		return
	}
	then := p.events[i].Data.(*journal.Request)
	said.At, said.Left, c.told = then.At, then.Left, then.Hidden
	p.now = then.At
}

// Reply is what the model answered then, or why it did not.
func (p *Past) Reply(context.Context, model.Request) (model.Reply, error) {
	i := p.next(p.at)
	if i < 0 {
		return model.Reply{}, p.ending()
	}
	p.at = i + 1
	for ; p.at < len(p.events); p.at++ {
		switch d := p.events[p.at].Data.(type) {
		case *journal.Reply:
			if d.For == "" {
				p.at++
				return recordedReply(d)
			}
		case *journal.Protocol:
			p.at++
			return model.Reply{}, refusal{d.Reason}
		case *journal.Request:
			if d.For == "" {
				return model.Reply{}, model.ErrTooLong
			}
		}
	}
	return model.Reply{}, p.ending()
}

// refusal is why a server took no tools.
type refusal struct{ reason string }

func (r refusal) Error() string { return r.reason }

func (r refusal) Unwrap() error { return model.ErrNoTools }

// watch takes note of what was done again.
func (p *Past) watch(e journal.Event) {
	if d, ok := e.Data.(*journal.Result); ok {
		p.step = d.Step
	}
}

// over ends the cycle where it ended then, if that was no doing of its own.
func (p *Past) over() error {
	if !p.begun || p.next(p.at) >= 0 || !p.cut() {
		return nil
	}
	for step := range p.steps {
		if step > p.step {
			return nil
		}
	}
	return p.ending()
}

// cut says that something else ended the cycle than what it did: a signal, a time,
// a limit of the home, a model or a machine that failed.
func (p *Past) cut() bool {
	switch e := p.end; e.Outcome {
	case journal.Done, journal.Waiting:
		return false
	case journal.Limited:
		return !strings.HasPrefix(e.Error, "max_iterations")
	case journal.Idle:
		return len(e.Changes) > 0
	default:
		return !strings.HasPrefix(e.Error, dispatcher.ErrStuck.Error()) && !strings.Contains(e.Error, manyProblems)
	}
}

// ends is how a run ended: one that was killed did not come to an end of its own.
func (p *Past) ends(err error) error {
	if p != nil && p.killed() {
		return p.ending()
	}
	return err
}

// ending ends the cycle as it ended then.
func (p *Past) ending() error {
	if p.cut() {
		return &ended{*p.end}
	}
	return errors.New("the journal has no more of the cycle")
}

// ended ends a cycle that is run again as it ended then.
type ended struct{ end journal.End }

func (e *ended) Error() string { return e.end.Error }
