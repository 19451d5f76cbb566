package history

import "cmp"

// Effect is what a call may change.
type Effect string

// The effects. What is kept here undoes one on the workspace, and nothing undoes one
// that went out.
const (
	None      Effect = "none"
	Workspace Effect = "workspace"
	Outward   Effect = "outward"
)

// Effects are those of tools that walls confine, as these allow it.
type Effects map[string]Effect

// Of is the one table of effects by tool. What neither it nor walls say is outward: a
// shell, a notebook, other people's tools, and a page that was asked for.
func (e Effects) Of(tool string) Effect {
	switch tool {
	case "echo", "read_file", "list_files", "scratchpad_read", "recall", "update_scratchpad", "done":
		return None
	case "write_file":
		return Workspace
	}
	return cmp.Or(e[tool], Outward)
}

// Touches says that a call can change the workspace: an outward one too, but for a page
// that was asked for.
func (e Effect) Touches(tool string) bool { return e != None && tool != "http_get" }
