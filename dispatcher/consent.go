package dispatcher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"rouse/dispatcher/policy"
	"rouse/internal/object"
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
	// Ask asks a person about a call: now, or for later, where it gives an id. Why that
	// cannot be is for the model to read. Without it nobody can be asked, and what is to be
	// asked is refused.
	Ask func(Asked) (journal.Approval, error)
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

// Judge says what the rules have for a call.
func (d *Dispatcher) Judge(tool tools.Tool, call policy.Call) policy.Decision {
	if d.Decide == nil {
		return policy.Decision{Do: policy.Allow}
	}
	call.Effect = policy.EffectOf(call.Tool, tool.Said(call.Args), call.Args)
	return d.Decide(tool, call)
}

// consent says whether a call is carried out; else the observation has its answer. What
// streams is not seen, and nobody can be asked about it.
func (d *Dispatcher) consent(tool tools.Tool, args json.RawMessage, streams map[string]io.ReadCloser, o *Observation) (yes bool, err error) {
	if d.Past != nil {
		return d.consented(o)
	}
	if d.Decide == nil {
		return true, nil
	}
	call := policy.Call{Tool: o.Tool, Args: args, Unseen: slices.Sorted(maps.Keys(streams)), Origins: d.Could(tool, args)}
	decision := d.Judge(tool, call)
	if decision.Do == policy.Ask && d.Ask == nil {
		decision.Do, decision.Why = policy.Deny, decision.Why+"; it would wait for a yes, and nobody can be asked here"
	}
	if decision.Do != policy.Allow || decision.Rule != "" {
		err = d.Journal.Append(&journal.Policy{Step: o.Step, Rule: decision.Rule, Do: string(decision.Do), Why: decision.Why})
	}
	switch {
	case err != nil || decision.Do == policy.Allow:
		return true, err
	case decision.Do == policy.Deny:
		return false, d.refuse(o, fmt.Sprintf("not carried out: the operator's policy (%s) denies it: %s; do not try it in another way, go on without", decision.Rule, decision.Why))
	case len(streams) > 0:
		return false, d.refuse(o, fmt.Sprintf("not carried out: the operator is to be asked (%s), who must see all of it: write %s out instead of referring to a result", decision.Rule, call.Unseen[0]))
	}
	return d.ask(Asked{o.Step, tool, call, decision, d.noted, d.before()}, o)
}

// hop judges where a call is redirected to, as if it had been asked for; what is to be asked
// goes on where the call itself was.
func (d *Dispatcher) hop(tool tools.Tool, args json.RawMessage) func(string) error {
	judge := func(args json.RawMessage) policy.Decision {
		return d.Judge(tool, policy.Call{Tool: tool.Name, Args: args, Origins: d.Could(tool, args)})
	}
	return func(url string) error {
		var given map[string]any
		err := object.Decode(args, &given)
		if err != nil {
			return err
		}
		given["url"] = url
		next, err := json.Marshal(given)
		if now := judge(next); err == nil && now.Do != policy.Allow && now.Do != judge(args).Do {
			err = fmt.Errorf("to %s is not followed (%s): %s", url, now.Rule, now.Why)
		}
		return err
	}
}

// ask asks a person about a call, mostly for later.
func (d *Dispatcher) ask(a Asked, o *Observation) (yes bool, err error) {
	said, err := d.Ask(a)
	if err != nil {
		return false, d.refuse(o, fmt.Sprintf("not carried out: the operator is to be asked (%s), and cannot be: %v; go on without", a.Decision.Rule, err))
	}
	said.Step, said.Changes = o.Step, waiting(d.State, said.ID)
	if d.apply(said.Changes) != nil {
		said.Changes = nil // the memory is full
	}
	switch err := d.Journal.Append(&said); {
	case err != nil || said.Decision == "approve":
		return true, err
	case said.Decision == "denied":
		return false, d.refuse(o, "not carried out: the operator said no: "+said.Why)
	}
	return false, d.refuse(o, fmt.Sprintf("not carried out yet: it waits for the operator's yes as %s: %s (%s); do not ask again, go on with what does not need it", said.ID, a.Decision.Why, a.Decision.Rule))
}

// consented says whether a call was carried out then; else it is answered as it was.
func (d *Dispatcher) consented(o *Observation) (yes bool, err error) {
	then, err := d.Past(o.Step)
	if err != nil {
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

// before are the calls of the cycle that gave something, the last of them.
func (d *Dispatcher) before() (list []string) {
	for step := max(1, d.step-20); step < d.step; step++ {
		if o, ok := d.past[step]; ok && o.OK && o.Tool != "update_scratchpad" {
			list = append(list, fmt.Sprintf("step %d %s(%s)", step, text.Line(o.Tool, 64), text.Line(string(o.Args), 200)))
		}
	}
	return list
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
	said := text.Line(a.Said(), noteLimit)
	if (a.Decision != "carried" || a.Step == 0) && !strings.Contains(d.State.Notes(), "] "+said) { // else the notes have the result, or were told by a cycle that died then
		changes = append(changes, note("\n[APPROVAL] "+said))
	}
	if d.apply(changes) == nil {
		a.Changes = changes // else the memory is full
	}
	return d.Journal.Append(a)
}

// Learn takes in where the texts came from that the cycle has since a step; 0 is its
// beginning.
func (d *Dispatcher) Learn(step int, from []string) error {
	return d.learn(journal.Origin{Step: step}, from)
}

func (d *Dispatcher) learn(o journal.Origin, from []string) error {
	all := d.Origins
	for _, name := range from {
		all = all.With(d.Redact.String(name))
	}
	if len(all) == len(d.Origins) {
		return nil
	}
	o.From = all[len(d.Origins):]
	d.Origins = all
	return d.Journal.Append(&o)
}

// waitsKey is the key of a task that has the ids of the calls that it waits for.
const waitsKey = "waits"

// Waits are the ids of the calls that a task waits for.
func Waits(task any) (ids []string) {
	m, _ := task.(map[string]any)
	list, _ := m[waitsKey].([]any)
	for _, id := range list {
		ids = append(ids, fmt.Sprint(id))
	}
	return ids
}

// Ready says that a task does not wait.
func Ready(task any) bool { return len(Waits(task)) == 0 }

// waiting are the changes that let the current task wait for a call.
func waiting(s *scratchpad.State, id string) []scratchpad.Change {
	task := s.CurrentTask()
	if ids := Waits(task); id != "" && task != nil && !slices.Contains(ids, id) {
		return []scratchpad.Change{{Op: scratchpad.OpSet, Key: "current_task", Value: withWaits(task, append(ids, id))}}
	}
	return nil
}

// withWaits is a task that waits for these calls, and of which nothing else changes.
func withWaits(task any, ids []string) any {
	m := map[string]any{"task": task}
	if old, ok := task.(map[string]any); ok {
		m = maps.Clone(old)
	}
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = id
	}
	if m[waitsKey] = list; len(ids) == 0 {
		delete(m, waitsKey)
	}
	if name, ok := m["task"]; ok && len(m) == 1 {
		return name
	}
	return m
}

// free are the changes with which nothing waits for a call any more: a task that waits for
// nothing else comes in front.
func free(s *scratchpad.State, id string) []scratchpad.Change {
	var freed, rest []any
	for _, task := range queue(s) {
		ids := Waits(task)
		if i := slices.Index(ids, id); i >= 0 {
			if task = withWaits(task, slices.Delete(ids, i, i+1)); len(rest) > 0 && Ready(task) {
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
