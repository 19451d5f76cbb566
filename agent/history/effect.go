package history

// Effect is what a call may change.
type Effect string

// The effects. What is kept here undoes one on the workspace, and nothing undoes one
// that went out.
const (
	None      Effect = "none"
	Workspace Effect = "workspace"
	Outward   Effect = "outward"
)

// EffectOf is the one table of effects by tool. What it does not say is outward: a
// shell, a notebook, other people's tools, and a page that was asked for.
func EffectOf(tool string) Effect {
	switch tool {
	case "echo", "read_file", "list_files", "scratchpad_read", "update_scratchpad", "done":
		return None
	case "write_file":
		return Workspace
	}
	return Outward
}
