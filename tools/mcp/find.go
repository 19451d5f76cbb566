package mcp

import (
	"fmt"
	"slices"

	"rouse/internal/text"
	"rouse/tools"
)

// Pick is the configuration with one server, which is to run.
func (c Config) Pick(name string) (Config, error) {
	i := slices.IndexFunc(c.Servers, func(s Server) bool { return s.Name == name })
	switch {
	case i < 0:
		return c, fmt.Errorf(".mcp.json: there is no server %s", text.Line(name, 40))
	case c.Servers[i].Disabled:
		return c, fmt.Errorf(".mcp.json: server %s is disabled", text.Line(name, 40))
	}
	return Config{Dir: c.Dir, Servers: c.Servers[i : i+1]}, nil
}

// Find gives a tool that is on, by its server's name for it.
func (s *Servers) Find(name string) (tools.Tool, error) {
	for _, o := range s.Offers() {
		if o.Tool != name && o.Name != name {
			continue
		}
		for _, t := range s.Tools() {
			if t.Name == o.Name {
				return t, nil
			}
		}
		return tools.Tool{}, fmt.Errorf("tool %s is %s, and off until you run: rouse mcp accept %s", text.Line(name, 40), o.State, o.Server)
	}
	return tools.Tool{}, fmt.Errorf("there is no tool %s", text.Line(name, 40))
}
