package journal

import (
	"strings"

	"rouse/scratchpad"
)

// Policy is what the operator's rules say of a call that is not simply carried out.
type Policy struct {
	Step int    `json:"step"`
	Rule string `json:"rule"`
	Do   string `json:"do"` // allow, ask or deny
	Why  string `json:"why,omitempty"`
}

// Approval is what becomes of a call that waits for a person.
type Approval struct {
	ID string `json:"id"`
	// Decision is asked, approve, denied, expired, withdrawn, carried, unknown or impossible.
	Decision string `json:"decision"`
	By       string `json:"by,omitempty"`
	Step     int    `json:"step,omitempty"` // of the call, in this cycle
	Why      string `json:"why,omitempty"`
	// Call is what it is about, in a line.
	Call string `json:"call,omitempty"`
	// Changes are what the memory keeps of it.
	Changes []scratchpad.Change `json:"changes,omitempty"`
}

// Said is what became of it, in words.
func (a Approval) Said() string {
	said := strings.TrimSpace(a.ID+" "+a.Call) + ": " + a.Decision
	if a.By != "" {
		said += " by " + a.By
	}
	if a.Why != "" {
		said += ": " + a.Why
	}
	return said
}

// Origin says that the cycle has a text from outside, or what is private, from now on.
type Origin struct {
	Step int      `json:"step,omitempty"` // 0 is its memory, as it woke
	From []string `json:"from"`
	Told bool     `json:"told,omitempty"` // of a task that was told then
}

func (*Policy) event() string   { return "policy" }
func (*Approval) event() string { return "approval" }
func (*Origin) event() string   { return "origin" }
