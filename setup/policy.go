package setup

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"rouse/agent"
	"rouse/agent/config"
	"rouse/dispatcher"
	"rouse/dispatcher/policy"
	"rouse/internal/object"
	"rouse/journal"
	"rouse/tools"
	"rouse/tools/mcp"
	"rouse/tools/skill"
)

// policy is what the operator says of calls.
func (s *Setup) policy() policy.Policy {
	c := s.Config
	return policy.Policy{Rules: c.Policy, Posture: string(c.Posture), Hosts: slices.Concat(c.Tools.HTTP.Allow, c.Sandbox.Hosts)}
}

// consent asks the policy, where there is any.
func (s *Setup) consent() (c dispatcher.Consent) {
	if p := s.policy(); len(p.Rules) > 0 || p.Posture != "" {
		c.Marks, c.Locks = agent.Marking(p.Posture)
		c.Decide = func(_ tools.Tool, call policy.Call) policy.Decision { return p.Decide(call) }
	}
	return c
}

// Asks says why nobody can be asked, where that is so: a tool could write the answer.
func (s *Setup) Asks() error {
	if err := s.exposed(); err != nil {
		return fmt.Errorf("nobody is asked, and what a rule asks is denied: %w", err)
	}
	return nil
}

// Answers says why no answer is taken, where nobody can be asked.
func (s *Setup) Answers() error {
	if err := cmp.Or(s.Home.Wakes(), s.exposed()); err != nil {
		return fmt.Errorf("no answer is taken: %w", err)
	}
	return nil
}

// exposed says what leaves the answers open to tools.
func (s *Setup) exposed() error {
	walls, err := s.Walls()
	if err = cmp.Or(err, s.Unwalled()); err == nil && walls == nil {
		err = errors.New("no wall keeps tools from the answers; for walls write posture: careful into rouse.yaml, and no sandbox.mode: off")
	}
	return err
}

// PostureWords say what the posture means for calls; docs/sandbox.md says what for processes.
func (s *Setup) PostureWords() string {
	return map[config.Posture]string{
		config.NoPosture: "no posture: the rules of policy: hold, and nothing else",
		config.Open:      "posture open: what goes outward after text from outside and private data is allowed, and marked",
		config.Careful:   "posture careful: what goes outward after text from outside and private data is asked; goals are locked after text from outside",
		config.Strict:    "posture strict: what goes outward after text from outside and private data is denied; goals are locked after text from outside",
	}[s.Config.Posture]
}

// Ruling is what becomes of a call, or of some calls of a tool.
type Ruling struct {
	Cycle  string `json:"cycle"` // of a call of the past
	Step   int    `json:"step"`
	Tool   string `json:"tool"`
	Args   string `json:"args"`
	Effect string `json:"effect"`
	Do     string `json:"do"`
	Rule   string `json:"rule"`
	Why    string `json:"why"`
}

func (s *Setup) ruling(tool string, e policy.Effect, d policy.Decision) Ruling {
	if d.Do == policy.Ask && s.Asks() != nil {
		d.Do, d.Why = policy.Deny, d.Why+"; nobody can be asked here"
	}
	return Ruling{Tool: tool, Effect: string(e), Do: string(d.Do), Rule: d.Rule, Why: d.Why}
}

// Rulings are all that calls may meet now, by tool; those of a server are one.
func (s *Setup) Rulings() (list []Ruling, err error) {
	set, err := s.Tools()
	if err != nil {
		return nil, s.Config.Wrong(err)
	}
	names := []string{"notebook", "recall", "scratchpad_read", "scratchpad_keep"}
	for _, t := range set.All() {
		names = append(names, t.Name)
	}
	servers, err := s.Servers()
	for _, server := range servers.Servers {
		names = append(names, mcp.Prefix(server.Name)+"*")
	}
	for _, name := range names {
		t, _ := s.tool(name)
		e := policy.EffectOf(name, t.Said(nil), nil)
		for _, d := range s.policy().Could(name, e) {
			list = append(list, s.ruling(name, e, d))
		}
	}
	for i, r := range s.Config.Policy {
		if name := fmt.Sprintf("policy[%d]", i); !slices.ContainsFunc(list, func(l Ruling) bool { return l.Rule == name }) {
			list = append(list, s.ruling(cmp.Or(r.Tool, "*"), r.Effect, policy.Decision{Do: r.Do, Rule: name, Why: "decides nothing here: no tool is so, or a rule before it decides"}))
		}
	}
	return list, err
}

// tool is what is said of a tool, which need not run for that.
func (s *Setup) tool(name string) (t tools.Tool, known bool) {
	if set, err := s.Tools(); err == nil {
		t, known = set.Find(name)
	}
	servers, _ := s.Servers() // who needs them is told
	for _, server := range servers.Servers {
		if mcp.Serves(server.Name, name) {
			return tools.Tool{Name: name, Source: "mcp " + server.Name, Effect: server.Effect, Reads: server.Reads}, true
		}
	}
	if _, own := policy.Builtin(name); own && !known {
		t, known = tools.Tool{Name: name}, true
	}
	if name == skill.ToolName && !known {
		t, known = skill.Tool(nil), true
	}
	if name == "notebook" {
		t.Effect = s.cellEffect()
	}
	return t, known
}

// Rule says what would become of a call now, after texts of these origins.
func (s *Setup) Rule(name string, args json.RawMessage, from []string) (Ruling, error) {
	t, known := s.tool(name)
	if !known {
		return Ruling{}, fmt.Errorf("there is no tool %q", name)
	}
	given, err := object.Parse(args)
	if err != nil {
		return Ruling{}, fmt.Errorf("arguments of %s: %w", name, err)
	}
	consent := dispatcher.Consent{Origins: from}
	if sources := s.sources(); sources != nil {
		consent.Watch = sources.Watch
	}
	call := policy.Call{Tool: name, Args: args, Effect: policy.EffectOf(name, t.Said(args), args), Origins: consent.Could(t, args), Said: s.said}
	for _, m := range given.Members {
		if bytes.Contains(m.Value, []byte("{{step")) { // what that was is not looked up
			call.Unseen = append(call.Unseen, m.Key)
		}
	}
	r := s.ruling(name, call.Effect, s.policy().Decide(call))
	r.Args = string(args)
	return r, nil
}

// said are the words of the operator now. What cannot be read names no host.
func (s *Setup) said() string {
	rules, _ := s.Home.ReadRules()
	state, _, err := s.Home.Load()
	if err != nil {
		return rules
	}
	return agent.Said(rules, state)
}

// Past are the calls of cycles that would be asked or denied now.
func (s *Setup) Past(cycles []string) (list []Ruling, err error) {
	for _, id := range cycles {
		var from []string
		for e, err := range journal.Read(s.Home.Journal(id)) {
			if err != nil {
				return list, fmt.Errorf("cycle %s: %w", id, err)
			}
			switch d := e.Data.(type) {
			case *journal.Origin:
				from = append(from, d.From...)
			case *journal.Intent: // a tool that is gone is not called now
				if r, err := s.Rule(d.Tool, d.Args, from); err == nil && r.Do != string(policy.Allow) {
					r.Cycle, r.Step = id, d.Step
					list = append(list, r)
				}
			}
		}
	}
	return list, nil
}
