package notebook

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"strings"

	"rouse/tools"
)

//go:embed notebook.md
var description string

type arguments struct {
	Action      string   `json:"action"`
	Name        string   `json:"name"`
	Code        string   `json:"code,omitempty"`
	Description string   `json:"description,omitempty"`
	Estimate    float64  `json:"estimated_execution_time_seconds,omitempty"`
	Packages    []string `json:"packages,omitempty"`
}

// Tool is the notebook tool. Libraries, such as "pandas 2.2.3", are those of the
// environment that are worth knowing; its description names them.
func Tool(m *Manager, libraries []string) tools.Tool {
	text := strings.TrimSpace(description)
	if len(libraries) > 0 {
		text += "\n- Already there: " + strings.Join(libraries, ", ") + "."
	}
	if len(m.Variables) > 0 {
		text += "\n- Credentials that cells have in os.environ; never print their values: " + strings.Join(m.Variables, ", ") + "."
	}
	t := tools.New("notebook", text, func(ctx context.Context, call tools.Call, a arguments) tools.Result {
		return m.do(ctx, call, a)
	})
	t.Verbatim = []string{"code", "packages"}
	packages := t.Schema.Properties["packages"]
	packages.Type, packages.Types = "array", nil
	t.Schema.Properties["action"].Enum = []any{"exec", "view", "dump", "install", "cancel", "reset", "remove"}
	return t
}

func (m *Manager) do(ctx context.Context, call tools.Call, a arguments) tools.Result {
	var err error
	switch a.Action {
	case "exec":
		if strings.TrimSpace(a.Code) == "" {
			return tools.Fail("code is empty")
		}
		return m.exec(ctx, call, a)
	case "view":
		err = m.View(a.Name, call.Output)
	case "dump":
		err = m.Dump(a.Name, call.Output)
	case "install":
		err = m.Install(ctx, a.Name, a.Packages, call.Output)
	case "cancel":
		if err = m.CancelCell(ctx, a.Name); err == nil {
			return tools.Result{OK: true, Content: "What runs in the notebook is interrupted."}
		}
	case "reset":
		if err = m.Reset(ctx, a.Name); err == nil {
			return tools.Result{OK: true, Content: "The notebook starts afresh; its packages and its cells are kept."}
		}
	case "remove":
		if err = m.Remove(ctx, a.Name); err == nil {
			return tools.Result{OK: true, Content: "The notebook is deleted."}
		}
	default:
		err = fmt.Errorf("action %.40q is none of exec, view, dump, install, cancel, reset and remove", a.Action)
	}
	if err != nil {
		return tools.Fail("%v", err)
	}
	return tools.Result{OK: true}
}

// exec runs a cell. What it prints goes to the call's output as it comes, what
// else there is to say follows, each part under its name.
func (m *Manager) exec(ctx context.Context, call tools.Call, a arguments) tools.Result {
	out := &counted{to: call.Output}
	c, err := m.Exec(ctx, a.Name, Request{Code: a.Code, Description: a.Description, Estimate: a.Estimate, Output: out, Started: call.Started})
	if err != nil {
		return tools.Fail("%v", err)
	}
	if err := c.rest(out); err != nil {
		return tools.Fail("notebook %s: %v", a.Name, err)
	}
	r := tools.Result{OK: c.Ended == OK, Media: c.Pictures, From: c.Reached, Metadata: map[string]any{
		"cell": c.Number, "ended": string(c.Ended), "duration_ms": c.Duration,
	}}
	if c.StdoutBytes > 0 {
		r.Metadata["stdout_bytes"] = c.StdoutBytes
	}
	if c.StderrBytes > 0 {
		r.Metadata["stderr_bytes"] = c.StderrBytes
	}
	if len(c.Notes) > 0 {
		r.Metadata["notes"] = c.Notes
	}
	if !r.OK {
		r.Error = c.Failure()
	}
	r.Refuse(c.Refused)
	return r
}

// rest writes what a cell has beside its stdout.
func (c Cell) rest(w *counted) error {
	part := func(name, text string) {
		if text = strings.TrimRight(text, "\n"); text == "" {
			return
		}
		if w.last != '\n' && w.last != 0 {
			io.WriteString(w, "\n")
		}
		fmt.Fprintf(w, "[%s]\n%s\n", name, text)
	}
	if c.Value != "" && w.last == 0 && c.Stderr == "" && c.Error == "" && len(c.Notes) == 0 {
		io.WriteString(w, c.Value)
		return w.err
	}
	part("stderr", c.Stderr)
	part("value", c.Value)
	part("error", c.Error)
	part("notes", strings.Join(c.Notes, "\n"))
	return w.err
}

// counted remembers the last byte that passed, and the first error.
type counted struct {
	to   io.Writer
	last byte
	err  error
}

func (c *counted) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c.last = b[len(b)-1]
	n, err := c.to.Write(b)
	if c.err == nil {
		c.err = err
	}
	return n, err
}
