package mcp

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

const (
	maxName   = 64 // of a tool, as models take it
	maxServer = 30 // of the part that names the server
)

// Separator stands in the name of a tool between its server's part and its own.
const Separator = "__"

// toolName is the name under which models see a server's tool: server__tool.
// The server's part is the operator's word and has no "__", so no tool of one
// server can have the name of one of another. A part that is no name, or is too
// long, is made one and told apart by a hash of what it was.
func toolName(server, tool string) string {
	prefix := clean(server)
	if prefix != server || len(prefix) > maxServer || strings.Contains(prefix, Separator) || strings.HasSuffix(prefix, "_") {
		prefix = marked(strings.ReplaceAll(prefix, Separator, "_"), server, maxServer)
	}
	prefix += Separator
	name := clean(tool)
	if name != tool || name == "" || len(prefix)+len(name) > maxName {
		name = marked(name, tool, maxName-len(prefix))
	}
	return prefix + name
}

// Serves says whether a tool with this name, as models see it, would be one of a server.
func Serves(server, tool string) bool {
	return strings.HasPrefix(tool, Prefix(server))
}

// Prefix begins the names of a server's tools.
func Prefix(server string) string {
	prefix, _, _ := strings.Cut(toolName(server, "x"), Separator)
	return prefix + Separator
}

// clean replaces every character that a name cannot have.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}

// marked is name, cut so that a mark of what it stands for has a place in most bytes.
func marked(name, original string, most int) string {
	mark := fmt.Sprintf("-%.4x", sha256.Sum256([]byte(original)))
	return strings.TrimRight(name[:min(len(name), most-len(mark))], "_") + mark
}
