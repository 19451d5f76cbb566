package journal

import (
	"slices"

	"rouse/internal/text"
)

// Refused is what the sandbox kept a call's process from.
type Refused struct {
	Step int `json:"step"`
	// What is the kind and the thing: "host pypi.org", "read /etc/x", "write /etc/x",
	// "network", "limit cpu".
	What string `json:"what"`
}

func (*Refused) event() string { return "refused" }

// Refusal is one of a cycle's, and how often it came.
type Refusal struct {
	What  string `json:"what"`
	Count int    `json:"count"`
}

// maxRefusals is how many of a cycle's are kept apart.
const maxRefusals = 20

// Refuse counts what the sandbox refused.
func (c *Counts) Refuse(r *Refused) {
	if i := slices.IndexFunc(c.Sandbox, func(k Refusal) bool { return k.What == r.What }); i >= 0 {
		c.Sandbox[i].Count++
	} else if len(c.Sandbox) < maxRefusals {
		c.Sandbox = append(c.Sandbox, Refusal{r.What, 1})
	}
}

// String is it in words.
func (r Refusal) String() string {
	if r.Count < 2 {
		return r.What
	}
	return r.What + " (" + text.Count(r.Count, "time") + ")"
}
