package doctor

import (
	"context"
	"fmt"
	"strings"

	"rouse/internal/text"
	"rouse/setup"
	"rouse/tools"
)

// checkServers starts the MCP servers of the home and says what is wrong with
// them, and which tools they have. Without any there is nothing to check.
func checkServers(home *setup.Setup) (checks []setup.Check, offered []tools.Tool) {
	c, err := home.Servers()
	if err != nil {
		return []setup.Check{{Check: "mcp", Found: err.Error(), Hint: "mend .mcp.json"}}, nil
	}
	if len(c.Servers) == 0 {
		return nil, nil
	}
	s := home.StartServers(context.Background(), c)
	defer s.Close()
	hide := home.Redactor()
	checks = []setup.Check{{Check: "mcp", OK: true, Found: fmt.Sprintf("%d servers, %d tools", len(c.Servers), len(s.Tools()))}}
	for _, p := range s.Problems() {
		checks = append(checks, setup.Check{Check: "mcp", Found: text.Line(hide.String(p), 500)})
	}
	return append(checks, checkNotes(s.Tools())...), s.Tools()
}

// checkNotes names the tools that have a parameter of their own in the place of
// the one for notes.
func checkNotes(list []tools.Tool) []setup.Check {
	var own []string
	for _, t := range list {
		if t.HasOwnNote() {
			own = append(own, t.Name)
		}
	}
	if own == nil {
		return nil
	}
	return []setup.Check{{Check: "notes", OK: true, Found: "calls of " + strings.Join(own, ", ") + " come without notes",
		Hint: "they have a parameter " + tools.NoteParam + " of their own, and keep it"}}
}
