package dispatcher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"rouse/dispatcher/policy"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/origin"
	"rouse/tools"
)

// Consent is what the operator has to say of calls. The zero value allows all.
type Consent struct {
	// Decide says what the rules have for a call.
	Decide func(tools.Tool, policy.Call) policy.Decision
	// Ask keeps a call for a person to answer, and gives its id; why that cannot be is for
	// the model to read. Without it nobody can be asked, and what is to be asked is refused.
	Ask func(Asked) (id string, err error)
	// Answer, unless nil, asks somebody who is there; Ask leaves it for later.
	Answer func(Asked) (do policy.Do, by, why string)
	// Origins are where the texts came from that the cycle has: first those of its memory.
	Origins origin.Set
	// Waited says that the task was put behind the others, as it waits for a person.
	Waited bool
	// Watch, unless nil, is told of a call that begins, and says then of its result where
	// that came from. Without it nothing has an origin.
	Watch func(tools.Tool, tools.Call) func(tools.Result) []string
	// Marks says that what the cycle writes into the memory carries them, and Locks that
	// with one from outside goals are no more the model's to change.
	Marks, Locks bool
}

// watch is [Consent.Watch].
func (c Consent) watch(tool tools.Tool, call tools.Call) func(tools.Result) []string {
	if c.Watch == nil {
		return func(tools.Result) []string { return nil }
	}
	return c.Watch(tool, call)
}

// Could are the origins that the cycle has, private too where the call may both read what
// is and carry it away.
func (c Consent) Could(tool tools.Tool, args json.RawMessage) origin.Set {
	if origin.Set(c.watch(tool, tools.Call{Args: args})(tools.Result{})).Private() {
		return c.Origins.With(origin.Private)
	}
	return c.Origins
}

// Asked is a call that a person is asked about.
type Asked struct {
	Step     int
	Tool     tools.Tool
	Call     policy.Call
	Decision policy.Decision
	// Said is the model's reason, and Read are the calls before it that gave something.
	Said string
	Read []string
}

// consent says whether a call is carried out; else the observation has its answer.
func (d *Dispatcher) consent(tool tools.Tool, r *resolver, args *json.RawMessage, o *Observation) (yes bool, err error) {
	if d.Past != nil {
		return d.consentAgain(o)
	}
	if d.Decide == nil {
		return true, nil
	}
	call := policy.Call{Tool: o.Tool, Args: *args, Unseen: slices.Sorted(maps.Keys(r.streams)), Effect: policy.EffectOf(o.Tool, tool.Effect, *args), Origins: d.Could(tool, *args)}
	decision := d.Decide(tool, call)
	if decision.Do == policy.Ask && d.Ask == nil && d.Answer == nil {
		decision.Do, decision.Why = policy.Deny, decision.Why+"; it would wait for a yes, and nobody can be asked here"
	}
	if decision.Do != policy.Allow || decision.Rule != "" {
		err = d.Journal.Append(&journal.Policy{Step: o.Step, Rule: decision.Rule, Do: string(decision.Do), Why: decision.Why})
	}
	if err != nil || decision.Do == policy.Allow {
		return true, err
	}
	if decision.Do == policy.Deny {
		return false, d.refuse(o, fmt.Sprintf("not carried out: the operator's policy (%s) denies it: %s; do not try it in another way, go on without", decision.Rule, decision.Why))
	}
	if call.Args, err = r.whole(*args); err != nil {
		return false, d.refuse(o, badArguments+err.Error())
	}
	*args = call.Args
	return d.ask(Asked{o.Step, tool, call, decision, d.noted, d.read()}, o)
}

// ask asks a person about a call: one who is there, or else later.
func (d *Dispatcher) ask(a Asked, o *Observation) (yes bool, err error) {
	if d.Answer != nil {
		do, by, why := d.Answer(a)
		if do == policy.Allow {
			return true, d.Journal.Append(&journal.Approval{Decision: "approve", By: by, Why: why, Step: o.Step})
		}
		if do == policy.Deny {
			err := d.Journal.Append(&journal.Approval{Decision: "denied", By: by, Why: why, Step: o.Step})
			return false, errors.Join(err, d.refuse(o, "not carried out: the operator said no: "+why))
		}
	}
	err = errors.New("nobody can be asked here")
	id := ""
	if d.Ask != nil {
		id, err = d.Ask(a)
	}
	if err != nil {
		return false, d.refuse(o, fmt.Sprintf("not carried out: the operator is to be asked (%s), and cannot be: %v; go on without", a.Decision.Rule, err))
	}
	said := &journal.Approval{ID: id, Decision: "asked", Step: o.Step, Why: a.Decision.Why, Changes: waiting(d.State, id)}
	if d.apply(said.Changes) != nil {
		said.Changes = nil // the memory is full
	}
	if err := d.Journal.Append(said); err != nil {
		return false, err
	}
	return false, d.refuse(o, fmt.Sprintf("not carried out yet: it waits for the operator's yes as %s: %s (%s); do not ask again, go on with what does not need it", id, a.Decision.Why, a.Decision.Rule))
}

// consentAgain is what came of consent in a cycle that is run again.
func (d *Dispatcher) consentAgain(o *Observation) (yes bool, err error) {
	then, err := d.Past(o.Step)
	if err != nil || then.Begun && len(then.Consent) == 0 {
		return true, nil // why there is nothing is met when the call begins
	}
	for _, e := range then.Consent {
		if said, ok := e.(*journal.Approval); ok {
			err = errors.Join(err, d.apply(said.Changes))
		}
		err = errors.Join(err, d.Journal.Append(e))
	}
	if err != nil || then.Begun {
		return true, err
	}
	return false, d.refuse(o, then.Result.Error)
}

