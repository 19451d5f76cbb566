package mcp

import (
	"encoding/json"
	"fmt"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"rouse/internal/redact"
	"rouse/tools"
)

// Unwrap makes a tool's result of the result of a call as it was on the wire: its
// texts go to out as they are, so that lines are lines; pictures and other binary
// content are media; structured content that no text repeats is appended as JSON.
// hide takes the secrets out of what is cut, before it is.
func Unwrap(out io.Writer, result json.RawMessage, hide *redact.Redactor) (tools.Result, error) {
	res := &sdk.CallToolResult{}
	if err := json.Unmarshal(result, res); err != nil {
		return tools.Result{}, fmt.Errorf("result of a call: %w", err)
	}
	return unwrapper{out: out, hide: hide}.unwrap(res, result), nil
}
