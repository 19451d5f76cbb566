package agent

import (
	"strings"

	"rouse/dispatcher"
	"rouse/dispatcher/policy"
	"rouse/scratchpad"
	"rouse/scratchpad/origin"
	"rouse/tools"
)

// consent is that of the agent, which is told in this cycle what the operator said.
func (c *cycle) consent() dispatcher.Consent {
	consent := c.Consent
	if c.Approvals != nil || c.Answer != nil {
		consent.Ask = c.park
	}
	if decide := consent.Decide; decide != nil {
		consent.Decide = func(t tools.Tool, call policy.Call) policy.Decision {
			call.Said = func() string { return Said(c.woken.rules, c.state) }
			return decide(t, call)
		}
	}
	return consent
}

// Said are the words of the operator, and of the agent where it had nothing from outside:
// the rules, the task and the goals.
func Said(rules string, s *scratchpad.State) string {
	all, items := []string{rules}, []any{s.CurrentTask()}
	if marks, _ := s.Value(origin.Key); origin.OfKey(marks, "goals") == nil {
		items = append(items, s.Goals()...)
	}
	for _, item := range items {
		if m, ok := item.(map[string]any); !ok || m["origin"] == nil {
			all = append(all, scratchpad.TaskText(item))
		}
	}
	return strings.Join(all, "\n")
}
