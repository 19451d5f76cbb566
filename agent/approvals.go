package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"rouse/agent/approval"
	"rouse/agent/inbox"
	"rouse/agent/notify"
	"rouse/dispatcher"
	"rouse/dispatcher/policy"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/origin"
	"rouse/tools"
)

// park keeps a call for a person, and tells people of it once.
func (c *cycle) park(a dispatcher.Asked) (string, error) {
	e := approval.Entry{
		Cycle: c.id, Tool: a.Call.Tool, Args: approval.Canonical(a.Call.Args), Schema: schemaOf(a.Tool),
		Rule: a.Decision.Rule, Because: a.Decision.Why, Said: c.Redact.String(a.Said), Origin: a.Call.Origins, Read: a.Read,
	}
	id, _, err := c.Approvals.Park(context.Background(), e)
	if err == nil {
		c.tellPeople("approval "+id, fmt.Sprintf("%s asks: %s (%s): rouse approvals approve %s", id, e.Call(), text.Line(e.Because, 200), id))
	}
	return id, err
}

func (c *cycle) tellPeople(key, said string) {
	if c.Notify != nil {
		_ = c.Notify.Tell(context.Background(), notify.Approval, key, said)
	}
}

func schemaOf(t tools.Tool) string { return approval.Sum(string(t.Parameters())) }

// news is what a cycle finds answered as it wakes.
type news struct {
	all  []*approval.Entry
	gone []string        // what tasks wait for in vain
	then []journal.Event // of a cycle that is run again
	err  error
}

// approved says that something is to be carried out.
func (a news) approved() bool {
	return slices.ContainsFunc(a.then, func(e journal.Event) bool { _, ok := e.Data.(*journal.Intent); return ok }) ||
		slices.ContainsFunc(a.all, func(e *approval.Entry) bool {
			return e.Decision == approval.Approve && e.Carried == "" && e.Outcome == ""
		})
}

// answers looks for what people have answered.
func (c *cycle) answers() (a news) {
	switch {
	case c.Past != nil:
		a.then = c.Past.answered()
		return a
	case c.Approvals != nil && disk.Exists(c.Approvals.Path):
		if a.all, a.err = c.Approvals.All(); a.err != nil {
			c.warn(a.err.Error())
			c.tellPeople("approvals "+a.err.Error(), a.err.Error())
			return a
		}
	}
	for _, task := range append(c.state.Pending(), c.state.CurrentTask()) {
		for _, id := range dispatcher.Waits(task) {
			if !slices.ContainsFunc(a.all, func(e *approval.Entry) bool { return e.ID == id && e.Outcome == "" }) {
				a.gone = append(a.gone, id)
			}
		}
	}
	return a
}

// settleAnswers tells the model what became of the calls that waited, and carries out those
// that were approved, before it is asked.
func (c *cycle) settleAnswers(ctx context.Context, a news) (err error) {
	if a.then != nil {
		return c.settleAgain(ctx, a.then)
	}
	var told []*approval.Entry
	for _, e := range a.all {
		var outcome journal.Approval
		if outcome, err = c.outcome(ctx, e); err != nil {
			break
		}
		if outcome.Decision == "" {
			continue
		}
		if err = c.settled(&outcome); err != nil {
			break
		}
		e.Outcome, e.Reason, e.Ended = outcome.Decision, outcome.Why, c.now()
		told = append(told, e)
	}
	for _, id := range a.gone {
		if err == nil {
			err = c.settled(gone(a.all, id))
		}
	}
	return errors.Join(err, c.mark(told))
}

// gone is what is said of a call that is not open any more, though a task waits for it.
func gone(all []*approval.Entry, id string) *journal.Approval {
	if e, err := approval.Find(all, id); err == nil {
		return &journal.Approval{ID: id, Decision: e.Outcome, Call: e.Call(), By: e.By, Why: e.Reason}
	}
	return &journal.Approval{ID: id, Decision: approval.Withdrawn, Why: "it is no longer in approvals.yaml"}
}

