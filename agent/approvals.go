package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

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
	"rouse/tools"
)

// park asks somebody who is there, or keeps a call for a person, and tells people of it once.
func (c *cycle) park(a dispatcher.Asked) (said journal.Approval, err error) {
	if c.Answer != nil {
		if said = c.Answer(a); said.Decision != "" {
			return said, nil
		}
	}
	if c.Approvals == nil {
		return said, errors.New(unwalled)
	}
	e := approval.Entry{
		Cycle: c.id, Tool: a.Call.Tool, Args: visible(a.Call.Args), Schema: schemaOf(a.Tool),
		Rule: a.Decision.Rule + ": " + a.Decision.Why, Said: c.Redact.String(a.Said), Origin: a.Call.Origins, Read: a.Read,
	}
	id, err := c.Approvals.Park(e)
	if c.asks++; err == nil && c.asks == maxTold {
		c.tellPeople("approvals of "+c.id, fmt.Sprintf("cycle %s asks %d calls and more: rouse approvals", c.id, c.asks))
	} else if err == nil && c.asks < maxTold {
		c.tellPeople("approval "+id, fmt.Sprintf("%s asks: %s (%s): rouse approvals approve %s", id, e.Call(), text.Line(e.Rule, 200), id))
	}
	return journal.Approval{ID: id, Decision: "asked", Why: a.Decision.Why}, err
}

// Of a home without walls, whose agent has no [Agent.Approvals].
const (
	unwalled  = "tools could write approvals.yaml"
	uncounted = unwalled + ", so that no answer in it counts"
)

