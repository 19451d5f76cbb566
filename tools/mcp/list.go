package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"rouse/internal/redact"
	"rouse/internal/text"
)

// Bounds of what a server may list. Beyond them a tool is cut or left out, and
// that is said.
const (
	maxTools       = 512
	maxPages       = 64
	maxDescription = 8 << 10
	maxSchema      = 64 << 10
	maxList        = 4 << 20 // all tools together
)

// rawTool is a tool as the server wrote it.
type rawTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
	Execution    struct {
		TaskSupport string `json:"taskSupport"`
	} `json:"execution"`
}

// list asks a server for its tools. What it says of them that is out of bounds
// is in problems.
func list(ctx context.Context, session *sdk.ClientSession, o Options) (all []rawTool, problems []string, err error) {
	if c := session.InitializeResult().Capabilities; c == nil || c.Tools == nil {
		return nil, nil, nil
	}
	l := lister{seen: map[string]bool{}, hide: o.Redact}
	cursor := ""
	for range maxPages {
		next, err := l.page(ctx, session, cursor, o.MaxMessage)
		if err != nil {
			return nil, nil, err
		}
		if next == "" || l.full {
			return l.tools, l.problems, nil
		}
		if next == cursor {
			return nil, nil, errors.New("its list of tools has no end")
		}
		cursor = next
	}
	return nil, nil, fmt.Errorf("its list of tools has more than %d pages", maxPages)
}

type lister struct {
	tools    []rawTool
	problems []string
	seen     map[string]bool
	size     int
	full     bool
	hide     *redact.Redactor
}

func (l *lister) page(ctx context.Context, session *sdk.ClientSession, cursor string, max int64) (string, error) {
	c := &capture{max: max}
	res, err := session.ListTools(withCapture(ctx, c), &sdk.ListToolsParams{Cursor: cursor})
	if err != nil {
		return "", err
	}
	exact := map[string]rawTool{}
	var raw struct{ Tools []rawTool }
	if json.Unmarshal(c.raw(), &raw) == nil {
		for _, t := range raw.Tools {
			exact[t.Name] = t
		}
	}
	for _, t := range res.Tools {
		r, ok := exact[t.Name]
		if !ok {
			r = decoded(t)
		}
		l.add(r)
	}
	return res.NextCursor, nil
}

// decoded is a tool of which there is no exact text.
func decoded(t *sdk.Tool) rawTool {
	r := rawTool{Name: t.Name, Title: t.Title, Description: t.Description}
	r.InputSchema, _ = json.Marshal(t.InputSchema) // it was JSON
	r.OutputSchema, _ = json.Marshal(t.OutputSchema)
	if t.Annotations != nil {
		r.Annotations, _ = json.Marshal(t.Annotations)
	}
	return r
}

func (l *lister) add(t rawTool) {
	name := quoted(l.hide.String(t.Name))
	l.size += len(t.Description) + len(t.InputSchema)
	switch {
	case l.full:
		return
	case len(l.tools) == maxTools || l.size > maxList:
		l.full = true
		l.say("only the first %d tools are used; it lists more", len(l.tools))
		return
	case t.Execution.TaskSupport == "required":
		return // it runs as a task only, which we cannot wait for
	case l.seen[t.Name]:
		l.say("tool %s is there twice; the first is used", name)
		return
	case t.Name == "" || len(t.InputSchema) > maxSchema:
		l.say("tool %s is left out: it has no name, or a schema of more than %d bytes", name, maxSchema)
		return
	}
	l.seen[t.Name] = true
	l.tools = append(l.tools, t)
	if len(t.Description) > maxDescription {
		l.say("the description of tool %s is cut at %d bytes", name, maxDescription)
	}
}

func (l *lister) say(format string, args ...any) {
	if len(l.problems) < 8 {
		l.problems = append(l.problems, fmt.Sprintf(format, args...))
	}
}

// quoted is a name that others chose, for a message of ours.
func quoted(name string) string { return `"` + text.Brief(name, 80) + `"` }

// hidden is what a model may see of a tool, and everybody else. Nothing of it is
// cut yet.
func (t rawTool) hidden(r *redact.Redactor) rawTool {
	return rawTool{
		Name: r.String(t.Name), Title: r.String(t.Title), Description: r.String(t.Description), InputSchema: r.JSON(t.InputSchema),
	}
}

// description is what the model reads of a tool.
func (t rawTool) description() string {
	text := cmp.Or(t.Description, t.Title)
	if len(text) > maxDescription {
		text = strings.ToValidUTF8(text[:maxDescription], "") + "\n[CUT]"
	}
	return strings.TrimSpace(strings.ToValidUTF8(text, "�"))
}

// anyObject fits all arguments: the server judges them, by a schema that may be in
// words that we do not know.
var anyObject = &jsonschema.Schema{Type: "object"}

// parameters are the schema of a tool as its server wrote it, nil where it is none.
func (t rawTool) parameters() json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(t.InputSchema, &object) != nil || object == nil {
		return nil
	}
	return t.InputSchema
}
