package journal

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"rouse/internal/text"
)

// Trust is what a cycle relied on without asking anybody: where its model is,
// which programs its MCP servers are, and which of their tools are accepted. The
// next cycle compares. Hashes are SHA-256, in hexadecimal, "" where not known.
type Trust struct {
	// BaseURL is model.base_url of the configuration's file, as people may see it.
	BaseURL     string `json:"base_url,omitempty"`
	BaseURLHash string `json:"base_url_sha256,omitempty"`
	// AskedHash is of the address that the cycle really asked, such as one of the
	// environment.
	AskedHash string `json:"asked_sha256,omitempty"`
	// Fallback are those of model.fallback, and FallbackHashes of each with the name of its
	// key; "none" where there are none, and nothing in journals that do not know them.
	Fallback       []string `json:"fallback,omitempty"`
	FallbackHashes []string `json:"fallback_sha256,omitempty"`
	// Notebook is notebook.endpoint, and NotebookHash of it with the name of its token.
	Notebook     string `json:"notebook,omitempty"`
	NotebookHash string `json:"notebook_sha256,omitempty"`
	// Servers are the MCP servers by name, also those that are gone by now.
	Servers map[string]TrustedServer `json:"servers,omitempty"`
	// Skills are those that a person accepted, by name; not in journals.
	Skills map[string]TrustedSkill `json:"skills,omitempty"`
	// ByTool is rouse.yaml as a tool left it, as in [Sleep.Left]. It goes on from cycle to
	// cycle, and means something while the file is that.
	ByTool string `json:"by_tool,omitempty"`
	// Written are files that a verb left so, as in [Sleep.Left]; not in journals.
	Written map[string]string `json:"written,omitempty"`
}

// TrustedServer has the hashes of what an MCP server was.
type TrustedServer struct {
	Command string `json:"command,omitempty"` // or its address
	Tools   string `json:"tools,omitempty"`   // the accepted ones
}

// TrustedSkill is a skill that was accepted.
type TrustedSkill struct {
	Hash string `json:"sha256"` // of all its files
	From string `json:"from"`   // where it was taken from
}

// Set puts what is known of a server in the place of what was; an empty part
// changes nothing.
func (t *Trust) Set(name string, s TrustedServer) {
	old := t.Servers[name]
	s.Command, s.Tools = cmp.Or(s.Command, old.Command), cmp.Or(s.Tools, old.Tools)
	t.Servers = maps.Clone(t.Servers)
	if t.Servers == nil {
		t.Servers = map[string]TrustedServer{}
	}
	t.Servers[name] = s
}

// Accepted says which tools of an MCP server hold from now on: those that it had
// when it was first seen, or that a person accepted.
type Accepted struct {
	Server string `json:"server"`
	Tools  string `json:"tools"` // SHA-256 of the accepted list
}

func (*Accepted) event() string { return "accepted" }

// Changed says that a file of the home is not what Rouse left there: somebody
// else changed it, a person or a process.
type Changed struct {
	File string `json:"file"`
	// Was and Is are as in [Sleep.Left], "" where there was no file.
	Was string `json:"was"`
	Is  string `json:"is"`
	// Since is the cycle that left the file as it was, "" where that is this one.
	Since string `json:"since,omitempty"`
	// Step is the call during which it was changed, if it was during one.
	Step int `json:"step,omitempty"`
	// Keys are the keys of the memory that differ.
	Keys []string `json:"keys,omitempty"`
}

func (*Changed) event() string { return "changed" }

// String is the change in one line for people.
func (c *Changed) String() string {
	line := c.File
	if len(c.Keys) > 0 {
		line += fmt.Sprintf(" (%s)", text.Line(strings.Join(c.Keys, ", "), 200))
	}
	switch {
	case c.Is == "":
		line += " was removed or emptied"
	case c.Was == "":
		line += " was added"
	default:
		line += " was changed"
	}
	switch {
	case c.Since != "":
		return line + " since cycle " + c.Since
	case c.Step > 0:
		return fmt.Sprintf("%s while step %d ran", line, c.Step)
	}
	return line + " while the cycle was awake, not during a call"
}

// Shrunk is a key of the memory that lost half of what it held, or all. Was and Is are
// about how many bytes it held.
type Shrunk struct {
	Key string `json:"key"`
	Was int    `json:"was"`
	Is  int    `json:"is"`
}
