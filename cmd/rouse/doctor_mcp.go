package main

import (
	"context"
	"fmt"
	"strings"

	"rouse/agent/config"
	"rouse/home"
	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/tools"
	"rouse/tools/mcp"
)

// checkServers starts the MCP servers of the home and says what is wrong with
// them. Without any there is nothing to check.
func (a *app) checkServers(h home.Home, conf config.Config) []check {
	c, err := a.mcpConfig(h, conf)
	if err != nil {
		return []check{{Check: "mcp", Found: err.Error(), Hint: "mend .mcp.json"}}
	}
	if len(c.Servers) == 0 {
		return nil
	}
	hide := a.redactorOf(h, conf)
	s := mcp.Start(context.Background(), c, mcpOptions(h, &proc.Runner{Env: proc.Environ(a.harmless(conf))}, hide))
	defer s.Close()
	checks := []check{{Check: "mcp", OK: true, Found: fmt.Sprintf("%d servers, %d tools", len(c.Servers), len(s.Tools()))}}
	for _, p := range s.Problems() {
		checks = append(checks, check{Check: "mcp", Found: text.Line(hide.String(p), 500)})
	}
	return append(checks, checkNotes(s.Tools())...)
}

// checkNotes names the tools that have a parameter of their own in the place of
// the one for notes.
func checkNotes(list []tools.Tool) []check {
	var own []string
	for _, t := range list {
		if tools.HasOwnNote(t.Parameters()) {
			own = append(own, t.Name)
		}
	}
	if own == nil {
		return nil
	}
	return []check{{Check: "notes", OK: true, Found: "calls of " + strings.Join(own, ", ") + " come without notes",
		Hint: "they have a parameter " + tools.NoteParam + " of their own, and keep it"}}
}