// mark writes down of what the model was told.
func (c *cycle) mark(told []*approval.Entry) error {
	if len(told) == 0 {
		return nil
	}
	return c.Approvals.Update(context.Background(), func(all []*approval.Entry) (changed []*approval.Entry, err error) {
		for _, e := range told {
			if now, err := approval.Find(all, e.ID); err == nil {
				now.Outcome, now.Reason, now.Ended = e.Outcome, e.Reason, e.Ended
				changed = append(changed, now)
			}
		}
		return changed, nil
	})
}

// outcome is what has become of a call, or becomes of it now; nothing where it is open.
func (c *cycle) outcome(ctx context.Context, e *approval.Entry) (journal.Approval, error) {
	a := journal.Approval{ID: e.ID, Call: c.Redact.String(e.Call()), By: e.By, Why: c.Redact.String(e.Why)}
	switch state := e.State(c.now()); {
	case e.Outcome != "", state == approval.Open:
		return journal.Approval{}, nil
	case e.Carried != "":
		if a.Decision, a.Why = approval.Carried, "in cycle "+e.Carried; !c.hasResult(e) {
			a.Decision, a.Why = approval.Unknown, "it was begun in cycle "+e.Carried+", and may have run; it is not repeated"
			c.tellPeople("approval unknown "+e.ID, "nobody knows what came of "+a.ID+" "+a.Call+": "+a.Why)
		}
	case state != "approved":
		a.Decision = state
	default:
		return c.carry(ctx, e, a)
	}
	return a, nil
}

// hasResult says that a call that was begun has a result, which its cycle told.
func (c *cycle) hasResult(e *approval.Entry) bool {
	step := 0
	for l, err := range journal.Read(c.Home.Journal(e.Carried)) {
		if err != nil {
			return false
		}
		switch d := l.Data.(type) {
		case *journal.Intent:
			if d.Approval == e.ID {
				step = d.Step
			}
		case *journal.Result:
			if step > 0 && d.Step == step {
				return true
			}
		}
	}
	return false
}

// carry carries out what was approved, once: that it is begun is on the disk before.
func (c *cycle) carry(ctx context.Context, e *approval.Entry, a journal.Approval) (journal.Approval, error) {
	action := dispatcher.Action{Tool: e.Tool, Args: []byte(e.Args)}
	if why := c.impossible(e, action); why != "" {
		a.Decision, a.Why = approval.Impossible, why
		return a, nil
	}
	err := c.stopped()
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = c.dispatcher.Room()
	}
	if err == nil {
		err = c.spend(ctx, action)
	}
	if err == nil {
		err = c.Approvals.Update(ctx, func(all []*approval.Entry) ([]*approval.Entry, error) {
			now, err := approval.Find(all, e.ID)
			if err != nil || now.State(c.now()) != "approved" || now.SHA256 != e.SHA256 || now.Args != e.Args || now.Tool != e.Tool {
				return nil, errors.Join(err, fmt.Errorf("approval %s was edited as it was carried out", e.ID))
			}
			now.Carried = c.id
			return []*approval.Entry{now}, nil
		})
	}
	if err != nil {
		return a, err
	}
	o, err := c.perform(ctx, action, e.ID)
	if err != nil {
		return a, err
	}
	a.Decision, a.Step = approval.Carried, o.Step
	return a, nil
}

// perform carries a call out, and keeps what came of it for the first request.
func (c *cycle) perform(ctx context.Context, action dispatcher.Action, id string) (dispatcher.Observation, error) {
	c.dispatcher.Marks = c.Consent.Marks
	o, err := c.dispatcher.Carry(ctx, action, id)
	c.dispatcher.Marks = false // until there is a task
	if err == nil {
		c.carried = append(c.carried, o)
		c.talk.Add(o)
	}
	return o, err
}

