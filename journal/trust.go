package journal

import (
	"fmt"
	"maps"

	"rouse/internal/text"
)

// Trust is what a cycle relied on without asking anybody: where its model is,
// which programs its MCP servers are, and which of their tools are accepted. The
// next cycle compares. Hashes are SHA-256, in hexadecimal, "" where not known.
type Trust struct {
	// BaseURL is model.base_url of the configuration's file, as people may see it.
	BaseURL     string `json:"base_url,omitempty"`
	BaseURLHash string `json:"base_url_sha256,omitempty"`
	// Servers are the MCP servers by name, also those that are gone by now.
	Servers map[string]TrustedServer `json:"servers,omitempty"`
}

// TrustedServer has the hashes of what an MCP server was.
type TrustedServer struct {
	Command string `json:"command,omitempty"` // or its address
	Tools   string `json:"tools,omitempty"`   // the accepted ones
}

// Set puts what is known of a server in the place of what was; an empty part
// changes nothing.
func (t *Trust) Set(name string, s TrustedServer) {
	old := t.Servers[name]
	if s.Command == "" {
		s.Command = old.Command
	}
	if s.Tools == "" {
		s.Tools = old.Tools
	}
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

func (a *Accepted) text() string {
	return fmt.Sprintf("accept the tools of mcp %q, as .mcp.lock.json has them", text.Line(a.Server, 80))
}
