package policy

import (
	"cmp"
	"encoding/json"
)

// Effect is what a call may change.
type Effect string

// The effects. What a home keeps of its history undoes one on the workspace, and nothing
// undoes one that went out.
const (
	None      Effect = "none"
	Workspace Effect = "workspace"
	Outward   Effect = "outward"
)

// Builtin is the one table of Rouse's own tools. Those with no effect there have the one
// that walls leave them.
func Builtin(tool string) (e Effect, ok bool) {
	switch tool {
	case "echo", "read_file", "list_files", "scratchpad_read", "scratchpad_keep", "recall", "update_scratchpad", "done":
		return None, true
	case "write_file":
		return Workspace, true
	case "http_get":
		return Outward, true
	case "shell", "notebook":
		return "", true
	}
	return "", false
}

// EffectOf is the effect of a call, where said is what the operator or walls say of its
// tool. What nobody says anything of is outward: a shell, a notebook, other people's tools.
func EffectOf(tool, said string, args json.RawMessage) Effect {
	e, _ := Builtin(tool)
	if tool == "notebook" {
		var a struct{ Action string }
		if json.Unmarshal(args, &a) == nil && a.Action == "install" { // from a package index
			return Outward
		}
	}
	if tool == "write_file" && said == string(Outward) { // into a folder beside the workspace
		return Outward
	}
	return cmp.Or(e, Effect(said), Outward)
}

// Touches says that a call can change the workspace: an outward one too, but for a page
// that was asked for.
func (e Effect) Touches(tool string) bool { return e != None && tool != "http_get" }
