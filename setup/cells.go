package setup

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"rouse/agent"
	"rouse/internal/object"
	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/tools"
	"rouse/tools/command"
	"rouse/tools/mcp"
	"rouse/tools/notebook"
)

// hookTime is how long a program may take that is told of a cell, and hookOutput how
// much it may say, in bytes.
const (
	hookTime   = time.Minute
	hookOutput = 64 << 10
)

// hook is what tells a program of a cell: {"event", "notebook", "cell"}, where the
// cell is as in cells.jsonl. It runs in the home. Nil is no program.
func (s *Setup) hook(event string, argv []string) func(context.Context, string, notebook.Cell) error {
	if len(argv) == 0 {
		return nil
	}
	return func(ctx context.Context, name string, c notebook.Cell) error {
		told, err := json.Marshal(map[string]any{"event": event, "notebook": name, "cell": c})
		if err != nil {
			return err
		}
		var said bytes.Buffer
		exec := command.Exec{Runner: s.Runner(), Dir: s.Home.Dir, Timeout: hookTime, MaxOutput: hookOutput}
		r := exec.Run(ctx, tools.Call{Output: &said}, proc.Command{Argv: argv, Stdin: bytes.NewReader(append(told, '\n'))})
		if r.OK {
			return nil
		}
		return fmt.Errorf("notebook.%s: %s", event, strings.TrimRight(r.Error+": "+text.Brief(s.Hidden().String(said.String()), 500), ": "))
	}
}

// maxFound is how much a search may give to a cell, in bytes.
const maxFound = 1 << 20

// search has the tool that notebook.search names look up a query.
func (s *Setup) search(ctx context.Context, host agent.Host, query string) (notebook.Completion, error) {
	name := s.Config.Notebook.Search
	t, done, err := host.Tool(ctx, name)
	if err != nil {
		return notebook.Completion{}, fmt.Errorf("notebook.search: %w", err)
	}
	defer done()
	args, err := queryArgs(t, query)
	if err == nil {
		err = t.Check(args)
	}
	if err != nil {
		return notebook.Completion{}, fmt.Errorf("notebook.search: %s: %w", name, err)
	}
	var found bytes.Buffer
	r := t.Run(ctx, tools.Call{Args: args, Output: text.Capped(&found, maxFound), Started: host.Started})
	if r.Content != nil {
		fmt.Fprint(&found, r.Content)
	}
	said := s.Hidden().String(found.String())
	if !r.OK {
		return notebook.Completion{}, fmt.Errorf("notebook.search: %s: %s", name, strings.TrimRight(s.Hidden().String(r.Error)+": "+text.Brief(said, 500), ": "))
	}
	return notebook.Completion{Text: said}, nil
}

// queryArgs are the arguments of a call that looks up a query: of the parameter query,
// or of the only one that must be given.
func queryArgs(t tools.Tool, query string) (json.RawMessage, error) {
	root, err := object.Parse(t.Parameters())
	if err != nil {
		return nil, err
	}
	param, props := "query", root.Sub("properties")
	if props.Get(param) == nil {
		var required []string
		_ = json.Unmarshal(root.Get("required"), &required) // none
		switch {
		case len(required) == 1:
			param = required[0]
		case len(props.Members) == 1:
			param = props.Members[0].Key
		default:
			return nil, errors.New("it has no parameter query")
		}
	}
	return json.Marshal(map[string]string{param: query})
}

// toolAlone gives a tool outside of a cycle: a server is started for it, which done
// ends.
func (s *Setup) toolAlone(ctx context.Context, name string) (t tools.Tool, done func(), err error) {
	set, err := s.newTools()
	if err != nil {
		return t, nil, err
	}
	if t, ok := set.Find(name); ok {
		return t, func() {}, nil
	}
	config, err := s.Servers()
	if err != nil {
		return t, nil, err
	}
	for _, server := range config.Servers {
		if server.Disabled || !mcp.Serves(server.Name, name) {
			continue
		}
		running := s.StartServers(ctx, mcp.Config{Dir: config.Dir, Servers: []mcp.Server{server}})
		if t, err = running.Find(name); err == nil {
			return t, running.Close, nil
		}
		defer running.Close()
		return t, nil, cmp.Or(problem(running), err)
	}
	return t, nil, fmt.Errorf("there is no tool %s", text.Line(name, 80))
}

// problem is why a server has no tools, if it has none.
func problem(s *mcp.Servers) error {
	if list := s.Problems(); len(list) > 0 {
		return errors.New(strings.Join(list, "; "))
	}
	return nil
}
