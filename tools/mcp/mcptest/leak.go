package mcptest

import (
	"encoding/base64"
	"os"
	"strings"
)

// LeakFile is where the mode "leak" has the secret from that it tells everywhere.
const LeakFile = "workspace/secret.txt"

func secret() string {
	data, err := os.ReadFile(LeakFile)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// leakyTool has the secret in all that is listed of a tool, also where it is cut.
func leakyTool() map[string]any {
	t := tool("tell-"+secret(), strings.Repeat("x", 8<<10-20)+secret())
	t["inputSchema"] = map[string]any{"type": "object", "description": secret(), "properties": map[string]any{
		secret(): map[string]any{"type": "string"}, "kind": map[string]any{"enum": []any{secret(), "a"}},
	}}
	return t
}

// leak is a result that has the secret in all its parts, also where it is cut; of
// the tool say, an error.
func leak(name string) map[string]any {
	if name == "say" {
		r := text(strings.Repeat("x", 180) + secret())
		r["isError"] = true
		return r
	}
	blob := func(kind, data string) map[string]any {
		return map[string]any{"type": "resource", "resource": map[string]any{
			"uri": "file:///a", "mimeType": kind, "blob": base64.StdEncoding.EncodeToString([]byte(data)),
		}}
	}
	return map[string]any{"content": []any{
		map[string]any{"type": "image", "mimeType": "image/gif", "data": base64.StdEncoding.EncodeToString([]byte(Pixel + secret()))},
		blob("text/"+secret(), strings.Repeat("line\n", 4)+secret()), blob("application/pdf", "%PDF-1.4\x00\xff"+secret()+"\xff"),
		map[string]any{"type": "resource_link", "uri": "file:///" + secret(), "mimeType": secret(), "name": strings.Repeat("x", 70) + secret()},
	}, "structuredContent": map[string]any{"a": secret()}}
}
