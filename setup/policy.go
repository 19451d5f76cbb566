package setup

import (
	"rouse/agent"
	"rouse/dispatcher"
	"rouse/dispatcher/policy"
	"rouse/tools"
)

// Policy is what the operator says of calls.
func (s *Setup) Policy() policy.Policy {
	c := s.Config
	return policy.Policy{Rules: c.Policy, Posture: string(c.Posture), Hosts: append(c.Tools.HTTP.Allow[:len(c.Tools.HTTP.Allow):len(c.Tools.HTTP.Allow)], c.Sandbox.Hosts...)}
}

// consent asks the policy, where there is any.
func (s *Setup) consent() (c dispatcher.Consent) {
	p := s.Policy()
	if len(p.Rules) == 0 && p.Posture == "" {
		return c
	}
	c.Marks, c.Locks = agent.Marking(p.Posture)
	c.Decide = func(_ tools.Tool, call policy.Call) policy.Decision { return p.Decide(call) }
	return c
}
