package tools

import (
	"context"
	_ "embed"
)

//go:embed echo.md
var echoText string

type echoArgs struct {
	Message string `json:"message"`
}

// Echo is the tool that answers what it was told: it shows that calls work.
func Echo() Tool {
	t := New("echo", echoText, func(_ context.Context, _ Call, a echoArgs) Result {
		return Result{OK: true, Content: "ECHO: " + a.Message}
	})
	t.ReadOnly = true
	return t
}
