package config

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"rouse/agent/check"
)

// Standing are checks that hold for every cycle.
type Standing []check.Check

// UnmarshalYAML reads one or a list; [] is none.
func (s *Standing) UnmarshalYAML(n *yaml.Node) error {
	var v any
	if err := n.Decode(&v); err != nil || len(check.Items(v)) == 0 {
		return err
	}
	list, err := check.Parse(v)
	if err != nil {
		return fmt.Errorf("line %d: standing: %w", n.Line, err)
	}
	for i := range list {
		list[i].Standing = true
	}
	*s = list
	return nil
}