// visible is JSON in which nothing is hidden from who reads the file, nor turned around.
func visible(args []byte) string {
	var b strings.Builder
	for _, r := range string(args) {
		if r <= 0x7e || unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// maxTold is how many calls of one cycle people are told of.
const maxTold = 20

func (c *cycle) tellPeople(key, said string) {
	if c.Notify != nil {
		_ = c.Notify.Tell(context.Background(), notify.Approval, key, said)
	}
}

func schemaOf(t tools.Tool) string { return approval.Sum(string(t.Parameters())) }

// news is what a cycle finds answered as it wakes.
type news struct {
	list *approval.List
	gone []string        // what tasks wait for in vain
	then []journal.Event // of a cycle that is run again
}

// carries says that something is to be carried out.
func (n news) carries(c *cycle) bool {
	return slices.ContainsFunc(n.then, func(e journal.Event) bool { return e.Event == "intent" }) ||
		slices.ContainsFunc(n.list.Entries, func(e *approval.Entry) bool { return e.State(c.now()) == approval.Approved })
}

// news looks for what people have answered.
func (c *cycle) news() (n news) {
	n.list = &approval.List{}
	switch {
	case c.Past != nil:
		n.then = c.Past.answered()
		return n
	case c.Approvals != nil && disk.Exists(c.Approvals.Path):
		list, err := c.Approvals.Load()
		if err != nil {
			c.warn(err.Error())
			c.tellPeople("approvals "+err.Error(), err.Error())
			return n
		}
		n.list = list
	case c.Approvals == nil:
		n.gone = c.loose()
	}
	for _, task := range append(c.state.Pending(), c.state.CurrentTask()) {
		for _, id := range dispatcher.Waits(task) {
			if e, err := n.list.Find(id); (err != nil || e.Outcome != "") && !slices.Contains(n.gone, id) {
				n.gone = append(n.gone, id)
			}
		}
	}
	return n
}

// unkept is the file that tools can write: only the ids in it are looked at.
func (c *cycle) unkept() *approval.File {
	return &approval.File{Path: c.Home.Approvals(), Lock: c.Home.ApprovalsLock(), Disk: c.Disk, Now: c.Now}
}

// loose are the calls there of which nobody was told that no answer counts.
func (c *cycle) loose() (ids []string) {
	if f := c.unkept(); disk.Exists(f.Path) {
		list, err := f.Load()
		if err != nil {
			c.warn(err.Error())
			return nil
		}
		for _, e := range list.Entries {
			if e.Outcome == "" {
				ids = append(ids, e.ID)
			}
		}
	}
	return ids
}

// answered tells the model what became of the calls that waited, and carries out those that
// were approved, before it is asked.
func (c *cycle) answered(ctx context.Context, n news) (err error) {
	for _, e := range n.then {
		switch d := e.Data.(type) {
		case *journal.Intent:
			_, err = c.perform(ctx, dispatcher.Action{Tool: d.Tool, Args: dispatcher.Plain(d.Args)}, d.Approval)
		case *journal.Approval:
			err = c.settled(*d)
		}
		if err != nil {
			return err
		}
	}
	var told []*approval.Entry
	for _, e := range n.list.Entries {
		a := journal.Approval{ID: e.ID, Call: c.Redact.String(e.Told()), By: e.By, Why: c.Redact.String(e.Why)}
		if err = c.outcome(ctx, e, &a); err == nil && a.Decision != "" {
			e.Outcome = strings.TrimSuffix(a.Decision+": "+a.Why, ": ")
			told, err = append(told, e), c.settled(a)
		}
		if err != nil {
			break
		}
	}
	for _, id := range n.gone {
		a := journal.Approval{ID: id, Decision: approval.Withdrawn, Why: "it is not in approvals.yaml any more"}
		if c.Approvals == nil {
			a.Why = uncounted
		}
		if e, missing := n.list.Find(id); missing == nil {
			_, why, _ := strings.Cut(e.Outcome, ": ")
			a.Decision, a.Call, a.Why = e.State(c.now()), c.Redact.String(e.Told()), c.Redact.String(why)
		}
		err = cmp.Or(err, c.settled(a))
	}
	if c.Approvals == nil && len(n.gone) > 0 {
		err = cmp.Or(err, c.unkept().Withdraw(uncounted))
	}
	if len(told) == 0 {
		return err
	}
	return cmp.Or(err, c.Approvals.Update(func(l *approval.List) error {
		for _, e := range told {
			if now, err := l.Find(e.ID); err == nil {
				now.Outcome = e.Outcome
				l.Set(now)
			}
		}
		return nil
	}))
}

// outcome says what has become of a call, or becomes of it now; nothing where it is open.
func (c *cycle) outcome(ctx context.Context, e *approval.Entry, a *journal.Approval) (err error) {
	switch state := e.State(c.now()); {
	case e.Outcome != "", state == approval.Open:
	case e.Carried != "" && strings.Contains(c.state.Notes(), " approved "+e.ID+" → "): // its cycle was killed after that
		a.Decision, a.Why = approval.Carried, "in cycle "+e.Carried
	case e.Carried != "":
		a.Decision, a.Why = approval.Unknown, "it was begun in cycle "+e.Carried+" and may have run; it is not repeated"
		c.tellPeople("approval unknown "+e.ID, "nobody knows what came of "+a.ID+" "+a.Call+": "+a.Why)
	case state != approval.Approved:
		a.Decision = state
	default:
		if e.Carried = c.begun(e); e.Carried != "" {
			return c.outcome(ctx, e, a)
		}
		return c.carry(ctx, e, a)
	}
	return nil
}

// begun is the cycle that set about to carry a call out, though the file has forgotten it, as
// it was put back or saved from an old window.
func (c *cycle) begun(e *approval.Entry) string {
	ids, _ := c.Home.Cycles(0)
	for _, id := range ids {
		if id < e.Cycle {
			break
		}
		for l := range journal.Read(c.Home.Journal(id)) {
			if d, ok := l.Data.(*journal.Intent); ok && d.Approval == e.ID {
				return id
			}
		}
	}
	return ""
}

// carry carries out what was approved, once: that it is begun is on the disk before.
func (c *cycle) carry(ctx context.Context, e *approval.Entry, a *journal.Approval) error {
	action := dispatcher.Action{Tool: e.Tool, Args: []byte(e.Args)}
	if why := c.impossible(e); why != "" {
		a.Decision, a.Why = approval.Impossible, why
		return nil
	}
	if err := cmp.Or(c.stopped(), context.Cause(ctx)); err != nil {
		return err // but not for a full memory, of which only the model could make less
	}
	err := c.spend(ctx, action)
	if err == nil {
		err = c.Approvals.Update(func(l *approval.List) error {
			now, err := l.Find(e.ID)
			if err != nil || now.State(c.now()) != approval.Approved || now.SHA256 != e.SHA256 || now.Args != e.Args || now.Tool != e.Tool {
				return errors.Join(err, fmt.Errorf("approval %s was edited as it was carried out", e.ID))
			}
			now.Carried = c.id
			l.Set(now)
			return nil
		})
	}
	if err == nil {
		a.Decision = approval.Carried
		a.Step, err = c.perform(ctx, action, e.ID)
	}
	return err
}

// perform carries a call out, and keeps what came of it for the first request.
func (c *cycle) perform(ctx context.Context, action dispatcher.Action, id string) (step int, err error) {
	c.dispatcher.Marks = c.Consent.Marks
	o, err := c.dispatcher.Carry(ctx, action, id)
	c.dispatcher.Marks = false // until there is a task
	if err == nil {
		c.carried = append(c.carried, o)
		c.talk.Add(o)
	}
	return o.Step, err
}

// impossible is why an approved call cannot be carried out any more, or "".
func (c *cycle) impossible(e *approval.Entry) string {
	t, ok := c.dispatcher.Find(e.Tool)
	switch {
	case e.Edited():
		return "its arguments were changed after it was asked, so that nobody has approved this"
	case !ok:
		return "there is no tool " + e.Tool + " any more"
	case schemaOf(t) != e.Schema:
		return "what " + e.Tool + " takes has changed since it was asked"
	}
	if err := t.Check([]byte(e.Args)); err != nil {
		return err.Error()
	}
	if d := c.dispatcher.Judge(t, policy.Call{Tool: e.Tool, Args: []byte(e.Args), Origins: e.Origin}); d.Do == policy.Deny {
		return fmt.Sprintf("the operator's policy denies it now (%s): %s", d.Rule, d.Why)
	}
	return ""
}

// settled tells of a call what became of it.
func (c *cycle) settled(a journal.Approval) error {
	err := c.dispatcher.Settle(&a)
	c.learned(a)
	return err
}

// learned lets the model know what became of a call, but for what it has the result of.
func (d *dialogue) learned(a journal.Approval) {
	if a.ID != "" && a.Decision != "asked" && (a.Decision != approval.Carried || a.Step == 0) {
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

// onlyWaits says that there are tasks, and that each waits for a person.
func onlyWaits(s *scratchpad.State) bool {
	return scratchpad.TaskText(s.CurrentTask()) == "" && len(s.Pending()) > 0 && !slices.ContainsFunc(s.Pending(), dispatcher.Ready)
}

// Waits says of a home whether people answered something, or did not in time, and whether a
// cycle with this task, or with none, could do nothing but wait.
func Waits(h home.Home, f *approval.File, task string) (answered, waits bool) {
	if f == nil || !disk.Exists(f.Path) {
		return false, false
	}
	list, err := f.Load()
	if err != nil {
		return true, false // of which a cycle tells people
	}
	answered = slices.ContainsFunc(list.Entries, func(e *approval.Entry) bool { return e.Outcome == "" && e.State(f.Time()) != approval.Open })
	s, _, failed := h.Load()
	if failed != nil || answered || inbox.Waits(h.Inbox()) || !onlyWaits(s) || len(s.Goals()) > 0 || task != "" && !slices.ContainsFunc(s.Pending(), same(task)) {
		return answered, false
	}
	for _, t := range s.Pending() {
		for _, id := range dispatcher.Waits(t) {
			if e, missing := list.Find(id); missing != nil || e.Outcome != "" {
				return false, false
			}
		}
	}
	return false, true
}
