package dispatcher

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"rouse/dispatcher/policy"
	"rouse/journal"
	"rouse/scratchpad/origin"
	"rouse/tools"
)

// Consent is what the operator has to say of calls. The zero value allows all.
type Consent struct {
	// Decide says what the rules have for a call.
	Decide func(tools.Tool, policy.Call) policy.Decision
	// Ask keeps a call for a person to answer, and gives its id. Without it nobody can be
	// asked, and what is to be asked is refused.
	Ask func(Asked) (id string, err error)
	// Origins are where the texts came from that the cycle has: first those of its memory.
	Origins origin.Set
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

// could are the origins that the cycle has, private too where the call may both read what
// is and carry it away.
func (c Consent) could(tool tools.Tool, args json.RawMessage) origin.Set {
	if origin.Set(c.watch(tool, tools.Call{Args: args})(tools.Result{})).Private() {
		return c.Origins.With(origin.Private)
	}
	return c.Origins
}

// Asked is a call that a person is asked about.
type Asked struct {
	Step     int
	Call     policy.Call
	Decision policy.Decision
	// Said is the model's reason.
	Said string
}

// consent says whether a call is carried out; else the observation has its answer. What
// streams is not seen.
func (d *Dispatcher) consent(tool tools.Tool, args json.RawMessage, streams map[string]io.ReadCloser, o *Observation) (yes bool, err error) {
	if d.Past != nil {
		return d.consented(o)
	}
	if d.Decide == nil {
		return true, nil
	}
	call := policy.Call{Tool: o.Tool, Args: args, Unseen: slices.Sorted(maps.Keys(streams)), Effect: policy.EffectOf(o.Tool, tool.Effect, args), Origins: d.could(tool, args)}
	decision := d.Decide(tool, call)
	if decision.Do == policy.Ask && d.Ask == nil {
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
	id, err := d.Ask(Asked{o.Step, call, decision, d.noted})
	if err != nil {
		return false, fmt.Errorf("ask for step %d: %w", o.Step, err)
	}
	return false, d.refuse(o, fmt.Sprintf("not carried out yet: it waits for the operator's yes as %s: %s (%s); do not ask again, go on with what does not need it", id, decision.Why, decision.Rule))
}

// consented says whether a call was carried out then; else it is answered as it was.
func (d *Dispatcher) consented(o *Observation) (yes bool, err error) {
	then, err := d.Past(o.Step)
	if err != nil || then.Begun {
		return true, nil // why there is nothing is met when the call begins
	}
	return false, d.refuse(o, then.Result.Error)
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
