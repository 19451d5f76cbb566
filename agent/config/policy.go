package config

import (
	"fmt"
	"slices"
	"strings"

	"rouse/dispatcher/policy"
	"rouse/tools/command"
)

// checkPolicy reports the first rule that cannot be meant.
func (c *Config) checkPolicy() error {
	for i, r := range c.Policy {
		if err := r.Check(); err != nil {
			return fmt.Errorf("policy[%d].%w", i, err)
		}
		known := r.Tool == "" || strings.ContainsAny(r.Tool, "*?") || strings.Contains(r.Tool, "__")
		if _, own := policy.Builtin(r.Tool); !known && !own && !slices.ContainsFunc(c.Tools.Commands, func(s command.Spec) bool { return s.Name == r.Tool }) {
			return fmt.Errorf("policy[%d].tool %q: there is no such tool; those of MCP servers are called server__tool, and * stands for anything", i, r.Tool)
		}
	}
	return nil
}
