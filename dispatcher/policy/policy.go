// Package policy decides, by the operator's rules, whether a call is carried out, waits
// for a person, or is refused.
package policy

import (
	"encoding/json"

	"rouse/scratchpad/origin"
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

// Do is what becomes of a call.
type Do string

// Allow carries it out, Ask parks it until a person has answered, Deny refuses it.
const (
	Allow Do = "allow"
	Ask   Do = "ask"
	Deny  Do = "deny"
)

// Call is a call that is about to be carried out.
type Call struct {
	Tool string
	// Args are its arguments, references resolved.
	Args   json.RawMessage
	Effect Effect
	// Origins are what the cycle, with its memory, has read before.
	Origins origin.Set
}

// Decision is what the rules say of a call.
type Decision struct {
	Do Do
	// Rule names the rule that decided, such as "policy[2]" or "careful"; "" is none.
	Rule string
	Why  string
}
