// Package shell is the tool that runs commands by sh -c.
package shell

import (
	"cmp"
	"context"
	_ "embed"
	"strings"
	"time"

	"rouse/internal/proc"
	"rouse/tools"
	"rouse/tools/command"
)

//go:embed shell.md
var description string

const (
	defaultTimeout = time.Minute
	// stretch is how many times the default timeout a call may ask for.
	stretch = 10
)

type arguments struct {
	Command string `json:"command"`
	Stdin   string `json:"stdin,omitempty"`
	Cwd     string `json:"cwd,omitempty"`
	Timeout int    `json:"timeout_seconds,omitempty"`
}

// Tool is the shell. Commands run as exec says, but for its timeout (default one
// minute): a call may ask for less, or for up to ten times as much.
func Tool(exec command.Exec) tools.Tool {
	exec.Timeout = cmp.Or(max(exec.Timeout, 0), defaultTimeout)
	most := max(1, int((stretch * exec.Timeout).Seconds()))
	t := tools.New("shell", description, func(ctx context.Context, call tools.Call, a arguments) tools.Result {
		if strings.TrimSpace(a.Command) == "" {
			return tools.Fail("command is empty")
		}
		if a.Timeout < 0 || a.Timeout > most {
			return tools.Fail("timeout_seconds must be from 1 to %d", most)
		}
		c := proc.Command{Argv: []string{"sh", "-c", a.Command}, Dir: a.Cwd, Timeout: time.Duration(a.Timeout) * time.Second}
		if a.Stdin != "" || call.Streams["stdin"] != nil {
			c.Stdin = call.Text("stdin", a.Stdin)
		}
		return exec.Run(ctx, call, c)
	})
	t.Streams, t.Verbatim = []string{"stdin"}, []string{"command"}
	lowest, highest := 1.0, float64(most)
	s := t.Schema.Properties["timeout_seconds"]
	s.Minimum, s.Maximum = &lowest, &highest
	return t
}
