package doctor

import (
	"slices"

	"rouse/dispatcher/policy"
	"rouse/internal/sandbox"
	"rouse/setup"
)

// checkPolicy says where nobody can be asked although a rule asks.
func checkPolicy(s *setup.Setup) []setup.Check {
	asks := slices.ContainsFunc(s.Config.Policy, func(r policy.Rule) bool { return r.Do == policy.Ask })
	if err := s.Asks(); asks && err != nil {
		return []setup.Check{{Check: "policy", OK: true, Found: err.Error()}}
	}
	return nil
}

// Walls says of each promise of the sandbox what keeps it here. What is not kept
// fails only where it is required.
func Walls(s *setup.Setup) (checks []setup.Check) {
	w, err := s.Walls()
	switch {
	case err != nil:
		return []setup.Check{{Check: "sandbox", Found: err.Error()}}
	case w == nil && s.Config.Walls().Posture != "":
		return []setup.Check{{Check: "sandbox", OK: true, Found: "off: tools reach all that you can", Hint: "for walls remove sandbox.mode: off from rouse.yaml"}}
	case w == nil:
		return append(checkIdle(s), setup.Check{Check: "sandbox", OK: true, Found: setup.NoPosture})
	}
	if err := s.Unwalled(); err != nil {
		checks = append(checks, setup.Check{Check: "sandbox", Found: err.Error()})
	}
	checks = append(checks, setup.Check{Check: "sandbox", OK: true, Found: w.String(), Hint: w.Lacks})
	for _, h := range w.Holds() {
		checks = append(checks, checkHold(h))
	}
	return checks
}

// checkIdle names the sandboxes of servers that hold nothing, as the home has no walls.
func checkIdle(s *setup.Setup) (checks []setup.Check) {
	c, _ := s.Servers() // who needs them is told
	for _, server := range c.Servers {
		if server.Sandbox.Set() {
			checks = append(checks, setup.Check{Check: "sandbox", Found: "that of the MCP server " + server.Name + " in .mcp.json holds nothing in a home without a posture",
				Hint: "add the line posture: careful to rouse.yaml"})
		}
	}
	return checks
}

// checkHold is a row of the table of promises.
func checkHold(h sandbox.Hold) setup.Check {
	c := setup.Check{Check: "sandbox", OK: true, Found: string(h.Promise) + ": not kept", Hint: h.Lacks}
	if h.By != "" {
		c.Found = string(h.Promise) + ": kept by " + h.By
	}
	return c
}