// impossible is why an approved call cannot be carried out any more, or "".
func (c *cycle) impossible(e *approval.Entry, action dispatcher.Action) string {
	if approval.Sum(e.Tool, e.Args) != e.SHA256 {
		return "its arguments were changed after it was asked, so that nobody has approved this"
	}
	t, ok := c.dispatcher.Find(e.Tool)
	switch {
	case !ok:
		return "there is no tool " + e.Tool + " any more"
	case schemaOf(t) != e.Schema:
		return "what " + e.Tool + " takes has changed since it was asked"
	}
	if err := t.Check(action.Args); err != nil {
		return err.Error()
	}
	if c.dispatcher.Decide != nil {
		call := policy.Call{Tool: e.Tool, Args: action.Args, Effect: policy.EffectOf(e.Tool, t.Effect, action.Args), Origins: origin.Set(e.Origin)}
		if d := c.dispatcher.Decide(t, call); d.Do == policy.Deny {
			return fmt.Sprintf("the operator's policy denies it now (%s): %s", d.Rule, d.Why)
		}
	}
	return ""
}

// settled tells of a call what became of it.
func (c *cycle) settled(a *journal.Approval) error {
	if err := c.dispatcher.Settle(a); err != nil {
		return err
	}
	c.learned(*a)
	return nil
}

// learned lets the model know what became of a call, but for what it has the result of.
func (d *dialogue) learned(a journal.Approval) {
	if a.ID != "" && a.Decision != "asked" && a.Decision != approval.Carried {
		d.remarks = append(d.remarks, a.Said())
	}
}

// answered are the events of what was answered, before the first request.
func (p *Past) answered() (list []journal.Event) {
	for _, e := range p.events {
		if asks(e) {
			break
		}
		switch d := e.Data.(type) {
		case *journal.Intent:
			if d.Approval != "" {
				list = append(list, e)
			}
		case *journal.Approval:
			list = append(list, e)
		}
	}
	return list
}

// settleAgain does what was done when a cycle woke that is run again.
func (c *cycle) settleAgain(ctx context.Context, then []journal.Event) error {
	for _, e := range then {
		switch d := e.Data.(type) {
		case *journal.Intent:
			if _, err := c.perform(ctx, dispatcher.Action{Tool: d.Tool, Args: dispatcher.Plain(d.Args)}, d.Approval); err != nil {
				return err
			}
		case *journal.Approval:
			again := *d
			if err := c.settled(&again); err != nil {
				return err
			}
		}
	}
	return nil
}

// onlyWaits says that there are tasks, and that each waits for a person.
func onlyWaits(s *scratchpad.State) bool {
	return scratchpad.TaskText(s.CurrentTask()) == "" && len(s.Pending()) > 0 && !slices.ContainsFunc(s.Pending(), dispatcher.Ready)
}

// Answered says that a cycle has to do with what people answered, or did not in time.
func Answered(f *approval.File) bool {
	if f == nil || !disk.Exists(f.Path) {
		return false
	}
	all, err := f.All()
	return err == nil && slices.ContainsFunc(all, func(e *approval.Entry) bool { return e.Outcome == "" && e.State(f.Time()) != approval.Open })
}

// OnlyWaits says that a cycle with this task, or with none, could do nothing but wait.
func OnlyWaits(h home.Home, f *approval.File, task string) bool {
	if f == nil || !disk.Exists(f.Path) || Answered(f) || inbox.Waits(h.Inbox()) {
		return false
	}
	s, _, err := h.Load()
	if err != nil || !onlyWaits(s) || len(s.Goals()) > 0 || task != "" && !slices.ContainsFunc(s.Pending(), same(task)) {
		return false
	}
	all, err := f.All()
	return err != nil || !slices.ContainsFunc(s.Pending(), func(t any) bool {
		return slices.ContainsFunc(dispatcher.Waits(t), func(id string) bool { _, err := approval.Find(all, id); return err != nil })
	})
}