// read are the calls of the cycle that gave something, the last of them.
func (d *Dispatcher) read() (list []string) {
	const most = 20
	for step := d.step - 1; step > 0 && len(list) < most; step-- {
		if o, ok := d.past[step]; ok && o.OK && o.Tool != "update_scratchpad" {
			list = append(list, fmt.Sprintf("step %d %s(%s)", step, text.Line(o.Tool, 64), text.Line(string(o.Args), 200)))
		}
	}
	slices.Reverse(list)
	return list
}

// whole are arguments with what would be streamed: as a person is shown them.
func (r *resolver) whole(args json.RawMessage) (json.RawMessage, error) {
	if len(r.streams) == 0 {
		return args, nil
	}
	var given map[string]any
	if err := json.Unmarshal(args, &given); err != nil {
		return nil, err
	}
	for name, in := range r.streams {
		text, err := io.ReadAll(io.LimitReader(in, maxSplice+1))
		if err == nil && len(text) > maxSplice {
			err = fmt.Errorf("%s has more than %d bytes, which nobody can be asked about: write it to a file first", name, maxSplice)
		}
		if err != nil {
			return nil, err
		}
		given[name] = string(text)
		in.Close()
	}
	r.streams = nil
	return json.Marshal(given)
}

// Carry carries out a call that a person has approved, as it is: nothing in it refers to
// anything.
func (d *Dispatcher) Carry(ctx context.Context, a Action, id string) (Observation, error) {
	d.step++
	o := Observation{Step: d.step, Tool: a.Tool, Args: a.Args, approved: id}
	tool, _ := d.Find(a.Tool)
	err := d.perform(ctx, tool, tools.Call{Args: a.Args}, &o)
	o.Images = nil
	d.keep(o)
	return o, err
}

// Settle tells of a call what became of it, and lets go on what waited for that.
func (d *Dispatcher) Settle(a *journal.Approval) error {
	changes := free(d.State, a.ID)
	if a.Decision != "carried" { // of which the notes have the result
		changes = append(changes, note("\n[APPROVAL] "+text.Line(a.Said(), noteLimit)))
	}
	if d.apply(changes) == nil {
		a.Changes = changes // else the memory is full
	}
	return d.Journal.Append(a)
}

// Learn takes in where the texts came from that the cycle has since a step; 0 is its
// beginning.
func (d *Dispatcher) Learn(step int, from []string) error {
	all := d.Origins
	for _, name := range from {
		all = all.With(d.Redact.String(name))
	}
	if len(all) == len(d.Origins) {
		return nil
	}
	news := all[len(d.Origins):]
	d.Origins = all
	return d.Journal.Append(&journal.Origin{Step: step, From: news})
}

// waitsKey is the key of a task that has the ids of what it waits for.
const waitsKey = "waits"

// Waits are the ids of the calls that a task waits for.
func Waits(task any) (ids []string) {
	m, _ := task.(map[string]any)
	list, _ := m[waitsKey].([]any)
	for _, id := range list {
		if id, ok := id.(string); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// Ready says that a task does not wait.
func Ready(task any) bool { return len(Waits(task)) == 0 }

// waiting are the changes that let the current task wait for a call.
func waiting(s *scratchpad.State, id string) []scratchpad.Change {
	task := s.CurrentTask()
	ids := Waits(task)
	if task == nil || slices.Contains(ids, id) {
		return nil
	}
	return []scratchpad.Change{{Op: scratchpad.OpSet, Key: "current_task", Value: withWaits(task, append(ids, id))}}
}

// withWaits is a task that waits for these calls, and of which nothing else changes.
func withWaits(task any, ids []string) any {
	m := map[string]any{"task": task}
	if old, ok := task.(map[string]any); ok {
		m = mapWithout(old, waitsKey)
	}
	if len(ids) == 0 {
		if name, ok := m["task"]; ok && len(m) == 1 {
			return name
		}
		return m
	}
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = id
	}
	m[waitsKey] = list
	return m
}

// free are the changes with which nothing waits for a call any more: a task that waits for
// nothing else comes in front.
func free(s *scratchpad.State, id string) []scratchpad.Change {
	var freed, rest []any
	for i, task := range queue(s) {
		ids := Waits(task)
		if slices.Contains(ids, id) {
			task = withWaits(task, slices.DeleteFunc(ids, func(one string) bool { return one == id }))
			if i > 0 && Ready(task) {
				freed = append(freed, task)
				continue
			}
		}
		rest = append(rest, task)
	}
	if len(freed) > 0 && rest[0] == nil {
		rest = rest[1:]
	}
	return requeue(queue(s), append(freed, rest...))
}

// postpone ends a cycle whose task waits: it goes behind the others.
func (d *Dispatcher) postpone(o *Observation, summary string) error {
	task := d.State.CurrentTask()
	ids := text.Join(Waits(task), ", ", func(id string) string { return id })
	o.Done, d.Waited, o.Content = true, true, "the cycle ends, and the task waits for the operator's answer to "+ids
	changes := append(Promote(d.State), scratchpad.Change{Op: scratchpad.OpExtend, Key: "pending_actions", Value: []any{task}},
		note("\n[WAITING] for "+ids+": "+o.marked(text.Line(summary, len(summary)))))
	if err := d.Change(changes...); !errors.Is(err, scratchpad.ErrFull) {
		return err
	}
	return nil // the task stays where it is
}
